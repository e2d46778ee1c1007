"""The table of the traces: forecasts of unseen transitions from set points alone, beside null forecasts."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from studies.uci.dynamic_response import SENSOR_COLUMNS, SHARED_COLUMNS, changes_of
from studies.uci.plateau_fit import fit_plateaus
from studies.uci.plateau_inverse import FORMS
from studies.uci.plateau_table import PLATEAUS, read_plateaus
from studies.uci.steady_response import SCALE_PPM
from studies.uci.trace_fit import NULLS, Prior, SensorTrace, TraceLaw, bootstrap_trace, fit_trace, thinned
from unmixnet.inference.scores import Row
from unmixnet.metrics import bootstrap_interval
from unmixnet.recordings.formats.uci_recording import read_uci_parquet
from unmixnet.recordings.location import data_root

__all__ = [
    "LAW",
    "Forecast",
    "digitised_forecast",
    "hundred_hertz_forecast",
    "read_trace",
    "trace_parameters",
    "trace_rows",
]

PROTOCOL = "uci-traces:forward"
LAW = "mixing, adsorption, readout, lag"
NO_PURGE = "the same without purging gas lines"
_FOLDER = Path("uci322")
_HUNDRED = ("ethylene_co_s01_100hz.parquet", 40.0, 500.0)
"""File, first second that is fitted (before, the heaters warm up), first second that is forecast."""
_DIGITISED = "ethylene_methane_digitised_1_25hz.parquet"
_NEVER = -9.0
"""log v of a line that needs no purging."""


@dataclass(frozen=True, eq=False)
class Forecast:
    """A trace, the part that was fitted, and the forecasts of each model for the rest.

    Arguments:
        name: for the table.
        trace: all of it.
        fitted: the part that was fitted, thinned.
        rest: the part that is forecast, every reading.
        law: the fitted law.
        prior: what it started from.
        values: forecasts of `rest` by model, each of shape (n, M).
    """

    name: str
    trace: SensorTrace
    fitted: SensorTrace
    rest: SensorTrace
    law: TraceLaw
    prior: Prior
    values: dict[str, np.ndarray]


def read_trace(path: Path) -> SensorTrace:
    """A trace from a Parquet table, its set points in units of SCALE_PPM."""
    recording = read_uci_parquet(path, path.name)
    scale = np.array([SCALE_PPM[gas] for gas in recording.gases])
    assert recording.exposure_ppm is not None
    time_s, readings = np.asarray(recording.time_s), np.asarray(recording.readings)
    programme = changes_of(time_s, np.asarray(recording.exposure_ppm) / scale)
    return SensorTrace(time_s, readings, programme, recording.channels, recording.gases)


def hundred_hertz_forecast(root: str | Path | None) -> Forecast:
    """Sensor 1 at 100 Hz: 40 to 500 s are fitted, 500 to 1,100 s are forecast."""
    name, start_s, cut_s = _HUNDRED
    trace = read_trace(data_root(root) / _FOLDER / name)
    prior = Prior.wide(1)
    prior.shared_sd[SHARED_COLUMNS.index("log tau_w")] = 0.5
    prior.sensors_sd[:, SENSOR_COLUMNS.index("w")] = 1.0
    return _forecast("100 Hz", trace, start_s, cut_s, prior, every_s=1.0)


def digitised_forecast(root: str | Path | None) -> Forecast:
    """Four digitised sensors: the first half of the transitions is fitted, the rest forecast.

    There is no clean air in the first half; air and isotherms have a prior from the plateaus that end before it does.
    """
    trace = read_trace(data_root(root) / _FOLDER / _DIGITISED)
    cut_s = float(trace.programme.start_s[1 + (len(trace.programme.start_s) - 1) // 2])
    prior = _from_plateaus(root, trace.sensors, cut_s)
    return _forecast("digitised", trace, float(trace.time_s[0]), cut_s, prior, every_s=2.0)


def trace_rows(done: Forecast) -> list[Row]:
    """RMSE over the range of the forecast part and over that of the whole trace, for every model and sensor."""
    rest = done.rest
    segment = np.searchsorted(rest.programme.start_s, rest.time_s, side="right")
    used = done.trace.between(float(done.fitted.time_s[0]) - 1, np.inf)
    rows = []
    for m, sensor in enumerate(rest.sensors):
        seen = np.isfinite(rest.readings[:, m])
        truth = rest.readings[seen, m]
        for name, spread in (
            ("RMSE / range of the forecast part", float(np.ptp(truth))),
            ("RMSE / range of the trace", float(np.nanmax(used.readings[:, m]) - np.nanmin(used.readings[:, m]))),
        ):
            for model, values in done.values.items():
                metric = _relative(spread)
                guess = values[seen, m]
                interval = bootstrap_interval(metric, guess, truth, [str(s) for s in segment[seen]], resamples=200)
                mean = metric(guess, truth, None)
                split = f"{done.name}, {sensor}"
                rows.append(
                    Row(
                        PROTOCOL, split, "reading", model, name, mean, 0.0, interval.lo, interval.hi, interval.groups, 1
                    )
                )
    return rows


def trace_parameters(done: Forecast, resamples: int = 0) -> dict[str, Any]:
    """Time constants and rates with 95 % intervals, from the Fisher information and, if requested, by bootstrap."""
    law = done.law
    drawn = bootstrap_trace(done.fitted, law, done.prior, resamples=resamples) if resamples else None
    names = [*SHARED_COLUMNS, *(f"{c} {s}" for s in done.trace.sensors for c in SENSOR_COLUMNS)]
    values = np.append(law.shared, law.sensors)
    errors = np.append(law.shared_se, law.sensors_se)
    fitted = []
    for i, (name, value, se) in enumerate(zip(names, values, errors, strict=True)):
        if se > 0:
            entry = {"name": name, "value": float(value), "se": float(se)}
            if name.startswith("log "):
                plain = np.exp([value, value - 1.96 * se, value + 1.96 * se])
                entry |= {"plain": float(plain[0]), "lo": float(plain[1]), "hi": float(plain[2])}
            if drawn is not None:
                lo, hi = np.quantile(drawn[:, i], [0.025, 0.975])
                entry |= {"bootstrap_lo": float(lo), "bootstrap_hi": float(hi)}
            fitted.append(entry)
    return {
        "units_ppm": {gas: SCALE_PPM[gas] for gas in done.trace.gases},
        "converged": law.solution.converged,
        "correlation_s": law.correlation_s,
        "bootstrap_resamples": resamples,
        "fitted": fitted,
    }


def _forecast(name: str, trace: SensorTrace, start_s: float, cut_s: float, prior: Prior, *, every_s: float) -> Forecast:
    fitted, rest = thinned(trace.between(start_s, cut_s), every_s), trace.between(cut_s, np.inf)
    law = fit_trace(fitted, prior, dt_s=every_s / 2)
    closed = replace(prior, shared=prior.shared.copy(), shared_sd=prior.shared_sd.copy())
    closed.shared[2:4], closed.shared_sd[2:4] = _NEVER, 0.0
    without = fit_trace(fitted, closed, dt_s=every_s / 2)
    values = {LAW: law.forecast(rest.programme, rest.time_s), NO_PURGE: without.forecast(rest.programme, rest.time_s)}
    values |= {null: make(fitted, rest.time_s) for null, make in NULLS.items()}
    return Forecast(name, trace, fitted, rest, law, prior, values)


def _from_plateaus(root: str | Path | None, sensors: tuple[str, ...], before_s: float) -> Prior:
    """Air, affinities and sensitivities from the plateaus that end before a time; the rest is wide."""
    table = read_plateaus(data_root(root) / PLATEAUS)
    stop = int(np.sum(table.start_s + table.duration_s <= before_s + 1))
    form = next(form for form in FORMS if form.name == "Langmuir, warming")
    law, prior = fit_plateaus(table.part(0, stop), form), Prior.wide(len(sensors))
    for m, sensor in enumerate(sensors):
        b, A, K = (law.P[table.sensors.index(sensor)][j] for j in (0, slice(1, 3), slice(3, 5)))
        prior.sensors[m, 0], prior.sensors_sd[m, 0] = b, 0.05
        prior.sensors[m, 2:4], prior.sensors_sd[m, 2:4] = A - K, 0.5
        prior.sensors[m, 4:6], prior.sensors_sd[m, 4:6] = K, 0.5
    return prior


def _relative(spread: float):
    def metric(guess: np.ndarray, truth: np.ndarray, weight: np.ndarray | None = None) -> float:
        return float(np.sqrt(np.average((guess - truth) ** 2, weights=weight)) / spread)

    return metric
