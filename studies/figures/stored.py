"""What figures are drawn from and what is written under them: stored predictions and captions."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from studies.figures.failures import Correlation, error_of
from studies.harness.predictions import OWN, TRUTH, ModelAnswers
from unmixnet.errors import ConfigError

__all__ = ["OURS", "AnswerTable", "Caption", "plain", "rounded", "table_of"]


@dataclass(frozen=True)
class Caption:
    """The words of a figure.

    Arguments:
        title: one line.
        shows: what is measured, and on how many recordings.
        change: what would change the claim.
    """

    title: str
    shows: str
    change: str

    def to_json(self) -> dict[str, str]:
        """Plain values."""
        return asdict(self)


_DIGITS = 5


def plain(correlation: Correlation) -> dict[str, Any]:
    """Its values; None for what is not known."""
    return {key: value if np.isfinite(value) else None for key, value in asdict(correlation).items()}


def rounded(array: np.ndarray) -> list[Any]:
    """Plain numbers of a few digits; None for what is not known."""
    wide = np.round(np.asarray(array, float), _DIGITS)
    values = wide.astype(object)
    values[~np.isfinite(wide)] = None
    return values.tolist()


OURS = ("unmixnet", "unmixnet, steady state")
_NO_PEERS = (*OWN, "chance", "mean", "direct inverse")
"""Ours, controls, and the inverse through UnMixNet's own solver."""


@dataclass(frozen=True, eq=False)
class AnswerTable:
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


def table_of(answers: Sequence[ModelAnswers], protocol: str) -> AnswerTable:
    """The answers of a protocol, in the order of its truth."""
    mine = [answer for answer in answers if answer.protocol == protocol]
    truths = [answer for answer in mine if answer.model == TRUTH]
    if not truths or len(mine) == len(truths):
        raise ConfigError(
            f"no answers to {protocol} are stored",
            remedy="Run `python -m studies smellnet` first, or take the stored predictions of a checkout",
        )
    truth, guesses = truths[0], {}
    for answer in mine:
        if answer.model != TRUTH and set(answer.recordings) == set(truth.recordings):
            place = {name: i for i, name in enumerate(answer.recordings)}
            guesses.setdefault(answer.model, []).append(answer.values[[place[name] for name in truth.recordings]])
    stacked = {name: np.asarray(values, float) for name, values in guesses.items()}
    return AnswerTable(protocol, truth.recordings, truth.supports, np.asarray(truth.values, float), stacked)
