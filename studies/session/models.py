r"""Models that are given references of a session: through a map of the signal, through the law, or as training data.

Maps (offset, shrunken gain, ridge to identity, prototype shift) need to know what a reference would have looked like in
training: the mean level of its recipe there, and where training lacks the recipe, what the steady law makes of it at
the mean level of the sessions. All models get the same maps, so that a row differs from the next by one thing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from studies.peers.models import PEERS
from studies.session.draws import Draw
from studies.steady.posterior import SteadyPosterior
from studies.steady.references import informed
from unmixnet.inference.session.calibration import Map
from unmixnet.inference.session.gain import fit_gain
from unmixnet.inference.session.offset import fit_offset
from unmixnet.inference.session.prototype import fit_prototype
from unmixnet.inference.session.ridge import fit_ridge
from unmixnet.recordings.samples import Samples, Task, per_recording

__all__ = ["MAPS", "Ask", "Known", "added", "mapped", "of_labels", "through_law"]

MAPS: dict[str, Callable[[np.ndarray, np.ndarray], Map]] = {
    "offset": fit_offset,
    "prototype shift": fit_prototype,
    "shrunken gain": fit_gain,
    "ridge to identity": fit_ridge,
}
Ask = Callable[[np.ndarray], np.ndarray]
"""A model: windows (n, T, M) to shares (n, K)."""


@dataclass(frozen=True, eq=False)
class Known:
    """Training and test recordings as a model of a study sees them.

    Arguments:
        train: windows of the training recordings.
        levels: mean signal of each of them, (n, M), with shares (n, K).
        tests: windows of every test recording, a list of (w, T, M).
        references: mean signal of the recordings that may be references, (p, M).
        law: the steady law of the training recordings, in logarithms of the conductance;
        sd: their standard deviation in training, which is the unit of every signal here, (M,).
    """

    train: Samples
    levels: np.ndarray
    shares: np.ndarray
    tests: list[np.ndarray]
    references: np.ndarray
    law: SteadyPosterior
    sd: np.ndarray

    def master(self, labels: np.ndarray) -> np.ndarray:
        """What references with these labels (k, K) would have looked like in training, (k, M)."""
        typical = (self.law.law.response(labels) + self.law.law.levels.mean(axis=0)) / self.sd
        for row, label in zip(typical, labels, strict=True):
            same = np.all(np.abs(self.shares - label) < 1e-3, axis=1)
            if same.any():
                row[:] = self.levels[same].mean(axis=0)
        return typical

    def level(self, test: int) -> np.ndarray:
        """Mean signal of a test recording, (M,)."""
        return self.tests[test].mean(axis=(0, 1))


def mapped(ask: Ask, known: Known, draws: Sequence[Draw], method: str) -> np.ndarray:
    """Shares of every test, its signal mapped to what training knows; `none` leaves it as it is."""
    windows = [known.tests[draw.test] for draw in draws]
    if method != "none":
        found = [MAPS[method](known.references[draw.references], known.master(draw.labels)) for draw in draws]
        windows = [one.apply(cut) for one, cut in zip(found, windows, strict=True)]
    return answered(ask, windows)


def answered(ask: Ask, windows: Sequence[np.ndarray]) -> np.ndarray:
    """The mean answer to the windows of every recording."""
    owner = np.repeat(np.arange(len(windows)), [len(cut) for cut in windows])
    return per_recording(ask(np.concatenate(windows)), [str(i) for i in owner])


def through_law(known: Known, draws: Sequence[Draw], *, about: bool) -> np.ndarray:
    """The steady law's answers, its levels (and with `about` its expectations) set by the references."""
    guesses = []
    for draw in draws:
        told = informed(known.law, known.sd * known.references[draw.references], draw.labels, about=about)
        guesses.append(told.shares(known.sd * known.level(draw.test)[None]))
    return np.concatenate(guesses)


def added(peer: str, known: Known, draws: Sequence[Draw], *, weight: int = 5) -> np.ndarray:
    """A classical peer on mean levels, fitted anew with the references among its training recordings, each so often."""
    K = known.shares.shape[1]
    guesses = []
    for draw in draws:
        levels = np.concatenate([known.levels, np.repeat(known.references[draw.references], weight, axis=0)])
        shares = np.concatenate([known.shares, np.repeat(draw.labels, weight, axis=0)])
        names = tuple(map(str, range(len(levels))))
        samples = Samples(levels[:, None], shares, names, names)
        guesses.append(PEERS[peer].fit(samples, Task.RATIOS).predict(known.level(draw.test)[None, None]))
    return np.concatenate(guesses).reshape(len(draws), K)


def of_labels(draws: Sequence[Draw]) -> np.ndarray:
    """The null: the mean of what the references hold, whatever the sensors say."""
    return np.stack([draw.labels.mean(axis=0) for draw in draws])
