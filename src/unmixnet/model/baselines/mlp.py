r"""Multilayer perceptron on the mean of the window: a model that cannot see dynamics.

    x̄ = mean over time of Y
    h₁ = drop(ReLU(LN(W₁ x̄))),   h₂ = drop(ReLU(LN(W₂ h₁))),   logits = W₃ h₂

Because the mean comes first, any reordering of the time steps gives the same answer.

**Reference**: the MLP of SmellNet, arXiv 2506.00239: width 256, dropout 0.2.

**Departures**: LayerNorm instead of BatchNorm (the same number of parameters, no running statistics). The hidden
state h₂ is the same at all time steps.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.baselines.interface import Baseline, Output, Size, check_window, drop, split

__all__ = ["MLP"]

WIDTHS: dict[Size, int] = {"small": 128, "paper": 256}
DROPOUT = 0.2


class MLP(Baseline):
    """Two normalised layers on the time mean.

    Arguments of a call:
        Y: T × M window of traces, any T.
        key: draws dropout.
    """

    W_1: eqx.nn.Linear
    W_2: eqx.nn.Linear
    W_3: eqx.nn.Linear
    norm_1: eqx.nn.LayerNorm
    norm_2: eqx.nn.LayerNorm

    @classmethod
    def of(cls, T: int, M: int, K: int, *, size: Size, key: PRNGKeyArray) -> "MLP":
        """Draw a model; it takes windows of any length."""
        check_window(T, M, K)
        width = WIDTHS[size]
        a, b, c = jax.random.split(key, 3)
        return cls(
            W_1=eqx.nn.Linear(M, width, key=a),
            W_2=eqx.nn.Linear(width, width, key=b),
            W_3=eqx.nn.Linear(width, K, key=c),
            norm_1=eqx.nn.LayerNorm(width),
            norm_2=eqx.nn.LayerNorm(width),
        )

    @property
    def sensor_count(self) -> int:
        """Sensors that a window has."""
        return int(self.W_1.in_features)

    def __call__(self, Y: Float[Array, "T M"], *, key: PRNGKeyArray | None = None) -> Output:
        """Answer to one window."""
        a, b = split(key, 2)
        h = drop(jax.nn.relu(self.norm_1(self.W_1(jnp.mean(Y, axis=0)))), DROPOUT, a)
        h = drop(jax.nn.relu(self.norm_2(self.W_2(h))), DROPOUT, b)
        return Output(logits=self.W_3(h), hidden=jnp.broadcast_to(h, (Y.shape[0], *h.shape)))
