r"""Slow and fast parts of the reconstruction residual, to emphasise what a transient tells.

    r = Y − Ŷ,    L_freq = ⟨(5 s moving average of r)²⟩ + Σ_lag ⟨(r(t + lag) − r(t))²⟩,    lag = 1, 2, 5 s

The average is a low-pass, which does not see noise; the differences are high-passes, which do not see an offset.
**Reading of the paper**, which leaves the filters open. Windows and lags are cut to what a short recording has.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from unmixnet.errors import ConfigError

__all__ = ["fast_part", "frequency_loss", "slow_part"]

_WINDOW_S = 5.0
_LAGS_S = (1.0, 2.0, 5.0)


def frequency_loss(Y: Float[Array, "T M"], Y_hat: Float[Array, "T M"], rate_Hz: float | int) -> Float[Array, ""]:
    """Mean squares of the slow part and of the fast parts, added; `rate_Hz` is the sampling rate, a plain number."""
    if not rate_Hz > 0:
        raise ConfigError(
            f"a sampling rate is positive, saw {rate_Hz}", where="rate_Hz", remedy="Give samples per second"
        )
    residual = Y - Y_hat
    return slow_part(residual, rate_Hz) + fast_part(residual, rate_Hz)


def slow_part(residual: Float[Array, "T M"], rate_Hz: float | int) -> Float[Array, ""]:
    """Mean square of the moving average."""
    n = min(_samples(_WINDOW_S, rate_Hz), residual.shape[0])
    sums = jax.lax.reduce_window(residual, 0.0, jax.lax.add, (n, 1), (1, 1), "VALID")
    return jnp.mean((sums / n) ** 2)


def fast_part(residual: Float[Array, "T M"], rate_Hz: float | int) -> Float[Array, ""]:
    """Mean squares of the lag differences, added."""
    lags = {_samples(lag, rate_Hz) for lag in _LAGS_S}
    squares = [jnp.mean((residual[n:] - residual[:-n]) ** 2) for n in sorted(lags) if n < residual.shape[0]]
    return sum(squares, jnp.zeros((), residual.dtype))


def _samples(seconds: float, rate_Hz: float | int) -> int:
    return max(1, round(seconds * rate_Hz))
