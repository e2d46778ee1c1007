r"""Fit of the dynamic response to the first part of a trace, and the forecast of the rest from set points alone.

    min_z  Σ ρ(ln G(t_n; z) − ln y_n) + σ² Σ_j (z_j − z̄_j)²/s_j²

The data are means over intervals of the true time stamps. z̄ and s are a prior: wide where the trace decides, narrow
where another recording of the same rig has decided before. Standard errors come from the Gauss–Newton Fisher
information, with the residuals' own correlation time: readings of one correlation time count as one.
"""

from dataclasses import dataclass, replace

import numpy as np

from studies.uci.dynamic_response import SENSOR_COLUMNS, SHARED_COLUMNS, Programme, simulate
from studies.uci.least_squares import Solution, levenberg_marquardt, standard_errors
from unmixnet.errors import UnmixError

__all__ = ["Prior", "Trace", "TraceLaw", "fit_trace", "thinned"]

NOISE = 0.02
"""σ, ln G: beyond it a residual starts to count as an outlier; against it the prior is weighed."""
_STEP = 1e-5


@dataclass(frozen=True, eq=False)
class Trace:
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

    def between(self, start_s: float, stop_s: float) -> "Trace":
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
        """What data sheets and the rig's description say: V/F = 60 ml / 300 ml/min, tens of seconds, factors of ten."""
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
    """What a fit found.

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
    solution: Solution
    correlation_s: float

    def forecast(self, programme: Programme, time_s: np.ndarray, *, dt_s: float = 0.1) -> np.ndarray:
        """Conductances at the given times from set points alone, shape (n, M)."""
        from_start = np.append(programme.start_s[0], time_s)
        return np.exp(simulate(self.shared[None], self.sensors[None], programme, from_start, dt_s=dt_s)[0, 1:])


def fit_trace(
    trace: Trace, prior: Prior, *, dt_s: float = 0.5, steps: int = 60, start: np.ndarray | None = None
) -> TraceLaw:
    """Fit to the readings of a trace, thinned to about one a second; from the prior's mean unless told otherwise."""
    y = np.log(np.where(trace.readings > 0, trace.readings, np.nan))
    seen = np.isfinite(y)
    mean, sd = prior.mean, prior.sd
    free = np.flatnonzero(sd > 0)
    if seen.sum() < len(free):
        raise UnmixError(f"{seen.sum()} readings for {len(free)} parameters", remedy="Fit a longer part of the trace")
    begin = mean[free] if start is None else start
    times, M = np.append(trace.programme.start_s[0], trace.time_s), len(trace.sensors)

    def residual(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        batch = np.tile(mean, (len(free) + 1, 1))
        batch[:, free] = z + np.vstack([np.zeros(len(free)), _STEP * np.eye(len(free))])
        shared, sensors = batch[:, :5], batch[:, 5:].reshape(len(batch), M, -1)
        out = simulate(shared, sensors, trace.programme, times, dt_s=dt_s)[:, 1:][:, seen]
        r, J = out[0] - y[seen], ((out[1:] - out[0]) / _STEP).T
        pull = NOISE / sd[free]
        return np.concatenate([r, pull * (z - mean[free])]), np.concatenate([J, np.diag(pull)])

    solution = levenberg_marquardt(residual, begin, scale=NOISE, steps=steps, tolerance=1e-6)
    left = np.full(y.shape, np.nan)
    left[seen] = residual(solution.z)[0][: -len(free)]
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


def thinned(trace: Trace, every_s: float) -> Trace:
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
