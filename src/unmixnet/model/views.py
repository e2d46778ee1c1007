r"""Views of one trace: itself, its low-pass and a bank of learned high-pass filters.

    Y^LP = W_LP Y,    Y^HP_r = W_HP^(r) Y

Every filter is causal and of finite length; before the window a trace is taken to have stood at its first value. The
low-pass weights are positive and sum to one, the high-pass weights sum to zero, by construction: whatever is learned,
one keeps the level and the others do not see it. They start as a moving average of 5 s and as differences over 1, 2, 5
and 10 s (a MOX sensor answers within seconds).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

__all__ = ["LAGS_S", "Views"]

LAGS_S = (1.0, 2.0, 5.0, 10.0)
_AVERAGE_S = 5.0


class Views(eqx.Module):
    """Filters for traces of one sampling rate."""

    W_LP: Float[Array, " L"]
    """Logarithms of the low-pass weights before they are normalised."""
    W_HP: Float[Array, "R L"]
    """High-pass weights before their mean is taken off."""

    @classmethod
    def of(cls, rate_Hz: float) -> "Views":
        """Filters at their start; entry ℓ of a filter weighs the sample ℓ steps ago."""
        lags = [max(1, round(lag * rate_Hz)) for lag in LAGS_S]
        length = max(lags) + 1
        low = np.full(length, -4.0)
        low[: max(1, round(_AVERAGE_S * rate_Hz))] = 0
        high = np.zeros((len(lags), length))
        high[:, 0] = 1
        high[np.arange(len(lags)), lags] = -1
        return cls(jnp.asarray(low, float), jnp.asarray(high, float))

    @property
    def count(self) -> int:
        """Number of views."""
        return 2 + self.W_HP.shape[0]

    def __call__(self, y: Float[Array, " T"]) -> Float[Array, "T C"]:
        """All views of one trace."""
        low = jax.nn.softmax(self.W_LP)
        high = self.W_HP - jnp.mean(self.W_HP, axis=1, keepdims=True)
        filters = jnp.concatenate([low[None], high])
        steps = np.arange(y.shape[0])[:, None] - np.arange(filters.shape[1])
        past = y[np.maximum(steps, 0)]
        return jnp.concatenate([y[:, None], past @ filters.T], axis=1)
