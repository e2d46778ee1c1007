r"""Fit of the dynamic response to the first part of a trace, and the forecast of the rest from set points alone.

    min_z  Σ ρ(ln G(t_n; z) − ln y_n) + σ² Σ_j (z_j − z̄_j)²/s_j²

The data are means over intervals of the true time stamps. z̄ and s are a prior: wide where the trace decides, narrow
where another recording of the same rig has decided before. Standard errors come from the Gauss–Newton Fisher
information, with the residuals' own correlation time: readings of one correlation time count as one.
"""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from studies.uci.dynamic_response import SENSOR_COLUMNS, SHARED_COLUMNS, Programme, simulate
from studies.uci.least_squares import RobustFit, robust_fit, standard_errors
from unmixnet.errors import UnmixError

__all__ = [
    "NULLS",
    "Prior",
    "SensorTrace",
    "TraceLaw",
    "bootstrap_trace",
    "fit_trace",
    "last_level",
    "linear_lag",
    "seen_plateaus",
    "thinned",
]

NOISE = 0.02
"""σ, ln G: beyond it a residual starts to count as an outlier; against it the prior is weighed."""
_STEP = 1e-5


@dataclass(frozen=True, eq=False)
class SensorTrace:
    """Readings of M sensors at n times, with the set points.

    Arguments:
        time_s: shape (n,), increasing; not necessarily even.
        readings: conductances, shape (n, M); NaN where there is none.
        programme: the set points, all of them, concentrations in units of SCALE_PPM.
        sensors: names.
        gases: names.
    """

    time_s: np.ndarray
    readings: np.ndarray
    programme: Programme
    sensors: tuple[str, ...]
    gases: tuple[str, ...]

    def between(self, start_s: float, stop_s: float) -> "SensorTrace":
        """Readings with start ≤ t < stop; the programme stays whole."""
        inside = (self.time_s >= start_s) & (self.time_s < stop_s)
        return replace(self, time_s=self.time_s[inside], readings=self.readings[inside])


@dataclass(frozen=True, eq=False)
class Prior:
    """Mean and sd of the shared parameters (5,) and of each sensor's (M, 11); sd 0 holds a parameter fixed."""

    shared: np.ndarray
    shared_sd: np.ndarray
    sensors: np.ndarray
    sensors_sd: np.ndarray

    @classmethod
    def wide(cls, sensors: int) -> "Prior":
        """From data sheets and the paper on the rig: V/F = 60 ml / 300 ml/min, tens of seconds, factors of ten."""
        shared = np.log([12.0, 10.0, 2.0, 10.0, 60.0])
        row = np.array([7.5, 0.0, 0.5, 0.5, -1.0, -1.0, np.log(0.05), np.log(0.05), np.log(5.0), 0.0, 0.0])
        sd = np.array([5.0, 0.0, 2.0, 2.0, 1.5, 1.5, 1.0, 1.0, 1.0, 0.0, 0.0])
        return cls(shared, np.array([0.5, 0.5, 1.0, 1.0, 0.0]), np.tile(row, (sensors, 1)), np.tile(sd, (sensors, 1)))

    @property
    def mean(self) -> np.ndarray:
        """All parameters in one vector."""
        return np.concatenate([self.shared, self.sensors.ravel()])

    @property
    def sd(self) -> np.ndarray:
        """The same of the sd."""
        return np.concatenate([self.shared_sd, self.sensors_sd.ravel()])


@dataclass(frozen=True, eq=False)
class TraceLaw:
    """Result of a fit.

    Arguments:
        shared, sensors: parameters, shapes (5,) and (M, 11).
        shared_se, sensors_se: their standard errors; 0 where fixed.
        solution: of the free parameters.
        correlation_s: time after which residuals count as independent.
    """

    shared: np.ndarray
    sensors: np.ndarray
    shared_se: np.ndarray
    sensors_se: np.ndarray
    solution: RobustFit
    correlation_s: float

    def forecast(self, programme: Programme, time_s: np.ndarray, *, dt_s: float = 0.1) -> np.ndarray:
        """Conductances at the given times from set points alone, shape (n, M)."""
        from_start = np.append(programme.start_s[0], time_s)
        return np.exp(simulate(self.shared[None], self.sensors[None], programme, from_start, dt_s=dt_s)[0, 1:])


def fit_trace(
    trace: SensorTrace, prior: Prior, *, dt_s: float = 0.5, steps: int = 60, start: np.ndarray | None = None
) -> TraceLaw:
    """Fit to the readings of a trace, thinned to about one a second; by default from the prior's mean."""
    y = np.log(np.where(trace.readings > 0, trace.readings, np.nan))
    seen = np.isfinite(y)
    mean, sd = prior.mean, prior.sd
    free = np.flatnonzero(sd > 0)
    if seen.sum() < len(free):
        raise UnmixError(f"{seen.sum()} readings for {len(free)} parameters", remedy="Fit a longer part of the trace")
    begin = mean[free] if start is None else start
    times, M = np.append(trace.programme.start_s[0], trace.time_s), len(trace.sensors)

    def log_conductance(batch: np.ndarray) -> np.ndarray:
        """ln G of the readings, for a batch of free parameters."""
        every = np.tile(mean, (len(batch), 1))
        every[:, free] = batch
        shared, sensors = every[:, :5], every[:, 5:].reshape(len(batch), M, -1)
        return simulate(shared, sensors, trace.programme, times, dt_s=dt_s)[:, 1:][:, seen]

    pull = NOISE / sd[free]

    def residuals(z: np.ndarray) -> np.ndarray:
        return np.concatenate([log_conductance(z[None])[0] - y[seen], pull * (z - mean[free])])

    def jacobian(z: np.ndarray) -> np.ndarray:
        out = log_conductance(z + np.vstack([np.zeros(len(z)), _STEP * np.eye(len(z))]))
        return np.concatenate([((out[1:] - out[0]) / _STEP).T, np.diag(pull)])

    solution = robust_fit(residuals, jacobian, begin, width=sd[free], scale=NOISE, steps=steps, tolerance=1e-6)
    left = np.full(y.shape, np.nan)
    left[seen] = solution.residuals[: -len(free)]
    apart = _correlation_rows(left)
    errors, values = np.zeros(len(mean)), mean.copy()
    values[free] = solution.z
    errors[free] = np.minimum(standard_errors(solution, independent=1 / apart), sd[free])
    gap = float(np.median(np.diff(trace.time_s)))
    shape = (M, len(SENSOR_COLUMNS))
    rig = len(SHARED_COLUMNS)
    return TraceLaw(
        values[:rig],
        values[rig:].reshape(shape),
        errors[:rig],
        errors[rig:].reshape(shape),
        solution,
        apart * gap,
    )


def thinned(trace: SensorTrace, every_s: float) -> SensorTrace:
    """Means over intervals of the true time stamps; intervals without a reading are left out."""
    place = np.floor(trace.time_s / every_s).astype(np.int64)
    index = np.unique(place, return_inverse=True)[1]
    count = np.bincount(index)
    good = np.isfinite(trace.readings) & (trace.readings > 0)
    means = [
        np.bincount(index, np.where(ok, column, 0)) / np.where((n := np.bincount(index, ok)) > 0, n, np.nan)
        for column, ok in zip(trace.readings.T, good.T, strict=True)
    ]
    return replace(trace, time_s=np.bincount(index, trace.time_s) / count, readings=np.stack(means, axis=1))


def _correlation_rows(left: np.ndarray) -> float:
    """Integrated autocorrelation of the residuals, in rows: 1 + 2 Σ ρ up to where it first falls under 0.05."""
    total = []
    for column in left.T:
        z = np.nan_to_num(column - np.nanmean(column))
        power = np.fft.rfft(z, 2 * len(z))
        rho = np.fft.irfft(np.abs(power) ** 2)[: len(z)]
        rho = rho / max(rho[0], 1e-300)
        stop = int(np.argmax(rho < 0.05)) or len(rho)
        total.append(1 + 2 * float(np.sum(rho[1:stop])))
    return float(np.mean(total))


_TAIL_S = 20.0
_DELAYS_S = (0.0, 5.0, 10.0, 15.0, 20.0, 30.0)
_LAGS_S = (5.0, 10.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0)


def last_level(fitted: SensorTrace, time_s: np.ndarray) -> np.ndarray:
    """The mean of the last readings, for all times, shape (n, M)."""
    late = fitted.time_s >= fitted.time_s[-1] - _TAIL_S
    return np.tile(np.nanmean(fitted.readings[late], axis=0), (len(time_s), 1))


def seen_plateaus(fitted: SensorTrace, time_s: np.ndarray) -> np.ndarray:
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


def linear_lag(fitted: SensorTrace, time_s: np.ndarray) -> np.ndarray:
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


def bootstrap_trace(
    fitted: SensorTrace, law: TraceLaw, prior: Prior, *, resamples: int = 40, dt_s: float = 0.5, seed: int = 0
) -> np.ndarray:
    """Parameters of refits, shape (resamples, p), in the order shared, then sensor by sensor.

    The residuals of the logarithm are cut into blocks of two correlation times, which are drawn with replacement and
    put onto the fitted curve; the prior's means are drawn too, as if they had been measured with its sd.
    """
    rng = np.random.default_rng(seed)
    curve = law.forecast(fitted.programme, fitted.time_s, dt_s=dt_s)
    left = np.log(np.where(fitted.readings > 0, fitted.readings, np.nan)) - np.log(curve)
    gap = float(np.median(np.diff(fitted.time_s)))
    block = int(np.clip(round(2 * law.correlation_s / gap), 1, len(left)))
    free = prior.sd > 0
    start = np.append(law.shared, law.sensors)[free]
    drawn = []
    for _ in range(resamples):
        firsts = rng.integers(0, len(left) - block + 1, -(-len(left) // block))
        rows = (firsts[:, None] + np.arange(block)).ravel()[: len(left)]
        moved = replace(fitted, readings=curve * np.exp(left[rows]))
        shaken = replace(
            prior,
            shared=prior.shared + prior.shared_sd * rng.normal(size=prior.shared.shape),
            sensors=prior.sensors + prior.sensors_sd * rng.normal(size=prior.sensors.shape),
        )
        again = fit_trace(moved, shaken, dt_s=dt_s, steps=25, start=start)
        drawn.append(np.append(again.shared, again.sensors))
    return np.array(drawn)
