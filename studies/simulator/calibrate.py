"""Calibration of the simulator: known coefficients recovered, then SmellNet, beside laws without physics.

    python -m studies.simulator.calibrate [--data DIR] [--known] [--report SIM/report.json]

stores studies/results/calibrate.json; a part that is not run is kept as it was.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from unmixnet.files.provenance import provenance
from unmixnet.model.predict import single_precision
from unmixnet.simulation.builders import portable_enose
from unmixnet.training.calibration.calibrate import CalibrationFit, Watch, calibrate
from unmixnet.training.calibration.fisher import Information, information, row_of
from unmixnet.training.calibration.forward import Nuisances, Physics, flat, predicted_traces
from unmixnet.training.calibration.least_squares import free_places
from unmixnet.training.calibration.losses import schedule
from unmixnet.training.calibration.setup import Recordings, Setup
from unmixnet.training.calibration.theta import Jar, NuisancePrior, Theta, prior_of

__all__ = ["KnownFit", "KnownProcess", "calibrate_known", "known_part", "known_process", "smellnet_part"]

RESULTS = Path(__file__).parents[1] / "results" / "calibrate.json"
FOODS, SENSORS = ("banana", "orange", "pear"), ("m1", "m2")
NOISES = (3e-4, 3e-3)


def known_part(noises: tuple[float, ...] = NOISES, *, iterations: int = 16) -> Iterator[dict[str, Any]]:
    """Recordings of three substances on two sensors with known coefficients, calibrated, at some levels of noise."""

    for noise in noises:
        with single_precision():
            truth = known_process(FOODS, SENSORS, noise=noise, seconds=48.0, sessions=2)
            fit = calibrate_known(truth, iterations=iterations, watch=lambda *progress: print(*progress, flush=True))
        estimates = fit.information.estimates
        yield {
            "commit": provenance("")["commit"],
            "noise": noise,
            "signal sd": [float(value) for value in truth.setup.train.Y.std(axis=(0, 1))],
            "recordings": len(truth.setup.train),
            "identifiable up to se": SURE,
            "identifiable": int(fit.identifiable.sum()),
            "worst identifiable error": fit.worst,
            "within three se": float((abs(fit.error) < [3 * estimate.se for estimate in estimates]).mean()),
            "groups": fit.summary(),
            "verdicts": fit.information.summary(),
            "untold": list(fit.information.undetermined),
            "not determined": sorted(
                {estimate.group for estimate in estimates if estimate.verdict == "not determined"}
            ),
        }


def smellnet_part(report: Path) -> dict[str, Any]:
    """The report of `unmixnet calibrate smellnet-mixture -o SIM` without the single estimates."""
    values = json.loads(report.read_text(encoding="utf-8"))
    values["determined"] = [row["name"] for row in values["estimates"] if row["verdict"] == "determined"]
    values["verdicts"] = {
        verdict: sum(row["verdict"] == verdict for row in values["estimates"] if not row["combined"])
        for verdict in ("determined", "weak", "not determined")
    }
    del values["estimates"]
    return {"commit": provenance("")["commit"], **values}


def main() -> None:
    """Run the parts that the options name, and store them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--known", action="store_true", help="calibrate on recordings of known coefficients")
    parser.add_argument("--report", type=Path, help="report.json of `unmixnet calibrate smellnet-mixture -o SIM`")
    options = parser.parse_args()
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    parts = {name: kept[name] for name in ("known", "smellnet") if name in kept}
    if options.report:
        parts["smellnet"] = smellnet_part(options.report)
        _store(parts)
    if options.known:
        parts["known"] = []
        for row in known_part():
            parts["known"].append(row)
            _store(parts)


def _store(parts: dict[str, Any]) -> None:
    result = provenance("python -m studies.simulator.calibrate --known --report SIM/report.json", **parts)
    RESULTS.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
DOSES = (0.1, 1.0, 10.0)
"""Of pure substances, in typical strengths."""
SURE = 0.02
"""Standard error up to which a coefficient counts as identifiable: 5 % are then two and a half of them."""


@dataclass(frozen=True, eq=False)
class KnownProcess:
    """Recordings and the truth behind them."""

    setup: Setup
    theta: Theta
    nuisances: Nuisances


@dataclass(frozen=True, eq=False)
class KnownFit:
    """A calibration beside the true coefficients.

    Arguments:
        information: standard errors of the estimates.
        error: of the logarithm of every estimate.
    """

    known: KnownProcess
    fit: CalibrationFit
    information: Information
    error: np.ndarray

    @property
    def identifiable(self) -> np.ndarray:
        """Which estimates the recordings fix to two per cent."""
        return np.array([estimate.se for estimate in self.information.estimates]) <= SURE

    def summary(self) -> list[dict[str, Any]]:
        """Each group: entries, how many are identifiable, their largest error, and the errors in standard errors."""
        rows = []
        se, sure = np.array([estimate.se for estimate in self.information.estimates]), self.identifiable
        for group in dict.fromkeys(estimate.group for estimate in self.information.estimates):
            mine = np.array([estimate.group == group for estimate in self.information.estimates])
            both = mine & sure
            rows.append(
                {
                    "group": group,
                    "entries": int(mine.sum()),
                    "identifiable": int(both.sum()),
                    "median se": float(np.median(se[mine])),
                    "worst identifiable error": float(np.abs(self.error[both]).max()) if both.any() else None,
                    "error in se": float(np.sqrt(np.mean((self.error[mine] / se[mine]) ** 2))),
                }
            )
        return rows

    @property
    def worst(self) -> float:
        """Largest error of an identifiable estimate."""
        return float(np.abs(self.error[self.identifiable]).max(initial=0))


def known_process(
    foods: Sequence[str],
    sensors: Sequence[str],
    *,
    start: Any = "clean air",
    sessions: int = 4,
    seconds: float = 40.0,
    step_s: float = 1.0,
    noise: float = 1e-3,
    spread: float = 0.5,
    seed: int = 0,
) -> KnownProcess:
    """Draw coefficients and play recordings of them.

    Arguments:
        noise: sd of a sample, in units of the signal.
        spread: of the coefficients, in standard deviations of their priors.
    """
    K, M = len(foods), len(sensors)
    release = "rise-decay" if start == "clean air" else "constant"
    jar = Jar(portable_enose(sensors=tuple(sensors)), (1.0,) * M, start, release, step_s, seconds)
    prior, rng = prior_of(K, [0.0] * M), np.random.default_rng(seed)
    row, unravel = ravel_pytree(prior.mean)
    drawn = np.asarray(row, float) + spread * flat(prior.sd) * rng.normal(size=row.size)
    theta = unravel(jnp.asarray(drawn, row.dtype))
    recordings = _recipes(K, M, sessions, jar.steps)
    n, believed = len(recordings), NuisancePrior(0.2, 0.1 if start == "exposed" else 0.0, 0.1, 0.1)
    nuisances = Nuisances(
        rng.normal(0, believed.strength, n),
        rng.normal(0, believed.exposure, n),
        rng.normal(0, believed.gain, (sessions, M)),
        rng.normal(0, believed.offset, (sessions, M)),
    )
    Y = predicted_traces(Physics.of(jar), theta, recordings, nuisances)
    recordings = replace(recordings, Y=Y + noise * rng.normal(size=Y.shape))
    return KnownProcess(
        Setup("known", tuple(foods), jar, recordings, (0.0,) * M, 2 / step_s, believed), theta, nuisances
    )


def calibrate_known(
    truth: KnownProcess, *, iterations: int = 12, watch: Watch = lambda stage, iteration, most, loss: None
) -> KnownFit:
    """Calibrate on recordings of known coefficients."""
    stages = schedule(iterations, release=truth.setup.jar.release)
    fit = calibrate(truth.setup, stages, watch=watch)
    precision = information(truth.setup, stages[-1], fit)
    places = free_places(fit.theta, stages[-1].free)
    off = row_of(fit.theta, fit.nuisances, places) - row_of(truth.theta, truth.nuisances, places)
    return KnownFit(truth, fit, precision, precision.rows @ off)


def _recipes(K: int, M: int, sessions: int, steps: int) -> Recordings:
    """In every session each substance alone at three doses, and half and half with the next.

    Doses a hundred times apart separate saturation of the surface from the bend of the readout; one dose does not.
    """
    eye = np.eye(K)
    recipes = np.array([*(dose * row for dose in DOSES for row in eye), *(0.5 * (eye + np.roll(eye, 1, axis=1)))])
    ratios, session = np.tile(recipes, (sessions, 1)), np.repeat(np.arange(sessions), len(recipes))
    names = tuple(f"recording {i}" for i in range(len(ratios)))
    where = tuple(f"s{i}" for i in range(sessions))
    return Recordings(np.zeros((len(ratios), steps, M)), ratios, session, where, names)
