"""How each kind of model is trained and tested: prepared once for a fold, then run for every seed."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree

from studies.harness.definitions import StudyFold
from studies.harness.variants import Classical, Posterior
from studies.harness.work import Facts, Finished, Guess, Job, Work
from studies.peers.models import PEERS
from studies.peers.steady import steady_posterior
from studies.peers.windows import gather_samples
from unmixnet.errors import ConfigError
from unmixnet.inference.bundle.storage import from_tensors, to_tensors
from unmixnet.model.baselines import count_parameters
from unmixnet.model.baselines.direct_inverse import InverseSettings, invert_all
from unmixnet.model.baselines.interface import Baseline
from unmixnet.model.predict import window_ratios
from unmixnet.model.release import CONCENTRATION
from unmixnet.model.spec import build_model
from unmixnet.model.unmixnet import UnMixNet, draught
from unmixnet.recordings.pieces import Recall
from unmixnet.recordings.protocols import Piece, hold_out
from unmixnet.recordings.samples import Samples, Task, per_recording
from unmixnet.recordings.simulated import HIGH_COUPLING, TYPICAL_MOL, setting_of
from unmixnet.training.config import TrainConfig
from unmixnet.training.examples import gather_examples, windows_of
from unmixnet.training.run import Prepared, prepare, train
from unmixnet.training.trainer import Fit

__all__ = [
    "JUDGE",
    "Bench",
    "ClassicalBench",
    "ConcentratedBench",
    "InverseBench",
    "NetworkBench",
    "SteadyBench",
    "Tensors",
    "Tick",
    "at_amount",
    "bench_for",
    "trained",
]

Tick = Callable[[dict[str, Any]], None]
"""Called after every epoch with what is logged."""
Tensors = dict[str, np.ndarray]
JUDGE = "judge "
"""Prefix of the tensors of the model trained without validation recordings, where that is a second model."""


class Bench(Protocol):
    """A model on one fold, ready to be run for a seed."""

    def run(self, seed: int, tick: Tick) -> tuple[Finished, Tensors]:
        """Train and test; the weights come along where there are any to keep."""
        ...


class NetworkBench:
    """A network: trained on the fold's recordings except those for validation, tested on every window.

    The validation recordings are the same for every seed, so that they can be compared.
    """

    pretraining_seed: int | None = None
    """Seed of calibration and pretraining, if all trainings share it."""

    def __init__(self, config: TrainConfig, fold: StudyFold, recall: Recall) -> None:
        self.config, self.fold, self.recall = config, fold, recall
        inner = hold_out(fold.train, share=config.data.validation)
        sessions = [piece.session for piece in inner.train]
        train, held = self._read(inner.train), self._read(inner.test)
        self.recordings = (*train, *held)
        self.prepared: Prepared = prepare(config, train, held, fold.data.components, sessions)

    def model(self, seed: int) -> PyTree:
        """The model before training."""
        with jax.enable_x64(False):
            return build_model(self.prepared.spec, seed=seed)

    def windows(self, pieces: Sequence[Piece]) -> tuple[np.ndarray, np.ndarray]:
        """Windows of recordings as the network sees them, and the index of the recording of each."""
        window, p = self.config.window, self.prepared
        examples = gather_examples(self._read(pieces), p.preprocessing, p.components, self.config.model.rate_Hz, window)
        return windows_of(examples, window, self.config.stride)

    def fit(self, seed: int, tick: Tick) -> Fit:
        """Train with a seed; Ctrl-C is passed on."""
        with jax.enable_x64(False):
            done = train(
                self.prepared, seed=seed, model=self.model(seed), pretraining_seed=self.pretraining_seed, watch=tick
            )
        if done.interrupted:
            raise KeyboardInterrupt
        return done

    def run(self, seed: int, tick: Tick) -> tuple[Finished, Tensors]:
        """Train and test."""
        began = time.monotonic()
        done = self.fit(seed, tick)
        guesses = {}
        for protocol, pieces in self.fold.tests.items():
            cut, owner = self.windows(pieces)
            guesses[protocol] = Guess(window_ratios(done.model, cut), owner)
        facts = Facts(count_parameters(done.model), done.epochs, done.best_epoch, done.score, time.monotonic() - began)
        return Finished(guesses, facts), _weights(done)

    def _read(self, pieces: Sequence[Piece]):
        return [self.recall(self.fold.data, piece) for piece in pieces]


def _weights(done: Fit) -> Tensors:
    own = to_tensors(done.model)
    if done.before_refit is done.model:
        return own
    return own | {JUDGE + name: tensor for name, tensor in to_tensors(done.before_refit).items()}


class ClassicalBench:
    """A classical peer: fitted to all training recordings, tested on every window."""

    def __init__(self, variant: Classical, fold: StudyFold, recall: Recall, task: Task) -> None:
        self.variant, self.fold, self.task = variant, fold, task
        self._read = lambda pieces: [recall(fold.data, piece) for piece in pieces]
        training = self._read(fold.train)
        self._ready = variant.windows.fit(training)
        self._train = gather_samples(training, self._ready, fold.data.components)

    def run(self, seed: int, tick: Tick) -> tuple[Finished, Tensors]:
        """Fit and test."""
        began = time.monotonic()
        fitted = PEERS[self.variant.peer].fit(self._train, self.task, seed=seed)
        guesses = {}
        for protocol, pieces in self.fold.tests.items():
            samples = gather_samples(self._read(pieces), self._ready, self.fold.data.components)
            place = {piece.path: i for i, piece in enumerate(pieces)}
            owner = np.array([place[name] for name in samples.recordings])
            guesses[protocol] = Guess(fitted.predict(samples.windows), owner)
        return Finished(guesses, Facts(seconds=time.monotonic() - began)), {}


class SteadyBench:
    """The steady-state posterior, with a level for each training session; one level where sessions are not known."""

    def __init__(self, variant: Posterior, fold: StudyFold, recall: Recall) -> None:
        self.fold = fold
        self._read = lambda pieces: [recall(fold.data, piece) for piece in pieces]
        self._ready = variant.windows.fit(self._read(fold.train))

    def run(self, seed: int, tick: Tick) -> tuple[Finished, Tensors]:
        """Fit and test."""
        began = time.monotonic()
        y, samples = self._levels(self.fold.train)
        session = {piece.path: piece.session or "" for piece in self.fold.train}
        paths = list(dict.fromkeys(samples.recordings))
        numbers = np.unique([session[path] for path in paths], return_inverse=True)[1]
        law = steady_posterior(y, per_recording(samples.targets, samples.recordings), numbers, seed=seed)
        guesses = {}
        for protocol, pieces in self.fold.tests.items():
            level, test = self._levels(pieces)
            place = {piece.path: i for i, piece in enumerate(pieces)}
            owner = np.array([place[path] for path in dict.fromkeys(test.recordings)])
            guesses[protocol] = Guess(law.shares(level), owner)
        facts = Facts(law.law.log_A.size + law.law.log_n.size, seconds=time.monotonic() - began)
        return Finished(guesses, facts), {}

    def _levels(self, pieces: Sequence[Piece]) -> tuple[np.ndarray, Samples]:
        """Mean signal of each recording, (n, M), in the order of first appearance."""
        samples = gather_samples(self._read(pieces), self._ready, self.fold.data.components)
        return per_recording(samples.windows.mean(axis=1), samples.recordings), samples


class InverseBench:
    """Optimises the first window of every test recording.

    Arguments:
        network: the bench of the network whose coefficients are used.
        jobs: the network's job for each seed, in whose place its weights lie.
    """

    def __init__(self, network: NetworkBench, jobs: dict[int, Job], work: Work, settings: InverseSettings) -> None:
        self.network, self.jobs, self.work, self.settings = network, jobs, work, settings

    def run(self, seed: int, tick: Tick) -> tuple[Finished, Tensors]:
        """Invert with the coefficients that this seed gave."""
        model = trained(self.network, self.jobs[seed], self.work)
        began, guesses, steps = time.monotonic(), {}, []
        for protocol, pieces in self.network.fold.tests.items():
            cut, owner = self.network.windows(pieces)
            first = np.unique(owner, return_index=True)[1]
            with jax.enable_x64(False):
                solution = invert_all(model, cut[first], self.settings)
            guesses[protocol] = Guess(np.asarray(solution.a), owner[first])
            steps += np.asarray(solution.steps).tolist()
        facts = Facts(seconds=time.monotonic() - began, iterations=float(np.mean(steps)))
        return Finished(guesses, facts), {}


def trained(network: NetworkBench, job: Job, work: Work, *, judge: bool = False) -> PyTree:
    """The network with the weights that its job kept; with `judge`, those trained without validation recordings."""
    tensors = work.read_weights(job)
    if tensors is None:
        raise ConfigError(
            f"the weights of {job.variant.name}, seed {job.seed}, are not in the work folder",
            where=str(work.folder / job.place),
            remedy=f"Run it before, or with --only '{job.variant.name}'",
        )
    judges = {name.removeprefix(JUDGE): tensor for name, tensor in tensors.items() if name.startswith(JUDGE)}
    own = {name: tensor for name, tensor in tensors.items() if not name.startswith(JUDGE)}
    tensors = judges if judge else own
    with jax.enable_x64(False):
        return from_tensors(tensors, network.model(job.seed), str(job.place))


def bench_for(fold: StudyFold) -> type[NetworkBench]:
    """The bench of a fold's networks."""
    return ConcentratedBench if fold.data.name == HIGH_COUPLING.name else NetworkBench


def at_amount(model: UnMixNet, moles: float, seconds: float) -> UnMixNet:
    """The model with a release of `moles` in so many seconds, and with adsorption slower by what the air then holds.

    Arguments:
        moles: of a substance alone, at strength one.
    """
    released = CONCENTRATION * draught(model.chamber) * seconds
    held = moles / float(np.sum(model.chamber.volume_m3))
    more, less = np.log(moles / released), np.log(held / CONCENTRATION)
    release, kinetics = model.release.coefficients, model.kinetics.pairs.W
    assert release.bias is not None and kinetics.bias is not None
    return eqx.tree_at(
        lambda m: (m.release.coefficients.bias, m.kinetics.pairs.W.bias),
        model,
        (release.bias.at[0].add(more), kinetics.bias.at[0].add(-less)),
    )


class ConcentratedBench(NetworkBench):
    """As every network, from a start at high concentrations."""

    pretraining_seed = 0

    def model(self, seed: int) -> PyTree:
        """The model before training."""
        drawn = super().model(seed)
        if isinstance(drawn, Baseline):
            return drawn
        config = self.config
        seconds = config.model.step_s * ((config.window - 1) // config.settings.stride)
        placed = dataclasses.replace(drawn, chamber=setting_of(self.fold.data).chamber)
        return at_amount(placed, TYPICAL_MOL, seconds)
