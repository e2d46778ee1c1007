"""What a calibration starts from: the training recordings of a protocol, at the solver's steps, and their chamber."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.files import fingerprint
from unmixnet.recordings.datasets import Dataset
from unmixnet.recordings.pieces import Recall
from unmixnet.recordings.preprocessing import Preprocessing
from unmixnet.recordings.protocols import NAMES, Piece, protocol
from unmixnet.simulation.builders import portable_enose
from unmixnet.training.calibration.theta import Jar, NuisancePrior
from unmixnet.training.config import TrainConfig
from unmixnet.training.examples import Examples, gather_examples
from unmixnet.training.recipes import recipe
from unmixnet.training.run import clean_air

__all__ = ["DEFAULTS", "ProtocolFold", "Recordings", "Setup", "fingerprints_of", "protocol_fold", "setup_of"]


@dataclass(frozen=True, eq=False)
class Recordings:
    """n recordings of known recipes.

    Arguments:
        Y: signal at the ends of the solver's steps, shape (n, T, M), in standard deviations of the training signal.
        ratios: shape (n, K).
        session: place of each recording's session in `sessions`, shape (n,); −1 where it has none of them.
        sessions: names.
        names: of the recordings.
    """

    Y: np.ndarray
    ratios: np.ndarray
    session: np.ndarray
    sessions: tuple[str, ...]
    names: tuple[str, ...]
    most: int = 0
    """Substances that a solver carries at once; 0 takes the largest number in a recording."""

    def __len__(self) -> int:
        return len(self.Y)

    @classmethod
    def of(
        cls,
        examples: Examples,
        session_names: Sequence[str | None],
        *,
        stride: int,
        steps: int,
        known: Sequence[str] = (),
        most: int = 0,
    ) -> "Recordings":
        """From preprocessed traces; recordings of unknown session share one, named "".

        Arguments:
            stride: samples in a step of the solver.
            known: sessions that are counted; where none is given, those of the recordings.
            most: substances that a solver carries at once, if more than in any of these recordings.
        """
        if examples.traces.shape[1] <= stride * steps:
            raise ConfigError(
                f"the recordings have {examples.traces.shape[1]} samples, {steps} steps need {stride * steps + 1}",
                where="calibration",
                remedy="Use a shorter window_s",
            )
        Y = examples.traces[:, stride : stride * steps + 1 : stride].astype(float)
        mine = [session or "" for session in session_names]
        sessions = tuple(known) or tuple(sorted(set(mine)))
        place = {name: i for i, name in enumerate(sessions)}
        index = np.array([place.get(name, -1) for name in mine], int)
        return cls(Y, examples.targets.astype(float), index, sessions, examples.names, most)

    def __getitem__(self, rows: np.ndarray) -> "Recordings":
        """Some of them; the solver carries as many substances as for all, so that one program serves both."""
        names = tuple(np.array(self.names, object)[rows])
        Y, ratios, session = self.Y[rows], self.ratios[rows], self.session[rows]
        return Recordings(Y, ratios, session, self.sessions, names, self.largest)

    @property
    def pure(self) -> np.ndarray:
        """Whether a recording holds one substance."""
        return np.sum(self.ratios > 0, axis=1) == 1

    @property
    def largest(self) -> int:
        """Largest number of substances in a recording."""
        return max(self.most, int(np.max(np.sum(self.ratios > 0, axis=1), initial=1)))

    def active(self) -> tuple[np.ndarray, np.ndarray]:
        """The substances that act, (n, A), and their shares; the rest of a row is filled with absent substances."""
        order = np.argsort(-self.ratios, axis=1, kind="stable")[:, : self.largest]
        return order, np.take_along_axis(self.ratios, order, axis=1)


def fingerprints_of(recordings: Recordings) -> Recordings:
    """H_i: the median over recordings of pure i at dose one, for every substance that was recorded so."""
    pure = recordings[recordings.pure & (np.abs(recordings.ratios.sum(axis=1) - 1) < 1e-6)]
    which = np.argmax(pure.ratios, axis=1)
    substances = np.unique(which)
    H = np.array([np.median(pure.Y[which == i], axis=0) for i in substances]).reshape(-1, *recordings.Y.shape[1:])
    ratios = np.eye(recordings.ratios.shape[1])[substances]
    none, names = np.full(len(substances), -1), tuple(f"pure {i}" for i in substances)
    return Recordings(H, ratios, none, recordings.sessions, names, recordings.largest)


@dataclass(frozen=True, eq=False)
class Setup:
    """What a calibration starts from.

    Arguments:
        name: of the protocol.
        components: substances, K of them.
        jar: the chamber and how a recording begins.
        train: training recordings; nothing else is used.
        air: signal in clean air, where the prior of b lies.
        rate_Hz: of the traces.
        nuisance: prior of the nuisances.
        preprocessing: preprocessing, fitted on the training recordings.
    """

    name: str
    components: tuple[str, ...]
    jar: Jar
    train: Recordings
    air: tuple[float, ...]
    rate_Hz: float
    nuisance: NuisancePrior = field(default_factory=NuisancePrior)
    preprocessing: Preprocessing | None = None

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


DEFAULTS = {
    "smellnet-mixture": "smellnet-mixture:clean:seen",
    "simulated": "simulated:seen",
    "simulated-8": "simulated-8:seen",
}
"""The protocol that a bare name of a data set stands for."""


@dataclass(frozen=True, eq=False)
class ProtocolFold:
    """Pieces of one fold.

    Arguments:
        train: what a calibration sees.
        test: for the report alone, which predicts their traces from their recipes.
    """

    name: str
    data: Dataset
    train: tuple[Piece, ...]
    test: tuple[Piece, ...]
    recall: Recall


def protocol_fold(name: str, root: str | Path | None = None, *, fold: int = 0) -> ProtocolFold:
    """The first fold of a protocol, or of a data set's usual one."""
    name = DEFAULTS.get(name, name)
    if name in NAMES and name.split(":")[0] not in DEFAULTS:
        raise ConfigError(
            f"no simulator can be calibrated on {name}",
            where="DATASET",
            remedy=f"Use a protocol of {', '.join(DEFAULTS)}: recipes of several substances in one chamber",
        )
    made = protocol(name, root)
    split = made.folds[fold]
    return ProtocolFold(name, made.data, split.train, split.test, Recall(root))


def setup_of(fold: ProtocolFold, *, seconds: float | None = None) -> tuple[Setup, "Reader"]:
    """The calibration of a fold's training recordings, and what reads other recordings in the same way."""
    config = recipe(fold.data.name.split("-8")[0])
    read = [fold.recall(fold.data, piece) for piece in fold.train]
    channels = tuple(config.data.channels) or tuple(read[0].channels)
    preprocessing = config.preprocessing(channels).fit(read)
    examples = gather_examples(read, preprocessing, fold.data.components, config.model.rate_Hz, config.window)
    air, sign = clean_air(preprocessing, examples)
    stride, step_s = config.settings.stride, config.model.step_s
    steps = (config.window - 1) // stride
    steps = steps if seconds is None else min(steps, int(seconds / step_s))
    start = "clean air" if config.model.start == "clean air" else "exposed"
    jar = Jar(portable_enose(sensors=channels), sign, start, config.model.release, config.model.step_s, steps * step_s)
    sessions = [piece.session for piece in fold.train]
    train = Recordings.of(examples, sessions, stride=stride, steps=steps)
    setup = Setup(
        fold.name, tuple(fold.data.components), jar, train, air, config.model.rate_Hz, preprocessing=preprocessing
    )
    return setup, Reader(fold, config, setup)


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads recordings of a fold's data set as its calibration sees them."""

    fold: ProtocolFold
    config: TrainConfig
    setup: Setup

    def __call__(self, pieces: Sequence[Piece]) -> Recordings:
        """Sessions that training does not have are numbered −1."""
        preprocessing, train = self.setup.preprocessing, self.setup.train
        assert preprocessing is not None, "a setup of recordings has their preprocessing"
        read = [self.fold.recall(self.fold.data, piece) for piece in pieces]
        examples = gather_examples(
            read, preprocessing, self.setup.components, self.config.model.rate_Hz, self.config.window
        )
        sessions = [piece.session for piece in pieces]
        stride, steps = self.config.settings.stride, self.setup.jar.steps
        return Recordings.of(examples, sessions, stride=stride, steps=steps, known=train.sessions, most=train.largest)
