r"""LDAC-style network: a norm conditioned on window statistics, a bank of lag differences, conformer blocks.

    norm       (Δγ, Δβ) = W₂ GELU(W₁ [μ, σ]),   x̃ = (1 + Δγ)(y − μ)/σ + Δβ           per sensor; W₂ starts at zero
    lag bank   d⁽ᵖ⁾ₜ = w⁽ᵖ⁾ ⊙ (x̃ₜ − x̃ₜ₋ₚ), zero for t ≤ p,   p ∈ {5, 10, 25, 50}
               h = LN(W_m [x̃, d⁽⁵⁾, d⁽¹⁰⁾, d⁽²⁵⁾, d⁽⁵⁰⁾]),   h ← h ⊙ sigmoid(E₂ ReLU(E₁ mean over time of h))
    blocks     X = W_p h, three conformer blocks (`ConformerBlock`), no positional encoding
    head       logits = W LN(attention of one learned query over the T steps)

**Reference**: LDAC-Net, arXiv 2608.25646: d' = 64, d = 128, 4 heads, 3 blocks, depthwise kernel 15, dropout 0.1,
stochastic depth up to 0.1. No code of it was found; its text does not add up to its stated 716,746 parameters, the
literal reading built here has 640,894 less the dead key biases.

**Departures**: GroupNorm with one group instead of BatchNorm in the blocks (the same number of parameters, no running
statistics). Unstated in the reference and chosen here: gate from the time mean with ReLU; dropout after each part;
4 heads and no dropout in the pooling; blocks skipped per sample. Lags not shorter than the window are left out. No
key bias (`attention`).
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.baselines.interface import (
    Baseline,
    Output,
    Size,
    attend,
    attention,
    check_window,
    drop,
    skip,
    split,
)

__all__ = ["LDAC", "ConformerBlock", "Depthwise", "LagBank", "WindowNorm"]


class HalfStep(eqx.Module):
    """F(x) = W₂ SiLU(W₁ LN x)."""

    norm: eqx.nn.LayerNorm
    W_1: eqx.nn.Linear
    W_2: eqx.nn.Linear

    def __init__(self, d: int, *, key: PRNGKeyArray) -> None:
        a, b = jax.random.split(key)
        self.norm = eqx.nn.LayerNorm(d)
        self.W_1, self.W_2 = eqx.nn.Linear(d, d, key=a), eqx.nn.Linear(d, d, key=b)

    def __call__(self, X: Float[Array, "T d"], *, key: PRNGKeyArray | None) -> Float[Array, "T d"]:
        """What the half step adds, before the factor ½."""
        a, b = split(key, 2)
        inner = jax.nn.silu(jax.vmap(lambda x: self.W_1(self.norm(x)))(hold(X)))
        return drop(jax.vmap(self.W_2)(drop(inner, DROPOUT, a)), DROPOUT, b)


class Depthwise(eqx.Module):
    """Convolution of every channel with its own kernel of odd length, zeros beyond the window.

    Written as a loop over shifted traces: on a CPU the grouped convolution takes several times as long.
    """

    w: Float[Array, "k d"]
    b: Float[Array, " d"]

    def __init__(self, d: int, length: int, *, key: PRNGKeyArray) -> None:
        bound = length**-0.5
        a, b = jax.random.split(key)
        self.w = jax.random.uniform(a, (length, d), minval=-bound, maxval=bound)
        self.b = jax.random.uniform(b, (d,), minval=-bound, maxval=bound)

    def __call__(self, X: Float[Array, "T d"]) -> Float[Array, "T d"]:
        """Convolved traces."""
        T, half = X.shape[0], self.w.shape[0] // 2
        padded = jnp.pad(X, ((half, half), (0, 0)))

        def add(total: Array, tap: tuple[Array, Array]) -> tuple[Array, None]:
            shift, w = tap
            return total + w * jax.lax.dynamic_slice_in_dim(padded, shift, T), None

        start = jnp.broadcast_to(self.b, X.shape)
        return jax.lax.scan(add, start, (jnp.arange(2 * half + 1), self.w))[0]


class ConvPart(eqx.Module):
    """C(X) = P₂ SiLU(GN(depthwise₁₅(GLU(P₁ LN X))))."""

    norm: eqx.nn.LayerNorm
    P_1: eqx.nn.Linear
    depthwise: Depthwise
    inner_norm: eqx.nn.GroupNorm
    P_2: eqx.nn.Linear

    def __init__(self, d: int, *, key: PRNGKeyArray) -> None:
        a, b, c = jax.random.split(key, 3)
        self.norm = eqx.nn.LayerNorm(d)
        self.P_1 = eqx.nn.Linear(d, 2 * d, key=a)
        self.depthwise = Depthwise(d, KERNEL, key=b)
        self.inner_norm = eqx.nn.GroupNorm(1, d)
        self.P_2 = eqx.nn.Linear(d, d, key=c)

    def __call__(self, X: Float[Array, "T d"], *, key: PRNGKeyArray | None) -> Float[Array, "T d"]:
        """What the convolution adds."""
        gated = jax.nn.glu(jax.vmap(lambda x: self.P_1(self.norm(x)))(hold(X)))
        inner = jax.nn.silu(self.inner_norm(self.depthwise(gated).T).T)
        return drop(jax.vmap(self.P_2)(inner), DROPOUT, key)


class ConformerBlock(eqx.Module):
    """Half step, attention, convolution, half step.

    Arguments:
        d: width of a token.
        heads: heads of the attention; divides d.
        skip: probability that the block is left out in training.
    """

    F_1: HalfStep
    norm: eqx.nn.LayerNorm
    A: eqx.nn.MultiheadAttention
    C: ConvPart
    F_2: HalfStep
    last_norm: eqx.nn.LayerNorm
    skip: float = eqx.field(static=True)

    def __init__(self, d: int, heads: int, *, skip: float, key: PRNGKeyArray) -> None:
        keys = jax.random.split(key, 4)
        self.F_1, self.F_2 = HalfStep(d, key=keys[0]), HalfStep(d, key=keys[1])
        self.norm, self.last_norm = eqx.nn.LayerNorm(d), eqx.nn.LayerNorm(d)
        self.A = attention(d, heads, DROPOUT, keys[2])
        self.C = ConvPart(d, key=keys[3])
        self.skip = skip

    def __call__(self, X: Float[Array, "T d"], *, key: PRNGKeyArray | None = None) -> Float[Array, "T d"]:
        """Tokens after the block."""
        a, b, c, d, e, f = split(key, 6)
        Z = X + self.F_1(X, key=a) / 2
        normed = jax.vmap(self.norm)(hold(Z))
        Z = Z + drop(attend(self.A, normed, normed, b), DROPOUT, c)
        Z = Z + self.C(Z, key=d)
        Z = jax.vmap(self.last_norm)(hold(Z + self.F_2(Z, key=e) / 2))
        return skip(X, Z, self.skip, f)


class LDACWidths(NamedTuple):
    """Lag bank d', token d, heads, blocks."""

    mixed: int
    d: int
    heads: int
    blocks: int


WIDTHS: dict[Size, LDACWidths] = {"small": LDACWidths(32, 64, 4, 3), "paper": LDACWidths(64, 128, 4, 3)}
LAGS = (5, 10, 25, 50)
STATISTICS = 32
SQUEEZE = 8
FLOOR = 1e-5
SKIP = 0.1


class WindowNorm(eqx.Module):
    """Instance norm whose scale and shift are learned functions of the window's own mean μ and deviation σ.

    It starts as instance norm, and may learn to give back the level and the amplitude that instance norm hides. σ is
    the unbiased deviation, at least 1e-5, so that a sensor that stands still gives zero.
    """

    W_1: eqx.nn.Linear
    W_2: eqx.nn.Linear

    def __init__(self, M: int, *, key: PRNGKeyArray) -> None:
        a, b = jax.random.split(key)
        self.W_1 = eqx.nn.Linear(2 * M, STATISTICS, key=a)
        self.W_2 = jax.tree.map(jnp.zeros_like, eqx.nn.Linear(STATISTICS, 2 * M, key=b))

    def __call__(self, Y: Float[Array, "T M"]) -> Float[Array, "T M"]:
        """Normalised window x̃."""
        mu = jnp.mean(Y, axis=0)
        # The floor is inside the root: the slope of √ at zero is infinite.
        sigma = jnp.sqrt(jnp.maximum(jnp.var(Y, axis=0, ddof=1), FLOOR**2))
        statistics = jnp.concatenate([mu, sigma])
        gamma, beta = jnp.split(self.W_2(jax.nn.gelu(self.W_1(statistics), approximate=False)), 2)
        return (1 + gamma) * (Y - mu) / sigma + beta


class LagBank(eqx.Module):
    """Lag differences beside the trace itself, mixed to d' features and gated by their time mean."""

    w: Float[Array, "P M"]
    W_m: eqx.nn.Linear
    norm: eqx.nn.LayerNorm
    E_1: eqx.nn.Linear
    E_2: eqx.nn.Linear
    lags: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, M: int, width: int, lags: tuple[int, ...], *, key: PRNGKeyArray) -> None:
        a, b, c = jax.random.split(key, 3)
        self.lags = lags
        self.w = jnp.ones((len(lags), M))
        self.W_m = eqx.nn.Linear((1 + len(lags)) * M, width, key=a)
        self.norm = eqx.nn.LayerNorm(width)
        self.E_1 = eqx.nn.Linear(width, width // SQUEEZE, key=b)
        self.E_2 = eqx.nn.Linear(width // SQUEEZE, width, key=c)

    def differences(self, X: Float[Array, "T M"]) -> Float[Array, "P T M"]:
        """d⁽ᵖ⁾ for every lag p; zero in its first p steps."""
        bank = [jnp.pad(X[p:] - X[:-p], ((p, 0), (0, 0))) for p in self.lags]
        return self.w[:, None, :] * jnp.stack(bank) if bank else jnp.zeros((0, *X.shape), X.dtype)

    def __call__(self, X: Float[Array, "T M"]) -> Float[Array, "T D"]:
        """Gated features of every time step."""
        bank = jnp.concatenate([X, *self.differences(X)], axis=1)
        h = jax.vmap(lambda x: self.norm(self.W_m(x)))(bank)
        return h * jax.nn.sigmoid(self.E_2(jax.nn.relu(self.E_1(jnp.mean(h, axis=0)))))


class LDAC(Baseline):
    """Window-statistic norm, lag bank, conformer blocks, one pooling query.

    Arguments of a call:
        Y: T × M window of traces, of at least 2 steps and longer than the longest lag kept by `of`.
        key: draws dropout and the skipped blocks.
    """

    norm: WindowNorm
    bank: LagBank
    W_p: eqx.nn.Linear
    blocks: list[ConformerBlock]
    query: Float[Array, " d"]
    pool: eqx.nn.MultiheadAttention
    pool_norm: eqx.nn.LayerNorm
    W: eqx.nn.Linear

    @classmethod
    def of(cls, T: int, M: int, K: int, *, size: Size, key: PRNGKeyArray) -> "LDAC":
        """Draw a model; of the lags, those shorter than T are kept."""
        check_window(T, M, K, shortest=2)
        n = WIDTHS[size]
        keys = jax.random.split(key, 6 + n.blocks)
        skip = [SKIP * (i + 1) / n.blocks for i in range(n.blocks)]
        return cls(
            norm=WindowNorm(M, key=keys[0]),
            bank=LagBank(M, n.mixed, tuple(p for p in LAGS if p < T), key=keys[1]),
            W_p=eqx.nn.Linear(n.mixed, n.d, key=keys[2]),
            blocks=[ConformerBlock(n.d, n.heads, skip=s, key=k) for s, k in zip(skip, keys[6:], strict=True)],
            query=jax.random.normal(keys[3], (n.d,)),
            pool=attention(n.d, n.heads, 0.0, keys[4]),
            pool_norm=eqx.nn.LayerNorm(n.d),
            W=eqx.nn.Linear(n.d, K, key=keys[5]),
        )

    @property
    def sensor_count(self) -> int:
        """Sensors that a window has."""
        return self.bank.w.shape[1]

    def __call__(self, Y: Float[Array, "T M"], *, key: PRNGKeyArray | None = None) -> Output:
        """Answer to one window."""
        X = jax.vmap(self.W_p)(self.bank(self.norm(Y)))
        for block, k in zip(self.blocks, split(key, len(self.blocks)), strict=True):
            X = block(X, key=k)
        pooled = attend(self.pool, self.query[None], X, None)[0]
        return Output(logits=self.W(self.pool_norm(pooled)), hidden=X)


KERNEL = 15
DROPOUT = 0.1

hold = jax.lax.optimization_barrier
"""Before every norm: XLA would compute what goes into it again for each of its moments."""
