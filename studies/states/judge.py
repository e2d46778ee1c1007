"""One trained network judged in a world: errors of its states, and how well they obey the laws, for every recording."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import PyTree

from studies.harness.benches import NetworkBench
from studies.states.networks import StateProjection, fit_states, gauged, hidden_states, own_states
from studies.states.physical import PhysicalStates, squared_errors, units
from studies.states.residuals import mass_errors, ms_residuals
from studies.states.worlds import StateWorld
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.recordings.protocols import Piece, hold_out

__all__ = ["MASS", "MS", "PROJECTED", "Verdict", "judge_network", "judge_nulls", "predicted_states"]

MS, MASS = "MS residual", "mass error"
PROJECTED = ", projected"
Verdict = dict[str, dict[str, dict[str, list[float]]]]
"""Reading of a model → protocol → what → one number for each recording: a mean square, or a residual."""


def judge_network(world: StateWorld, bench: NetworkBench, model: PyTree, name: str) -> dict[str, Any]:
    """Verdicts on every test, and the penalties that validation chose.

    A baseline is projected. UnMixNet is read as it is, with one factor per substance, and projected like a baseline.
    """
    verdict: Verdict = {}
    projection = _projection(world, bench, model)
    own = isinstance(model, UnMixNet)
    train = hold_out(world.fold.train, share=bench.config.data.validation).train
    own_train = own_states(bench, model, train).states if own else None
    for protocol, pieces in world.fold.tests.items():
        truth, rows = world.of(pieces), world.rows(pieces)
        readings = {name + PROJECTED if own else name: (projection(_features(bench, model, pieces)), None)}
        if own_train is not None:
            own_test = own_states(bench, model, pieces)
            scaled = gauged(own_test.states, own_train, world.of(train), same_graph=world.same_graph)
            laws = {MS: own_test.ms_residual, MASS: own_test.mass_error}
            readings |= {name: (own_test.states, laws), f"{name}, one factor per substance": (scaled, laws)}
        for reading, (states, laws) in readings.items():
            judged = _errors(world, states, truth, train_states=world.of(train))
            judged |= laws if laws is not None else _laws(world, states, world.shares[rows])
            verdict.setdefault(reading, {})[protocol] = {what: _plain(values) for what, values in judged.items()}
    return {"verdict": verdict, "penalties": {what: part.penalty for what, part in projection.parts.items()}}


def judge_nulls(world: StateWorld, share: float, recipes: dict[str, dict[str, np.ndarray]]) -> Verdict:
    """The mean of the training states, the reference itself, and recipes of other models played by the simulator.

    Arguments:
        share: of the training recordings that validation holds.
        recipes: model → protocol → ratios of its recordings (n, K).
    """
    train = world.of(hold_out(world.fold.train, share=share).train)
    verdict: Verdict = {"mean state": {}, "reference": {}, **{f"{name} + simulator": {} for name in recipes}}
    for protocol, pieces in world.fold.tests.items():
        truth, rows = world.of(pieces), world.rows(pieces)
        guesses = {"mean state": _mean_state(train, len(truth)), "reference": truth}
        guesses |= {f"{name} + simulator": world.implied(shares[protocol]) for name, shares in recipes.items()}
        for name, states in guesses.items():
            judged = _errors(world, states, truth, train_states=train)
            if not name.endswith("simulator"):
                judged |= _laws(world, states, world.shares[rows])
            verdict[name][protocol] = {what: _plain(values) for what, values in judged.items()}
    return verdict


def predicted_states(world: StateWorld, bench: NetworkBench, model: PyTree, pieces: Sequence[Piece]) -> PhysicalStates:
    """States for a picture: UnMixNet's with one factor per substance, a baseline's projected."""
    if not isinstance(model, UnMixNet):
        return _projection(world, bench, model)(_features(bench, model, pieces))
    train = hold_out(world.fold.train, share=bench.config.data.validation).train
    own = own_states(bench, model, pieces).states
    return gauged(own, own_states(bench, model, train).states, world.of(train), same_graph=world.same_graph)


def _projection(world: StateWorld, bench: NetworkBench, model: PyTree) -> StateProjection:
    inner = hold_out(world.fold.train, share=bench.config.data.validation)
    hidden, held = (_features(bench, model, side) for side in (inner.train, inner.test))
    return fit_states(hidden, world.of(inner.train), held, world.of(inner.test))


def _features(bench: NetworkBench, model: PyTree, pieces: Sequence[Piece]) -> np.ndarray:
    if isinstance(model, UnMixNet):
        return own_states(bench, model, pieces).features
    return hidden_states(bench, model, pieces)


def _errors(world: StateWorld, guess: PhysicalStates, truth: PhysicalStates, *, train_states: PhysicalStates):
    unit = units(train_states, same_graph=world.same_graph)
    squares = squared_errors(guess, truth, unit, same_graph=world.same_graph)
    return {f"RMSE {what}": values for what, values in squares.items()}


def _laws(world: StateWorld, states: PhysicalStates, shares: np.ndarray) -> dict[str, np.ndarray]:
    """Nothing where the reference obeys other laws on another graph."""
    if world.laws is None:
        return {}
    return {MS: ms_residuals(states, world.laws, shares), MASS: mass_errors(states, world.laws, shares)}


def _mean_state(train: PhysicalStates, n: int) -> PhysicalStates:
    """The same for every recording, but moving in time."""
    names = ("concentration", "flux", "coverage", "mass")
    means = {name: np.repeat(getattr(train, name).mean(axis=0, keepdims=True), n, axis=0) for name in names}
    return PhysicalStates(**means, sensor_cell=train.sensor_cell)


def _plain(values: Iterable[float]) -> list[float]:
    return [float(value) for value in values]
