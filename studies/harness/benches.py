"""How each kind of model is trained and asked: prepared once for a turn, then run for every seed."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import numpy as np
from jaxtyping import PyTree

from studies.harness.folds import Turn
from studies.harness.variants import Classical
from studies.harness.work import Facts, Finished, Guess
from studies.peers.models import PEERS
from unmixnet.model.baselines import count_parameters
from unmixnet.recordings.protocols import Piece, hold_out
from unmixnet.recordings.recall import Recall
from unmixnet.recordings.samples import Task, gather_samples
from unmixnet.training.answers import answers
from unmixnet.training.checkpoint import to_tensors
from unmixnet.training.config import TrainConfig
from unmixnet.training.examples import gather_examples, windows_of
from unmixnet.training.run import Prepared, build_model, prepare, train
from unmixnet.training.trainer import Fit

__all__ = ["JUDGE", "Bench", "ClassicalBench", "NetworkBench", "Tensors", "Tick"]

Tick = Callable[[dict[str, Any]], None]
"""Called after every epoch with what is logged."""


Tensors = dict[str, np.ndarray]
JUDGE = "judge "
"""Before the names of the tensors of the model that knew no validation recording, where it is another."""


class Bench(Protocol):
    """A model on one turn, ready to be run for a seed."""

    def run(self, seed: int, tick: Tick) -> tuple[Finished, Tensors]:
        """Train and test; the weights come along where there are any to keep."""
        ...


class NetworkBench:
    """A network: trained on the turn's recordings but for those of validation, asked for every window of the tests.

    The validation recordings are the same for every seed, so that they can be compared.
    """

    lessons: int | None = None
    """Seed of calibration and schooling, where all trainings share it."""

    def __init__(self, config: TrainConfig, turn: Turn, recall: Recall) -> None:
        self.config, self.turn, self.recall = config, turn, recall
        inner = hold_out(turn.train, share=config.data.validation)
        sessions = [piece.session for piece in inner.train]
        train, held = self._read(inner.train), self._read(inner.test)
        self.recordings = (*train, *held)
        self.prepared: Prepared = prepare(config, train, held, turn.data.components, sessions)

    def model(self, seed: int) -> PyTree:
        """The model before training."""
        p = self.prepared
        with jax.enable_x64(False):
            return build_model(self.config, p.components, p.ready.channels, air=p.air, sign=p.sign, seed=seed)

    def windows(self, pieces: Sequence[Piece]) -> tuple[np.ndarray, np.ndarray]:
        """Windows of recordings as the network sees them, and the index of the recording of each."""
        window, p = self.config.window, self.prepared
        examples = gather_examples(self._read(pieces), p.ready, p.components, self.config.model.rate_Hz, window)
        return windows_of(examples, window, self.config.stride)

    def fit(self, seed: int, tick: Tick) -> Fit:
        """Train with a seed; Ctrl-C is passed on."""
        with jax.enable_x64(False):
            done = train(self.prepared, seed=seed, model=self.model(seed), lessons=self.lessons, watch=tick)
        if done.interrupted:
            raise KeyboardInterrupt
        return done

    def run(self, seed: int, tick: Tick) -> tuple[Finished, Tensors]:
        """Train and test."""
        began = time.monotonic()
        done = self.fit(seed, tick)
        guesses = {}
        for protocol, pieces in self.turn.tests.items():
            cut, owner = self.windows(pieces)
            guesses[protocol] = Guess(answers(done.model, cut), owner)
        facts = Facts(count_parameters(done.model), done.epochs, done.best_epoch, done.score, time.monotonic() - began)
        return Finished(guesses, facts), _weights(done)

    def _read(self, pieces: Sequence[Piece]):
        return [self.recall(self.turn.data, piece) for piece in pieces]


def _weights(done: Fit) -> Tensors:
    own = to_tensors(done.model)
    if done.judge is done.model:
        return own
    return own | {JUDGE + name: tensor for name, tensor in to_tensors(done.judge).items()}


class ClassicalBench:
    """A classical peer: fitted to all training recordings, asked for every window of the tests."""

    def __init__(self, variant: Classical, turn: Turn, recall: Recall, task: Task) -> None:
        self.variant, self.turn, self.task = variant, turn, task
        self._read = lambda pieces: [recall(turn.data, piece) for piece in pieces]
        training = self._read(turn.train)
        self._ready = variant.windows.fit(training)
        self._train = gather_samples(training, self._ready, turn.data.components)

    def run(self, seed: int, tick: Tick) -> tuple[Finished, Tensors]:
        """Fit and test."""
        began = time.monotonic()
        fitted = PEERS[self.variant.peer].fit(self._train, self.task, seed=seed)
        guesses = {}
        for protocol, pieces in self.turn.tests.items():
            samples = gather_samples(self._read(pieces), self._ready, self.turn.data.components)
            place = {piece.path: i for i, piece in enumerate(pieces)}
            owner = np.array([place[name] for name in samples.recordings])
            guesses[protocol] = Guess(fitted.predict(samples.windows), owner)
        return Finished(guesses, Facts(seconds=time.monotonic() - began)), {}
