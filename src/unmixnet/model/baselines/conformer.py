r"""Conformer block of the LDAC-style network: attention for the whole window, a depthwise convolution for its details.

    X ← X + ½ F₁(X),   X ← X + A(LN X),   X ← X + C(X),   X ← LN(X + ½ F₂(X))
    F(x) = W₂ SiLU(W₁ LN x),   C(X) = P₂ SiLU(GN(depthwise₁₅(GLU(P₁ LN X))))

All widths are d except P₁, which doubles it for the gate: GLU([a, b]) = a ⊙ sigmoid(b). Dropout acts inside F and on
what each part adds. In training the whole block is skipped with probability `skip` (stochastic depth).

**Reference**: the blocks of LDAC-Net, arXiv 2608.25646.

**Departures**: GroupNorm with one group instead of BatchNorm; no key bias (`attention`). A skipped block leaves its
input as it is, and blocks that are kept are not scaled.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.baselines.attention import attend, attention
from unmixnet.model.baselines.dropout import drop, skip, split

__all__ = ["ConformerBlock", "Depthwise"]

KERNEL = 15
DROPOUT = 0.1

hold = jax.lax.optimization_barrier
"""Before every norm: XLA would compute what goes into it again for each of its moments."""


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
