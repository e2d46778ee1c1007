"""Labelled references from the session of a test recording: k of other recipes, drawn at random, and their uses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from studies.peers.models import PEERS
from studies.peers.steady import SteadyPosterior, informed
from unmixnet.errors import ConfigError
from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.session.calibration import AffineMap
from unmixnet.inference.session.fit import priors_of
from unmixnet.inference.session.maps import fit_gain, fit_offset, fit_prototype, fit_ridge, fit_solver_gain
from unmixnet.inference.session.references import Reference, expected_traces, traces_of
from unmixnet.recordings.pieces import Piece
from unmixnet.recordings.recording import Recording
from unmixnet.recordings.samples import Samples, Task, per_recording

__all__ = [
    "MAPS",
    "Draw",
    "KnownSessions",
    "Predictor",
    "SolverMaps",
    "added",
    "drawn",
    "mapped",
    "of_labels",
    "through_law",
]


@dataclass(frozen=True, eq=False)
class Draw:
    """References of one test recording.

    Arguments:
        test: index of the recording under test.
        references: indices among the recordings that may be references.
        labels: their labels, (k, K): their own shares, or in the control those of others.
    """

    test: int
    references: np.ndarray
    labels: np.ndarray


def drawn(
    tests: Sequence[Piece],
    pool: Sequence[Piece],
    shares: np.ndarray,
    k: int,
    *,
    seed: int,
    wrong: np.ndarray | None = None,
) -> list[Draw]:
    """One draw for every test: recordings of its session whose recipe is another; fewer where there are no k.

    Arguments:
        shares: of the pool, (n, K).
        wrong: shares to draw labels from in place of the true ones, for the control.
    """
    rng = np.random.default_rng([seed, k])
    sessions = np.array([piece.session for piece in pool])
    recipes = np.array([_recipe(piece) for piece in pool])
    draws = []
    for i, piece in enumerate(tests):
        free = np.flatnonzero((sessions == piece.session) & (recipes != _recipe(piece)))
        if not len(free):
            raise ConfigError(
                "no other recipe was recorded in the session of this recording",
                where=piece.path,
                remedy="Leave such recordings out",
            )
        chosen = rng.choice(free, min(k, len(free)), replace=False)
        labels = shares[chosen] if wrong is None else wrong[rng.integers(len(wrong), size=len(chosen))]
        draws.append(Draw(i, chosen, labels))
    return draws


def _recipe(piece: Piece) -> str:
    assert piece.label is not None, "recordings of a study have labels"
    pairs = sorted(zip(piece.label.names, np.round(piece.label.ratios, 3), strict=True))
    return " ".join(f"{name}:{share:g}" for name, share in pairs)


MAPS: dict[str, Callable[[np.ndarray, np.ndarray], AffineMap]] = {
    "offset": fit_offset,
    "prototype shift": fit_prototype,
    "shrunken gain": fit_gain,
    "ridge to identity": fit_ridge,
}
Predictor = Callable[[np.ndarray], np.ndarray]
"""A model: windows (n, T, M) to shares (n, K)."""


@dataclass(frozen=True, eq=False)
class KnownSessions:
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


def mapped(predict: Predictor, known: KnownSessions, draws: Sequence[Draw], method: str) -> np.ndarray:
    """Shares of every test, its signal mapped onto the training sessions; `none` leaves it as it is."""
    windows = [known.tests[draw.test] for draw in draws]
    if method != "none":
        maps = [MAPS[method](known.references[draw.references], known.master(draw.labels)) for draw in draws]
        windows = [map_.apply(cut) for map_, cut in zip(maps, windows, strict=True)]
    return answered(predict, windows)


def answered(predict: Predictor, windows: Sequence[np.ndarray]) -> np.ndarray:
    """The mean answer to the windows of every recording."""
    owner = np.repeat(np.arange(len(windows)), [len(cut) for cut in windows])
    return per_recording(predict(np.concatenate(windows)), [str(i) for i in owner])


def through_law(known: KnownSessions, draws: Sequence[Draw], *, about: bool) -> np.ndarray:
    """The steady law's answers, its levels (and with `about` its expectations) set by the references."""
    guesses = []
    for draw in draws:
        law = informed(known.law, known.sd * known.references[draw.references], draw.labels, about=about)
        guesses.append(law.shares(known.sd * known.level(draw.test)[None]))
    return np.concatenate(guesses)


def added(peer: str, known: KnownSessions, draws: Sequence[Draw], *, weight: int = 5) -> np.ndarray:
    """A classical peer on mean levels, refitted with the references in its training set, each `weight` times."""
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
    """The null: the mean label of the references, without any sensor reading."""
    return np.stack([draw.labels.mean(axis=0) for draw in draws])


@dataclass(frozen=True, eq=False)
class SolverMaps:
    """Traces that the physics of a bundle gives for every label of a reference.

    Arguments:
        seen: first window of every possible reference at the ends of the solver's steps, (p, steps, M).
        expected: traces for each label, by its rounded shares.
    """

    bundle: Bundle
    seen: np.ndarray
    expected: dict[bytes, np.ndarray]

    @classmethod
    def of(cls, bundle: Bundle, pool: Sequence[Recording], labels: np.ndarray) -> "SolverMaps":
        """Solve every different label (n, K) once."""
        window, stride = bundle.spec.window, bundle.spec.settings.stride
        rows = np.unique(np.round(labels, 6), axis=0)
        traces = traces_of(bundle, pool)
        made = expected_traces(bundle, rows, np.stack([traces[0][:window]] * len(rows)))
        steps = made.shape[2]
        seen = np.stack([trace[stride : steps * stride + 1 : stride] for trace in traces]).astype(float)
        return cls(bundle, seen, {_key(row): expected for row, expected in zip(rows, made, strict=True)})

    def map(self, draw: Draw) -> AffineMap:
        """The session that makes the physics of the labels look like the references."""
        references = []
        for place, label in zip(draw.references, draw.labels, strict=True):
            seen, made = self.seen[place], self.expected[_key(label)]
            references.append(Reference(seen, label, seen, made, seen.mean(axis=0), made.mean(axis=(0, 1))))
        return fit_solver_gain(references, priors_of(self.bundle))


def _key(label: np.ndarray) -> bytes:
    return np.round(label, 6).astype(np.float32).tobytes()
