"""Recordings as the calibration sees them: signal at the solver's steps, recipe, session, and which substances act."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.training.examples import Examples

__all__ = ["Recordings", "fingerprints_of"]


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
        told: Sequence[str | None],
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
        mine = [session or "" for session in told]
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
        """Substances that a solver has to carry at once."""
        return max(self.most, int(np.max(np.sum(self.ratios > 0, axis=1), initial=1)))

    def active(self) -> tuple[np.ndarray, np.ndarray]:
        """The substances that act, (n, A), and their shares; the rest of a row is filled with absent substances."""
        order = np.argsort(-self.ratios, axis=1, kind="stable")[:, : self.largest]
        return order, np.take_along_axis(self.ratios, order, axis=1)


def fingerprints_of(recordings: Recordings) -> Recordings:
    """H_i: the median over recordings of pure i at dose one, for every substance that was recorded so."""
    pure = recordings[recordings.pure & (np.abs(recordings.ratios.sum(axis=1) - 1) < 1e-6)]
    which = np.argmax(pure.ratios, axis=1)
    found = np.unique(which)
    H = np.array([np.median(pure.Y[which == i], axis=0) for i in found]).reshape(-1, *recordings.Y.shape[1:])
    ratios = np.eye(recordings.ratios.shape[1])[found]
    none, names = np.full(len(found), -1), tuple(f"pure {i}" for i in found)
    return Recordings(H, ratios, none, recordings.sessions, names, recordings.largest)
