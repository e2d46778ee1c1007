r"""What a forecast of a trace has to beat: a constant, the seen plateaus, and a linear lag.

last level       y = mean of the last 20 s that were fitted
seen plateaus    y = mean of the last 20 s of the nearest set point that was fitted
linear lag       y = b + Σ a_i u_i,   u̇_i = (c_i(t − δ) − u_i)/τ;   δ and τ from a grid, b and a by least squares
"""

from itertools import product

import numpy as np

from studies.uci.dynamic_response import Programme
from studies.uci.trace_fit import Trace

__all__ = ["NULLS", "last_level", "linear_lag", "seen_plateaus"]

_TAIL_S = 20.0
_DELAYS_S = (0.0, 5.0, 10.0, 15.0, 20.0, 30.0)
_LAGS_S = (5.0, 10.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0)


def last_level(fitted: Trace, time_s: np.ndarray) -> np.ndarray:
    """The mean of the last readings, for all times, shape (n, M)."""
    late = fitted.time_s >= fitted.time_s[-1] - _TAIL_S
    return np.tile(np.nanmean(fitted.readings[late], axis=0), (len(time_s), 1))


def seen_plateaus(fitted: Trace, time_s: np.ndarray) -> np.ndarray:
    """The level at the end of the nearest set point that was fitted, shape (n, M)."""
    programme = fitted.programme
    ends = np.minimum(np.append(programme.start_s[1:], np.inf), fitted.time_s[-1])
    levels, places = [], []
    for start, end, c in zip(programme.start_s, ends, programme.c, strict=True):
        late = (fitted.time_s >= max(start, end - _TAIL_S)) & (fitted.time_s <= end)
        if start < fitted.time_s[-1] and late.any():
            levels.append(np.nanmean(fitted.readings[late], axis=0))
            places.append(c)
    now = programme.c[np.searchsorted(programme.start_s, time_s, side="right") - 1]
    nearest = np.argmin(np.sum((now[:, None] - np.array(places)[None]) ** 2, axis=2), axis=1)
    return np.array(levels)[nearest]


def linear_lag(fitted: Trace, time_s: np.ndarray) -> np.ndarray:
    """A linear answer to the set points behind one delay and one lag, chosen for each sensor, shape (n, M)."""
    out = np.empty((len(time_s), len(fitted.sensors)))
    grid = [
        (_lagged(fitted.programme, fitted.time_s, *both), _lagged(fitted.programme, time_s, *both))
        for both in product(_DELAYS_S, _LAGS_S)
    ]
    for m, column in enumerate(fitted.readings.T):
        seen = np.isfinite(column)
        best = np.inf
        for X, X_new in grid:
            weights = np.linalg.lstsq(X[seen], column[seen], rcond=None)[0]
            error = float(np.sum((X[seen] @ weights - column[seen]) ** 2))
            if error < best:
                best, out[:, m] = error, X_new @ weights
    return out


def _lagged(programme: Programme, time_s: np.ndarray, delay_s: float, tau_s: float) -> np.ndarray:
    """One and the lagged set points, shape (n, 3)."""
    u = np.tile(programme.c[0], (len(time_s), 1)).astype(float)
    for start, jump in zip(programme.start_s[1:], np.diff(programme.c, axis=0), strict=True):
        u -= jump * np.expm1(-np.maximum(time_s - start - delay_s, 0) / tau_s)[:, None]
    return np.column_stack([np.ones(len(time_s)), u])


NULLS = {"last level": last_level, "seen plateaus": seen_plateaus, "linear lag": linear_lag}
"""By name."""
