"""Stored predictions, as the figures need them: truth, answers of some models, and the best peer of a table."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from studies.figures.failures import error_of
from studies.harness.pairs import OWN
from studies.harness.predictions import TRUTH, Answers
from unmixnet.errors import ConfigError

__all__ = ["OURS", "Table", "table_of"]

OURS = ("unmixnet", "unmixnet, steady state")
_NO_PEERS = (*OWN, "chance", "mean", "direct inverse")
"""Ours, controls, and the inverse through UnMixNet's own solver."""


@dataclass(frozen=True, eq=False)
class Table:
    """Answers to the recordings of one protocol, per recording.

    Arguments:
        recordings, supports: n names.
        truth: shares, shape (n, K).
        guesses: by model, shape (seeds, n, K).
    """

    protocol: str
    recordings: tuple[str, ...]
    supports: tuple[str, ...]
    truth: np.ndarray
    guesses: dict[str, np.ndarray]

    def error(self, model: str) -> np.ndarray:
        """Mean |â − a| of each recording, mean over seeds."""
        return np.mean([error_of(guess, self.truth) for guess in self.guesses[model]], axis=0)

    @property
    def best_peer(self) -> str:
        """The peer with the smallest mean error on these very recordings: the choice favours the peer."""
        peers = [name for name in self.guesses if name not in _NO_PEERS]
        return min(peers, key=lambda name: float(self.error(name).mean()))

    @property
    def compared(self) -> tuple[str, ...]:
        """Ours, as far as they were run, and the best peer."""
        return (*(name for name in OURS if name in self.guesses), self.best_peer)

    def flat(self, model: str) -> tuple[np.ndarray, np.ndarray]:
        """Answers of all seeds below each other, and the truth beside them."""
        guess = self.guesses[model]
        return guess.reshape(-1, guess.shape[2]), np.tile(self.truth, (len(guess), 1))


def table_of(answers: Sequence[Answers], protocol: str) -> Table:
    """The answers of a protocol, in the order of its truth."""
    mine = [one for one in answers if one.protocol == protocol]
    truths = [one for one in mine if one.model == TRUTH]
    if not truths or len(mine) == len(truths):
        raise ConfigError(
            f"no answers to {protocol} are stored",
            remedy="Run `python -m studies smellnet` first, or take the stored predictions of a checkout",
        )
    truth, guesses = truths[0], {}
    for one in mine:
        if one.model != TRUTH and set(one.recordings) == set(truth.recordings):
            place = {name: i for i, name in enumerate(one.recordings)}
            guesses.setdefault(one.model, []).append(one.values[[place[name] for name in truth.recordings]])
    stacked = {name: np.asarray(values, float) for name, values in guesses.items()}
    return Table(protocol, truth.recordings, truth.supports, np.asarray(truth.values, float), stacked)
