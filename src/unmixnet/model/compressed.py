r"""Level and changes of a trace in logarithmic compression, for readings with heavy tails.

    ψ_r(y)_t = asinh(e^{g_r} (y_t − y_{t−ℓ_r})),    ℓ_r = 0 (the level itself), 1, 5 and 25 s

Linear for small values and logarithmic for large ones: a change of a few counts is seen beside one of thousands, which
standardised readings hide. The gains are learned from e^g = 16: readings are in standard deviations, and the median
change of a real recording is a sixteenth of one. Before the window a trace is taken to have stood at its first value.
"""

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

__all__ = ["LAGS_S", "Compressed"]

LAGS_S = (0.0, 1.0, 5.0, 25.0)


class Compressed(eqx.Module):
    """Compressed views for traces of one sampling rate."""

    log_gain: Float[Array, " R"]
    lags: tuple[int, ...] = eqx.field(static=True)
    """In rows; 0 is the level."""

    @classmethod
    def of(cls, rate_Hz: float) -> "Compressed":
        """Views at their start."""
        lags = tuple(max(1, round(lag * rate_Hz)) if lag else 0 for lag in LAGS_S)
        return cls(jnp.full(len(lags), math.log(16.0)), lags)

    def __call__(self, y: Float[Array, " T"]) -> Float[Array, "T R"]:
        """All views of one trace."""
        steps = np.arange(y.shape[0])
        seen = [y - y[np.maximum(steps - lag, 0)] if lag else y for lag in self.lags]
        return jnp.arcsinh(jnp.exp(self.log_gain) * jnp.stack(seen, axis=1))
