"""The whole command: calibrate on a protocol's training recordings, freeze, then report on held-out recordings."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unmixnet.model.predict import single_precision
from unmixnet.training.calibration.calibrate import CalibrationFit, Watch, calibrate, frozen
from unmixnet.training.calibration.fisher import Information, information
from unmixnet.training.calibration.forward import Nuisances
from unmixnet.training.calibration.frozen import FrozenSimulator
from unmixnet.training.calibration.losses import L_phys, schedule
from unmixnet.training.calibration.scores import (
    FittedLaw,
    Score,
    in_sample,
    new_sessions,
    null_laws,
    out_of_sample,
    physics_law,
)
from unmixnet.training.calibration.setup import ProtocolFold, Recordings, Setup, protocol_fold, setup_of

__all__ = ["ITERATIONS", "QUICK", "CalibrationOutcome", "as_values", "calibrate_protocol", "write_report"]

ITERATIONS, QUICK = 8, 4
HELD_OUT = {"smellnet-mixture": "smellnet-mixture:new-session"}
"""Protocol whose tests are whole sessions that its training does not have."""


@dataclass(frozen=True, eq=False)
class CalibrationOutcome:
    """A frozen simulator and what is known about it.

    Arguments:
        calibrated: what the stages found.
        fisher: which coefficients the recordings determine.
        scores: of the physics and of the null laws, in and out of sample.
        closure: L_phys and its parts.
        test: recordings under test, and what the simulator predicts from their recipes alone.
    """

    simulator: FrozenSimulator
    setup: Setup
    calibrated: CalibrationFit
    fisher: Information
    scores: tuple[Score, ...]
    closure: dict[str, float]
    test: tuple[Recordings, np.ndarray]


def calibrate_protocol(
    name: str,
    folder: Path,
    *,
    root: str | Path | None = None,
    iterations: int = ITERATIONS,
    seconds: float | None = None,
    held_out: bool = True,
    watch: Watch = lambda stage, iteration, most, loss: None,
    say: Callable[[str], None] = lambda text: None,
) -> CalibrationOutcome:
    """Calibrate and freeze into a folder, and score the simulator; with `held_out` a second one, on other sessions.

    Tests are read after the simulator is frozen, and only to be compared with its predictions for their recipes.
    """
    fold = protocol_fold(name, root)
    with single_precision():
        setup, reader = setup_of(fold, seconds=seconds)
        stages = schedule(iterations, release=setup.jar.release)
        calibrated = calibrate(setup, stages, folder=folder, watch=watch)
        simulator = frozen(setup, calibrated).save(folder)
        say("which coefficients the recordings determine")
        fisher = information(setup, stages[-1], calibrated)
        say("beside laws without physics")
        test = reader(fold.test)
        scores = _scores(setup, calibrated, test)
        scores += _held_out(fold, root, iterations, seconds, folder, watch, say) if held_out else []
        closure = _closure(simulator, setup)
        played = physics_law(setup, calibrated).trace(
            test, Nuisances.none(len(test), *calibrated.nuisances.log_gain.shape)
        )
    return CalibrationOutcome(simulator, setup, calibrated, fisher, tuple(scores), closure, (test, played))


def _scores(setup: Setup, calibrated: CalibrationFit, test: Recordings) -> list[Score]:
    """In sample, and on the tests of the protocol."""
    laws, train = _laws(setup, calibrated), setup.train
    return [score for law in laws for score in (*in_sample(law, train), *out_of_sample(law, train, test))]


def _laws(setup: Setup, calibrated: CalibrationFit) -> tuple[FittedLaw, ...]:
    return (physics_law(setup, calibrated), *null_laws(setup))


def _held_out(
    fold: ProtocolFold,
    root: Any,
    iterations: int,
    seconds: float | None,
    folder: Path,
    watch: Watch,
    say: Callable[[str], None],
) -> list[Score]:
    """Scores on whole sessions, by a second calibration on the others; none where the data has no such split."""
    name = HELD_OUT.get(fold.data.name)
    if name is None or name == fold.name:
        return []
    say(f"calibrating once more, for {name}")
    other = protocol_fold(name, root)
    setup, reader = setup_of(other, seconds=seconds)
    stages = schedule(iterations, release=setup.jar.release)
    calibrated = calibrate(setup, stages, folder=folder / "held-out", watch=watch)
    test = reader(other.test)
    sessions = np.array([piece.session or "" for piece in other.test])
    return [score for law in _laws(setup, calibrated) for score in new_sessions(law, setup.train, test, sessions)]


def _closure(simulator: FrozenSimulator, setup: Setup) -> dict[str, float]:
    """L_phys and its two parts over the training recipes, which are zero but for rounding."""
    some = setup.train.ratios[:64]
    run = simulator.simulate(some, seconds=setup.jar.seconds)
    ms, mass = float(np.max(run.ms_residual)), float(np.max(run.mass_error))
    return {"L_phys": L_phys(run.ms_residual, run.mass_error), "MS residual": ms, "mass error": mass}


def as_values(outcome: CalibrationOutcome) -> dict[str, Any]:
    """Plain values for JSON."""
    sim, setup = outcome.simulator, outcome.setup
    estimates = [asdict(estimate) | {"verdict": estimate.verdict} for estimate in outcome.fisher.estimates]
    return {
        "protocol": setup.name,
        "sha256": sim.sha256,
        "recordings": len(setup.train),
        "pure": int(setup.train.pure.sum()),
        "sessions": len(setup.train.sessions),
        "components": list(sim.components),
        "channels": list(sim.channels),
        "seconds": setup.jar.seconds,
        "start": setup.jar.start,
        "within": _within(setup.train),
        "stages": list(outcome.calibrated.history),
        "noise": {"fast": outcome.calibrated.noise.fast.tolist(), "level": outcome.calibrated.noise.level.tolist()},
        "nuisance sd": {
            "strength": float(np.std(outcome.calibrated.nuisances.log_strength)),
            "exposure": float(np.std(outcome.calibrated.nuisances.log_exposure)),
            "gain": float(np.std(outcome.calibrated.nuisances.log_gain)),
            "offset": float(np.std(outcome.calibrated.nuisances.offset)),
        },
        "closure": outcome.closure,
        "scores": [asdict(score) for score in outcome.scores],
        "groups": outcome.fisher.summary(),
        "estimates": estimates,
        "untold": list(outcome.fisher.undetermined),
    }


def _within(train: Recordings) -> list[float]:
    """Share of each sensor's variance that lies within recordings, not between them."""
    inside = np.mean((train.Y - train.Y.mean(axis=1, keepdims=True)) ** 2, axis=(0, 1))
    return [float(value) for value in inside / train.Y.var(axis=(0, 1))]


def write_report(outcome: CalibrationOutcome, folder: Path) -> dict[str, Any]:
    """report.json, report.md and three pictures beside the frozen simulator."""
    from unmixnet.training.calibration.report import draw_determined, draw_explained, draw_traces, report_text

    values = as_values(outcome)
    text = json.dumps(values, indent=1, ensure_ascii=False)
    (folder / "report.json").write_text(text + "\n", encoding="utf-8")
    (folder / "report.md").write_text(report_text(values), encoding="utf-8")
    draw_explained(values, folder / "explained.png")
    draw_determined(values, folder / "determined.png")
    draw_traces(*outcome.test, outcome.simulator.channels, outcome.simulator.step_s, folder / "traces.png")
    return values
