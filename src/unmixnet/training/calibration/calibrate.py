"""Calibration in four stages on training recordings only; a finished stage is kept on disk and not done again."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unmixnet.files import Artefact, ArtefactError, fingerprint, read_artefact, recover, write_artefact
from unmixnet.inference.bundle.storage import from_tensors, to_tensors
from unmixnet.recordings.preprocessing import Preprocessing
from unmixnet.training.calibration.forward import Nuisances, Physics, flat, seen
from unmixnet.training.calibration.frozen import FrozenSimulator, is_frozen
from unmixnet.training.calibration.least_squares import Problem, levenberg_marquardt
from unmixnet.training.calibration.losses import Noise, Stage
from unmixnet.training.calibration.recordings import Recordings, fingerprints_of
from unmixnet.training.calibration.theta import Jar, NuisancePrior, Theta, in_omega, prior_of, process_of

__all__ = ["Calibration", "Setup", "calibrate", "frozen", "problem_of"]

Watch = Callable[[str, int, int, float], None]
"""Told the stage, the iteration, how many there are at most, and the loss."""


@dataclass(frozen=True, eq=False)
class Setup:
    """What a calibration starts from.

    Arguments:
        name: of the protocol.
        components: substances, K of them.
        jar: the chamber and how a recording begins.
        train: training recordings; nothing else is ever looked at.
        air: signal in clean air, where the prior of b lies.
        rate_Hz: of the traces.
        nuisance: prior of the nuisances.
        ready: preprocessing, fitted on the training recordings.
    """

    name: str
    components: tuple[str, ...]
    jar: Jar
    train: Recordings
    air: tuple[float, ...]
    rate_Hz: float
    nuisance: NuisancePrior = field(default_factory=NuisancePrior)
    ready: Preprocessing | None = None

    @property
    def prior_nuisance(self) -> NuisancePrior:
        """In a recording that starts in clean air no odour is there at the start: the exposure is no nuisance."""
        return self.nuisance if self.jar.start == "exposed" else replace(self.nuisance, exposure=0.0)

    @property
    def tag(self) -> str:
        """Hash of the training recordings and of how they were made; stages of another training are refused."""
        arrays = {"Y": self.train.Y, "ratios": self.train.ratios, "session": self.train.session.astype(np.int64)}
        words = f"{self.name} {self.components} {self.jar} {self.air} {self.nuisance}"
        return fingerprint(arrays | {"words": np.frombuffer(words.encode(), np.uint8)})


@dataclass(frozen=True, eq=False)
class Calibration:
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
) -> Calibration:
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
    found = Calibration(prior.mean, Nuisances.none(n, len(setup.train.sessions), M), Noise.of(M))
    for number, stage in enumerate(stages, 1):
        place = None if folder is None else Path(folder) / "stages" / f"{number}-{stage.name}"
        tag = f"{setup.tag} {stage.tag} {number}"
        kept = None if place is None else _read(place, found, tag)
        found = kept or _run(setup, stage, found, watch)
        if place is not None and kept is None:
            _write(place, found, tag)
    return found


def frozen(setup: Setup, found: Calibration) -> FrozenSimulator:
    """Θ* as a simulator that cannot change; it also tells the levels of the sessions that it was calibrated on."""
    gain, offset = np.exp(found.nuisances.log_gain), found.nuisances.offset
    origin = {
        "made from": "calibration",
        "protocol": setup.name,
        "recordings": len(setup.train),
        "training": setup.tag,
        "stages": [entry["stage"] for entry in found.history],
        "sessions": {
            name: {"gain": gain[i].tolist(), "offset": offset[i].tolist()}
            for i, name in enumerate(setup.train.sessions)
        },
        "noise": {"fast": found.noise.fast.tolist(), "level": found.noise.level.tolist()},
    }
    jar, exposed = setup.jar, setup.jar.start == "exposed"
    process, policy = process_of(found.theta, jar), Physics.of(jar).policy
    substeps = policy.substeps_advection, policy.substeps_diffusion
    return FrozenSimulator(
        setup.components, jar.chamber, process, setup.rate_Hz, jar.step_s, exposed, setup.ready, origin, "", substeps
    )


def problem_of(setup: Setup, stage: Stage, noise: Noise) -> tuple[Problem, np.ndarray]:
    """The least squares of a stage, and the training recordings that speak in it."""
    train = setup.train
    mask = {"pure": train.pure, "mixtures": ~train.pure, "all": np.ones(len(train), bool)}[stage.recordings]
    # a stage whose kind of recording is missing has nothing of its own to say
    rows = np.flatnonzero(mask if mask.any() else np.ones(len(train), bool))
    prior = prior_of(len(setup.components), setup.air)
    believed, H = setup.prior_nuisance, fingerprints_of(train)
    swing = np.mean(np.abs(H.Y - np.array(setup.air)), axis=(0, 1)) if len(H) else np.zeros(len(setup.air))
    problem = Problem(
        Physics.of(setup.jar),
        stage.free,
        train[rows],
        H,
        flat(prior.mean),
        flat(prior.sd),
        believed,
        stage.weights,
        noise,
        noise.of_fingerprints(swing, believed.strength, believed.gain, believed.offset),
    )
    return problem, rows


def _run(setup: Setup, stage: Stage, found: Calibration, watch: Watch) -> Calibration:
    """One stage; Σ_Y is estimated anew from what it leaves, and a stage of several rounds then goes on with it."""
    total, loss = 0, float("nan")
    for round_ in range(stage.rounds):
        problem, rows = problem_of(setup, stage, found.noise)
        most, before = stage.iterations * stage.rounds, round_ * stage.iterations
        fit = levenberg_marquardt(
            problem,
            found.theta,
            _some(found.nuisances, rows),
            iterations=stage.iterations,
            watch=lambda i, loss, before=before, most=most: watch(stage.name, before + i + 1, most, loss),
        )
        nuisances = _put(found.nuisances, rows, fit.nuisances)
        left = problem.told.Y - seen(problem.forward, fit.params, problem.told, fit.nuisances)
        total, loss = total + fit.iterations, fit.loss
        found = replace(found, theta=fit.params, nuisances=nuisances, noise=Noise.estimated(left))
    entry = {
        "stage": stage.name,
        "recordings": len(rows),
        "free": sorted(stage.free),
        "iterations": total,
        "loss": loss,
        "rms": float(np.sqrt(np.mean(left**2))),
        "in omega": in_omega(process_of(found.theta, setup.jar)),
    }
    return replace(found, history=(*found.history, entry))


def _some(all_: Nuisances, rows: np.ndarray) -> Nuisances:
    """Of some recordings; sessions stay."""
    return replace(all_, log_strength=all_.log_strength[rows], log_exposure=all_.log_exposure[rows])


def _put(all_: Nuisances, rows: np.ndarray, new: Nuisances) -> Nuisances:
    strength, exposure = all_.log_strength.copy(), all_.log_exposure.copy()
    strength[rows], exposure[rows] = new.log_strength, new.log_exposure
    return Nuisances(strength, exposure, new.log_gain, new.offset)


def _parts(found: Calibration) -> dict[str, Any]:
    return {"theta": found.theta, "nuisances": vars(found.nuisances), "noise": vars(found.noise)}


def _write(place: Path, found: Calibration, tag: str) -> None:
    documents = {"progress.json": {"tag": tag, "history": list(found.history)}}
    write_artefact(place, Artefact("calibration", to_tensors(_parts(found)), documents))


def _read(place: Path, like: Calibration, tag: str) -> Calibration | None:
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
    return Calibration(theta, nuisances, noise, tuple(progress["history"]))
