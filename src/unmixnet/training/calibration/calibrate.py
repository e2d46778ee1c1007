"""Calibration in four stages on training recordings only; a finished stage is kept on disk and not repeated."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unmixnet.files import Artefact, ArtefactError, read_artefact, recover, write_artefact
from unmixnet.inference.bundle.storage import from_tensors, to_tensors
from unmixnet.training.calibration.forward import Nuisances, Physics, flat, predicted_traces
from unmixnet.training.calibration.frozen import FrozenSimulator, is_frozen
from unmixnet.training.calibration.least_squares import CalibrationProblem, levenberg_marquardt
from unmixnet.training.calibration.losses import Noise, Stage
from unmixnet.training.calibration.setup import Setup, fingerprints_of
from unmixnet.training.calibration.theta import Theta, in_omega, prior_of, process_of

__all__ = ["CalibrationFit", "calibrate", "frozen", "problem_of"]

Watch = Callable[[str, int, int, float], None]
"""Called with the stage, the iteration, the largest number of iterations, and the loss."""


@dataclass(frozen=True, eq=False)
class CalibrationFit:
    """What the stages found.

    Arguments:
        theta: Θ*.
        nuisances: of the training recordings and sessions.
        noise: Σ_Y, estimated from what is left.
        history: one entry for each finished stage.
    """

    theta: Theta
    nuisances: Nuisances
    noise: Noise
    history: tuple[dict[str, Any], ...] = ()


def calibrate(
    setup: Setup,
    stages: tuple[Stage, ...],
    *,
    folder: Path | None = None,
    watch: Watch = lambda stage, iteration, most, loss: None,
) -> CalibrationFit:
    """Run the stages; with a folder, finished ones are read from it and new ones are written to it.

    A folder that holds a frozen simulator is refused: a frozen simulator is not refitted.
    """
    if folder is not None and is_frozen(folder):
        raise ArtefactError(
            "the simulator in this folder is frozen and is not refitted",
            where=str(folder),
            remedy="Calibrate into another folder",
        )
    prior = prior_of(len(setup.components), setup.air)
    n, M = len(setup.train), setup.train.Y.shape[2]
    calibrated = CalibrationFit(prior.mean, Nuisances.none(n, len(setup.train.sessions), M), Noise.of(M))
    for number, stage in enumerate(stages, 1):
        place = None if folder is None else Path(folder) / "stages" / f"{number}-{stage.name}"
        tag = f"{setup.tag} {stage.tag} {number}"
        kept = None if place is None else _read(place, calibrated, tag)
        calibrated = kept or _run(setup, stage, calibrated, watch)
        if place is not None and kept is None:
            _write(place, calibrated, tag)
    return calibrated


def frozen(setup: Setup, calibrated: CalibrationFit) -> FrozenSimulator:
    """Θ* as a frozen simulator; its origin holds gains and offsets of the training sessions."""
    gain, offset = np.exp(calibrated.nuisances.log_gain), calibrated.nuisances.offset
    origin = {
        "made from": "calibration",
        "protocol": setup.name,
        "recordings": len(setup.train),
        "training": setup.tag,
        "stages": [entry["stage"] for entry in calibrated.history],
        "sessions": {
            name: {"gain": gain[i].tolist(), "offset": offset[i].tolist()}
            for i, name in enumerate(setup.train.sessions)
        },
        "noise": {"fast": calibrated.noise.fast.tolist(), "level": calibrated.noise.level.tolist()},
    }
    jar, exposed = setup.jar, setup.jar.start == "exposed"
    process, policy = process_of(calibrated.theta, jar), Physics.of(jar).policy
    substeps = policy.substeps_advection, policy.substeps_diffusion
    return FrozenSimulator(
        setup.components,
        jar.chamber,
        process,
        setup.rate_Hz,
        jar.step_s,
        exposed,
        setup.preprocessing,
        origin,
        "",
        substeps,
    )


def problem_of(setup: Setup, stage: Stage, noise: Noise) -> tuple[CalibrationProblem, np.ndarray]:
    """The least squares of a stage, and the rows of the training recordings that it uses."""
    train = setup.train
    mask = {"pure": train.pure, "mixtures": ~train.pure, "all": np.ones(len(train), bool)}[stage.recordings]
    # a stage whose kind of recording is missing uses all of them
    rows = np.flatnonzero(mask if mask.any() else np.ones(len(train), bool))
    prior = prior_of(len(setup.components), setup.air)
    prior_nuisance, H = setup.prior_nuisance, fingerprints_of(train)
    swing = np.mean(np.abs(H.Y - np.array(setup.air)), axis=(0, 1)) if len(H) else np.zeros(len(setup.air))
    problem = CalibrationProblem(
        Physics.of(setup.jar),
        stage.free,
        train[rows],
        H,
        flat(prior.mean),
        flat(prior.sd),
        prior_nuisance,
        stage.weights,
        noise,
        noise.of_fingerprints(swing, prior_nuisance.strength, prior_nuisance.gain, prior_nuisance.offset),
    )
    return problem, rows


def _run(setup: Setup, stage: Stage, calibrated: CalibrationFit, watch: Watch) -> CalibrationFit:
    """One stage; Σ_Y is then estimated again from its residuals, for the next round if the stage has several."""
    total, loss = 0, float("nan")
    for round_ in range(stage.rounds):
        problem, rows = problem_of(setup, stage, calibrated.noise)
        most, before = stage.iterations * stage.rounds, round_ * stage.iterations
        fit = levenberg_marquardt(
            problem,
            calibrated.theta,
            _some(calibrated.nuisances, rows),
            iterations=stage.iterations,
            watch=lambda i, loss, before=before, most=most: watch(stage.name, before + i + 1, most, loss),
        )
        nuisances = _put(calibrated.nuisances, rows, fit.nuisances)
        left = problem.recordings.Y - predicted_traces(problem.forward, fit.params, problem.recordings, fit.nuisances)
        total, loss = total + fit.iterations, fit.loss
        calibrated = replace(calibrated, theta=fit.params, nuisances=nuisances, noise=Noise.estimated(left))
    entry = {
        "stage": stage.name,
        "recordings": len(rows),
        "free": sorted(stage.free),
        "iterations": total,
        "loss": loss,
        "rms": float(np.sqrt(np.mean(left**2))),
        "in omega": in_omega(process_of(calibrated.theta, setup.jar)),
    }
    return replace(calibrated, history=(*calibrated.history, entry))


def _some(all_: Nuisances, rows: np.ndarray) -> Nuisances:
    """Of some recordings; sessions stay."""
    return replace(all_, log_strength=all_.log_strength[rows], log_exposure=all_.log_exposure[rows])


def _put(all_: Nuisances, rows: np.ndarray, new: Nuisances) -> Nuisances:
    strength, exposure = all_.log_strength.copy(), all_.log_exposure.copy()
    strength[rows], exposure[rows] = new.log_strength, new.log_exposure
    return Nuisances(strength, exposure, new.log_gain, new.offset)


def _parts(calibrated: CalibrationFit) -> dict[str, Any]:
    return {"theta": calibrated.theta, "nuisances": vars(calibrated.nuisances), "noise": vars(calibrated.noise)}


def _write(place: Path, calibrated: CalibrationFit, tag: str) -> None:
    documents = {"progress.json": {"tag": tag, "history": list(calibrated.history)}}
    write_artefact(place, Artefact("calibration", to_tensors(_parts(calibrated)), documents))


def _read(place: Path, like: CalibrationFit, tag: str) -> CalibrationFit | None:
    """A finished stage, or None if there is none; one of another training is refused."""
    if not place.parent.is_dir():
        return None
    recover(place)
    if not place.exists():
        return None
    kept = read_artefact(place, kind="calibration")
    progress: Any = kept.documents["progress.json"]
    if progress["tag"] != tag:
        raise ArtefactError(
            "this stage was calibrated on other recordings or with other settings",
            where=str(place),
            remedy="Use what it was made with, or calibrate into another folder",
        )
    tensors = dict(kept.tensors)
    theta = from_tensors({name: tensors[f"['theta'].{name}"] for name in vars(like.theta)}, like.theta, str(place))
    nuisances = Nuisances(**{name: tensors[f"['nuisances']['{name}']"] for name in vars(like.nuisances)})
    noise = Noise(**{name: tensors[f"['noise']['{name}']"] for name in vars(like.noise)})
    return CalibrationFit(theta, nuisances, noise, tuple(progress["history"]))
