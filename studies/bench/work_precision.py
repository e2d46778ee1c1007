"""Work and precision of the library's steps, SciPy's Radau and diffrax: sweeps over steps or tolerances, two errors,
and who is how much faster at equal error.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from studies.bench.peers import EXPLICIT, IMPLICIT
from studies.bench.processes import answers

__all__ = ["ERRORS", "Line", "Point", "Series", "at_equal_error", "seconds_at", "work_precision"]

ERRORS = {
    "end": "largest relative error of the readout and of the odorants' moles at the end",
    "trajectory": "largest error of the readout at ten times, in the range of each sensor",
}
LEVELS = {"end": (3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4), "trajectory": (1e-2, 1e-3, 1e-4, 1e-5)}
BATCH = 32
_IMPLICIT_BATCH = 8
_LIMITS_S = {"implicit": 75.0, "other": 300.0}
_COARSE = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
_FINE = (1e-5, 1e-6, 1e-7, 1e-8)


@dataclass(frozen=True)
class Point:
    """One run of a method."""

    setting: float
    """Number of steps, or tolerance."""
    seconds_per_sample: float
    """With all cores: a method that solves one sample with one core is credited with one process per core."""
    steps: int
    """Of Radau: evaluations of the right-hand side."""
    end: float
    trajectory: float
    memory_bytes: int | None = None
    """Of Radau: peak of Python's own allocations."""


@dataclass(frozen=True)
class Series:
    """A method swept over its setting."""

    group: str
    """ours, before, radau or diffrax."""
    name: str
    batch: int
    points: tuple[Point, ...]
    finished: bool = True
    """False where the time limit cut the sweep short."""


@dataclass(frozen=True)
class Line:
    """Seconds per sample at one error; None where nobody of a group was measured there."""

    kind: str
    """end or trajectory."""
    error: float
    ours: float
    ours_by: str
    before: float | None
    before_extrapolated: bool
    """Along its own order, one, beyond its finest run."""
    radau: float | None
    diffrax: float | None
    diffrax_by: str | None


@dataclass(frozen=True)
class _Sweep:
    """What to ask for, and how the answer is called."""

    group: str
    name: str
    settings: Sequence[float]
    request: dict
    float64: bool = False
    batch: int = BATCH
    cores: int = 1

    @property
    def limit_s(self) -> float:
        return _LIMITS_S["implicit" if self.request.get("solver") in IMPLICIT else "other"]


def work_precision(K: int, *, quick: bool = False, progress: Callable[[str], None] = lambda _: None) -> dict:
    """All sweeps of one number of odorants, scored against a strict Radau; ready for JSON."""
    progress(f"reference solution, {K} odorants")
    (exact,), _ = answers(kind="truth", n_odorants=K, rtol=1e-8 if quick else 1e-10)
    series = []
    for sweep in _quick_sweeps() if quick else _sweeps(K):
        progress(f"work and precision, {K} odorants, {sweep.name}")
        sizes = {"n_odorants": K, "settings": list(sweep.settings)}
        sizes |= {} if sweep.group == "radau" else {"samples": sweep.batch}
        found, ended = answers(limit_s=sweep.limit_s, float64=sweep.float64, **sweep.request, **sizes)
        points = tuple(_scored(point, exact, sweep.cores) for point in found if point["status"] <= 1)
        series.append(Series(sweep.group, sweep.name, sweep.batch, points, ended))
    lines = [line for kind in ERRORS for line in at_equal_error(series, kind)]
    return {"odorants": K, "series": [asdict(s) for s in series], "equal_error": [asdict(line) for line in lines]}


def _sweeps(K: int) -> list[_Sweep]:
    doubling = [10 * 2**k for k in range(11)]
    ours, before = {"kind": "fixed", "method": "ours"}, {"kind": "fixed", "method": "before"}
    found = [
        _Sweep("ours", "fixed steps, float32", doubling[:7], ours),
        _Sweep("ours", "fixed steps, float64", doubling[3:9], ours, float64=True),
        _Sweep("ours", "adaptive, float32", (1.0, *_COARSE), {"kind": "adaptive"}),
        _Sweep("ours", "adaptive, float64", _FINE[:-1], {"kind": "adaptive"}, float64=True),
        _Sweep("before", "first order, float32", doubling[2:10], before),
        _radau_sweep((1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)),
    ]
    for name in EXPLICIT:
        request = {"kind": "diffrax", "solver": name}
        found.append(_Sweep("diffrax", f"{name}, float32", _COARSE, request))
        found.append(_Sweep("diffrax", f"{name}, float64", _FINE, request, float64=True))
    if K < 50:
        for name in IMPLICIT:
            request = {"kind": "diffrax", "solver": name}
            found.append(_Sweep("diffrax", f"{name} per sample, float32", _COARSE[1:4], request, batch=_IMPLICIT_BATCH))
    return found


def _quick_sweeps() -> list[_Sweep]:
    return [
        _Sweep("ours", "fixed steps, float32", (10, 20, 40, 80, 160), {"kind": "fixed", "method": "ours"}),
        _Sweep("ours", "adaptive, float32", (1e-1, 1e-3), {"kind": "adaptive"}),
        _Sweep("before", "first order, float32", (40, 160, 640), {"kind": "fixed", "method": "before"}),
        _radau_sweep((1e-2, 1e-3, 1e-4)),
        _Sweep("diffrax", "Tsit5, float32", (1e-2, 1e-4), {"kind": "diffrax", "solver": "Tsit5"}),
    ]


def _radau_sweep(settings: Sequence[float]) -> _Sweep:
    return _Sweep("radau", "SciPy Radau, float64", settings, {"kind": "radau"}, batch=1, cores=os.cpu_count() or 1)


def _scored(point: dict, exact: dict, cores: int) -> Point:
    """Errors of a run against the reference, both of the first sample."""
    y, true = np.array(point["y"]), np.array(exact["y"])
    N, true_N = (np.array(each["N"])[:, 1:] for each in (point, exact))
    end = max(np.max(np.abs(y[-1] - true[-1]) / np.abs(true[-1])), np.max(np.abs(N - true_N) / np.abs(true_N)))
    trajectory = np.max(np.abs(y - true[1:]) / np.ptp(true, axis=0))
    cost = point["seconds_per_sample"] / cores
    return Point(point["setting"], cost, point["steps"], float(end), float(trajectory), point.get("memory_bytes"))


# ---------------------------------------------------------------- equal error


def at_equal_error(series: Sequence[Series], kind: str) -> list[Line]:
    """Seconds per sample of the best of each group, at each error that one of ours reaches."""
    lines = []
    for error in LEVELS[kind]:
        best: dict[str, tuple[float, str]] = {}
        for each in series:
            cost = seconds_at(each.points, kind, error)
            if cost is not None and (each.group not in best or cost < best[each.group][0]):
                best[each.group] = cost, each.name
        if "ours" not in best:
            continue
        before = best["before"][0] if "before" in best else _beyond(series, kind, error)
        continued = "before" not in best and before is not None
        radau, diffrax = best.get("radau", (None, None))[0], best.get("diffrax", (None, None))
        lines.append(Line(kind, error, *best["ours"], before, continued, radau, *diffrax))
    return lines


def seconds_at(points: Sequence[Point], kind: str, error: float) -> float | None:
    """Time for an error, log–log between the runs that none beats in both; of a coarser error, that of the coarsest."""
    front = _front(points, kind)
    if not front or error < front[0][0]:
        return None
    x, cost = np.log(np.array(front)).T
    return float(np.exp(np.interp(np.log(error), x, cost)))


def _front(points: Sequence[Point], kind: str) -> list[tuple[float, float]]:
    """Error and time of the runs that no other run beats in both, errors rising."""
    front: list[tuple[float, float]] = []
    for error, cost in sorted((getattr(p, kind), p.seconds_per_sample) for p in points):
        if not front or cost < front[-1][1]:
            front.append((error, cost))
    return front


def _beyond(series: Sequence[Series], kind: str, error: float) -> float | None:
    """Time of the first-order steps for an error below that of their finest run."""
    fronts = [front for each in series if each.group == "before" and (front := _front(each.points, kind))]
    return min((front[0][1] * front[0][0] / error for front in fronts), default=None)
