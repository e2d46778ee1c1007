"""From the name of a protocol to a calibration: its training recordings, and its tests, which only a report reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unmixnet.errors import ConfigError
from unmixnet.recordings.datasets import Dataset
from unmixnet.recordings.pieces import Recall
from unmixnet.recordings.protocols import NAMES, Piece, protocol
from unmixnet.simulation.builders import portable_enose
from unmixnet.training.calibration.calibrate import Setup
from unmixnet.training.calibration.recordings import Recordings
from unmixnet.training.calibration.theta import Jar
from unmixnet.training.config import TrainConfig
from unmixnet.training.examples import gather_examples
from unmixnet.training.recipes import recipe
from unmixnet.training.run import clean_air

__all__ = ["DEFAULTS", "Turn", "setup_of", "turn_of"]

DEFAULTS = {
    "smellnet-mixture": "smellnet-mixture:clean:seen",
    "simulated": "simulated:seen",
    "simulated-8": "simulated-8:seen",
}
"""The protocol that a bare name of a data set stands for."""


@dataclass(frozen=True, eq=False)
class Turn:
    """Pieces of one fold.

    Arguments:
        train: what a calibration sees.
        test: what it never sees; a report plays its recipes.
    """

    name: str
    data: Dataset
    train: tuple[Piece, ...]
    test: tuple[Piece, ...]
    recall: Recall


def turn_of(name: str, root: str | Path | None = None, *, fold: int = 0) -> Turn:
    """The first fold of a protocol, or of a data set's usual one."""
    name = DEFAULTS.get(name, name)
    if name in NAMES and name.split(":")[0] not in DEFAULTS:
        raise ConfigError(
            f"no simulator can be calibrated on {name}",
            where="DATASET",
            remedy=f"Use a protocol of {', '.join(DEFAULTS)}: recipes of several substances in one chamber",
        )
    made = protocol(name, root)
    one = made.folds[fold]
    return Turn(name, made.data, one.train, one.test, Recall(root))


def setup_of(turn: Turn, *, seconds: float | None = None) -> tuple[Setup, "Reader"]:
    """The calibration of a turn's training recordings, and what reads other recordings in the same way."""
    config = recipe(turn.data.name.split("-8")[0])
    read = [turn.recall(turn.data, piece) for piece in turn.train]
    channels = tuple(config.data.channels) or tuple(read[0].channels)
    ready = config.preprocessing(channels).fit(read)
    examples = gather_examples(read, ready, turn.data.components, config.model.rate_Hz, config.window)
    air, sign = clean_air(ready, examples)
    stride, step_s = config.settings.stride, config.model.step_s
    steps = (config.window - 1) // stride
    steps = steps if seconds is None else min(steps, int(seconds / step_s))
    start = "clean air" if config.model.start == "clean air" else "exposed"
    jar = Jar(portable_enose(sensors=channels), sign, start, config.model.release, config.model.step_s, steps * step_s)
    sessions = [piece.session for piece in turn.train]
    train = Recordings.of(examples, sessions, stride=stride, steps=steps)
    setup = Setup(turn.name, tuple(turn.data.components), jar, train, air, config.model.rate_Hz, ready=ready)
    return setup, Reader(turn, config, setup)


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads recordings of a turn's data set as its calibration sees them."""

    turn: Turn
    config: TrainConfig
    setup: Setup

    def __call__(self, pieces: Sequence[Piece]) -> Recordings:
        """Sessions that training does not have are numbered −1."""
        ready, train = self.setup.ready, self.setup.train
        assert ready is not None, "a setup of recordings has their preprocessing"
        read = [self.turn.recall(self.turn.data, piece) for piece in pieces]
        examples = gather_examples(read, ready, self.setup.components, self.config.model.rate_Hz, self.config.window)
        sessions = [piece.session for piece in pieces]
        stride, steps = self.config.settings.stride, self.setup.jar.steps
        return Recordings.of(examples, sessions, stride=stride, steps=steps, known=train.sessions, most=train.largest)
