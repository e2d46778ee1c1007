"""The steady posterior on a turn: fitted to the mean level of every training recording, asked for that of each test."""

import time
from collections.abc import Sequence

import numpy as np

from studies.harness.benches import Tensors, Tick
from studies.harness.folds import Turn
from studies.harness.variants import Posterior
from studies.harness.work import Facts, Finished, Guess
from studies.steady.posterior import steady_posterior
from unmixnet.recordings.protocols import Piece
from unmixnet.recordings.recall import Recall
from unmixnet.recordings.samples import Samples, gather_samples, per_recording

__all__ = ["SteadyBench"]


class SteadyBench:
    """Sessions of training recordings are told apart; where they are not known, all count as one."""

    def __init__(self, variant: Posterior, turn: Turn, recall: Recall) -> None:
        self.turn = turn
        self._read = lambda pieces: [recall(turn.data, piece) for piece in pieces]
        self._ready = variant.windows.fit(self._read(turn.train))

    def run(self, seed: int, tick: Tick) -> tuple[Finished, Tensors]:
        """Fit and test."""
        began = time.monotonic()
        y, samples = self._levels(self.turn.train)
        session = {piece.path: piece.session or "" for piece in self.turn.train}
        paths = list(dict.fromkeys(samples.recordings))
        numbers = np.unique([session[path] for path in paths], return_inverse=True)[1]
        law = steady_posterior(y, per_recording(samples.targets, samples.recordings), numbers, seed=seed)
        guesses = {}
        for protocol, pieces in self.turn.tests.items():
            level, test = self._levels(pieces)
            place = {piece.path: i for i, piece in enumerate(pieces)}
            owner = np.array([place[path] for path in dict.fromkeys(test.recordings)])
            guesses[protocol] = Guess(law.shares(level), owner)
        facts = Facts(law.law.log_A.size + law.law.log_n.size, seconds=time.monotonic() - began)
        return Finished(guesses, facts), {}

    def _levels(self, pieces: Sequence[Piece]) -> tuple[np.ndarray, Samples]:
        """Mean signal of each recording, (n, M), in the order of first appearance."""
        samples = gather_samples(self._read(pieces), self._ready, self.turn.data.components)
        return per_recording(samples.windows.mean(axis=1), samples.recordings), samples
