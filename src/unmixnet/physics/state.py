"""What a rollout carries from step to step, what it is given, and how it ends."""

from collections.abc import Callable
from enum import IntEnum
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from unmixnet.physics.adsorption import Surface
from unmixnet.physics.advection import Scores, Velocities
from unmixnet.physics.conditions import Conditions, air_concentration
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.maxwell_stefan import MaxwellStefan
from unmixnet.physics.reaction import Reaction
from unmixnet.physics.readout import Logarithmic, MonotoneSpline, Readout, Sips, target
from unmixnet.physics.source import RiseDecay, Source, Tabulated

__all__ = ["Process", "Reservoirs", "Schedule", "State", "Status", "clean_air", "with_samples", "without_samples"]


class Status(IntEnum):
    """How a sample ended. Values up to LIMITED are usable results; the others hold the last good state."""

    OK = 0
    LIMITED = 1
    EMPTY_CELL = 2
    BAD_STEP = 3
    BAD_STATE = 4
    BAD_SOURCE = 5
    BAD_ADVECTION = 6
    BAD_DIFFUSION = 7
    BAD_ADSORPTION = 8
    BAD_READOUT = 9
    DIVERGED = 10
    BAD_OPENING = 11
    BAD_CONDITIONS = 12
    TOO_MANY_STEPS = 13
    TOO_COARSE = 14
    BAD_REACTION = 15

    @property
    def text(self) -> str:
        """What happened and what to change."""
        return _TEXTS[self]


_TEXTS = {
    Status.OK: "solved",
    Status.LIMITED: "solved, but a step that would take more moles from a cell than it holds was limited; shorten dt_s",
    Status.EMPTY_CELL: "a cell holds no gas; give every cell a positive pressure or an inlet",
    Status.BAD_STEP: "the step length is not a positive finite number; set dt_s to a fraction of the sensor lag",
    Status.BAD_STATE: "the initial state is negative, not finite, or off the simplex; start from clean_air",
    Status.BAD_SOURCE: "the source is negative or not finite; check amounts, time constants and that p_src sums to 1",
    Status.BAD_ADVECTION: "a velocity, flow or score is not finite, or an opening's flow is negative; check the flow",
    Status.BAD_DIFFUSION: "D is not symmetric, positive and finite; build it with fuller_diffusivity",
    Status.BAD_ADSORPTION: "an adsorption rate, desorption rate or site count is negative or not finite",
    Status.BAD_READOUT: "a lag is not positive, or a transduction parameter is negative or not finite",
    Status.DIVERGED: "a state left the finite numbers; shorten dt_s",
    Status.BAD_OPENING: "an inlet or boundary composition is negative or not finite, or its times do not increase",
    Status.BAD_CONDITIONS: "temperature and pressure must be positive and humidity not negative; check the conditions",
    Status.TOO_MANY_STEPS: "the steps that were allowed did not suffice; use a larger tolerance or a shorter time",
    Status.TOO_COARSE: "the step is over ten thousand times too long for the smallest cell; shorten dt_s",
    Status.BAD_REACTION: "a coefficient of a reaction is not finite; check the reaction",
}


class Reservoirs(eqx.Module):
    """Moles of each species that have crossed the gas phase's borders since the start [mol]."""

    source: Float[Array, "S *B"]
    """Brought by the source."""
    inlet: Float[Array, "S *B"]
    """Brought by inlets."""
    boundary: Float[Array, "S *B"]
    """Brought by cells of fixed composition (net)."""
    outlet: Float[Array, "S *B"]
    """Carried away through outlets."""
    wall: Float[Array, "S *B"]
    """Lost to walls."""
    reaction: Float[Array, "S *B"]
    """Made by reactions (net)."""


class State(eqx.Module):
    """Everything that a step changes."""

    N: Float[Array, "S V *B"]
    """Moles per species and cell; species 0 is the carrier [mol]."""
    theta: Float[Array, "S M *B"]
    """Coverage per sensor; entry 0 is the empty site."""
    y: Float[Array, "M *B"]
    """Readout, in the units of the sensors."""
    reservoirs: Reservoirs
    t: Float[Array, ""]
    """Time [s], the same for all samples."""


class Schedule(eqx.Module):
    """A composition in time, piecewise linear through its knots and constant beyond them."""

    times: Float[Array, " n"]
    """The same for all samples."""
    values: Float[Array, "n S V *#b"]

    def at(self, t: Float[Array, ""]) -> Float[Array, "S V *#b"]:
        """Value at time t."""
        if self.times.shape[0] == 1:
            return self.values[0]
        k = jnp.clip(jnp.searchsorted(self.times, t, side="right") - 1, 0, self.times.shape[0] - 2)
        part = jnp.clip((t - self.times[k]) / (self.times[k + 1] - self.times[k]), 0, 1)
        return (1 - part) * self.values[k] + part * self.values[k + 1]

    def mean(self, t: Float[Array, ""], dt: Float[Array, ""]) -> Float[Array, "S V *#b"]:
        """Mean over [t, t + Δt]: exact for a line, and of second order where a knot lies inside (Simpson's rule)."""
        if self.times.shape[0] == 1:
            return self.values[0]
        return (self.at(t) + 4 * self.at(t + 0.5 * dt) + self.at(t + dt)) / 6


class Process(eqx.Module):
    """The coefficients of one sample or of a batch: networks or tables set them, the operators only use them.

    For a batch every floating-point array has a last axis of samples, of length one where they share it; only D, if
    all edges and samples share it, and the times of schedules have none (`with_samples`).
    """

    source: Source
    flow: Velocities | Scores
    diffusion: MaxwellStefan
    wall: Float[Array, "S V *#b"] | None
    """Wall loss rate κ [1/s], or none."""
    surface: Surface | Any
    """Or another law of adsorption with the members of `Surface`."""
    readout: Readout
    conditions: Conditions
    inlet: Schedule | None = None
    """Composition of the gas that the inlets bring."""
    boundary: Schedule | None = None
    """Composition of the cells that are held fixed."""
    reaction: Reaction | None = None
    """What happens among the odorants in the gas."""


def clean_air(process: Process, geometry: Geometry) -> State:
    """Every cell full of carrier, surfaces empty, sensors at their baseline."""
    S, M = process.diffusion.D.shape[0], geometry.sensor_cell.shape[0]
    air = geometry.volume * air_concentration(process.conditions)
    samples = air.shape[1:]
    N = jnp.zeros((S, *air.shape), geometry.volume.dtype).at[0].set(air)
    theta = jnp.zeros((S, M, *samples), N.dtype).at[0].set(1)
    zero = jnp.zeros((S, *samples), N.dtype)
    y = target(theta, process.readout, process.conditions)
    return State(N, theta, y, Reservoirs(*[zero] * 6), jnp.zeros((), N.dtype))


Tree = TypeVar("Tree")


def with_samples(tree: Tree) -> Tree:
    """Add a last axis of one sample to every floating-point array that has one in a batch."""
    return _per_sample(tree, lambda leaf: leaf[..., None])


def without_samples(tree: Tree) -> Tree:
    """Remove the last axis of what holds one sample."""
    return _per_sample(tree, lambda leaf: leaf[..., 0])


def samples(tree: object) -> int:
    """How many samples a batch has: the longest last axis of its arrays."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    own = [leaf for path, leaf in leaves if eqx.is_inexact_array(leaf) and not is_shared(path, leaf)]
    return max((leaf.shape[-1] for leaf in own), default=1)


def _per_sample(tree, change):
    """Apply a change to the arrays that have an axis of samples."""
    counts = (jnp.floating, jnp.bool_)

    def changed(path, leaf):
        if not eqx.is_array(leaf) or is_shared(path, leaf) or not any(jnp.issubdtype(leaf.dtype, k) for k in counts):
            return leaf
        return change(leaf)

    return jax.tree_util.tree_map_with_path(changed, tree)


def is_shared(path: tuple, leaf: Array) -> bool:
    """Whether all samples have an array in common by its meaning: times, knots, and a matrix D of all edges."""
    name = getattr(path[-1], "name", None) if path else None
    return name in ("t", "times", "knots") or (name == "D" and leaf.ndim == 2)


def verdicts(process: Process, state: State, dt: Float[Array, ""]) -> dict[str, Bool[Array, "*#B"]]:
    """Whether each part of a problem is possible before its first step, for every sample of a batch."""
    source, flow, law, readout = process.source, process.flow, process.diffusion, process.readout
    S = law.D.shape[0]
    off = ~jnp.eye(S, dtype=bool).reshape(S, S, *(1,) * (law.D.ndim - 2))
    D = jnp.where(off, law.D, 1)
    possible = (D >= _smallest(D.dtype)) & (D <= _largest(D.dtype)) & (jnp.abs(D - jnp.swapaxes(D, 0, 1)) <= 1e-5 * D)
    openings = (flow.inlet_flow, flow.outlet_flow) if isinstance(flow, Velocities) else (flow.inlet_flow, flow.rate)
    conditions = process.conditions
    return {
        "dt": jnp.atleast_1d((jnp.abs(dt) <= _largest(dt.dtype)) & (dt >= _smallest(dt.dtype))),
        "state": _not_negative((state.N, state.theta))
        & _finite(state)
        & jnp.all(jnp.abs(jnp.sum(state.theta, axis=0) - 1) < 1e-3, axis=0),
        "cells": jnp.all(jnp.sum(state.N, axis=0) > 0, axis=0),
        "source": _finite(source)
        & _not_negative((source.amount, source.p_src))
        & (jnp.abs(jnp.sum(source.p_src, axis=0) - 1) < 1e-3)
        & _profile(source.profile),
        "flow": _finite(openings)
        & _not_negative(openings)
        & (_finite(flow) if isinstance(flow, Velocities) else _every(flow, lambda leaf: leaf < jnp.inf)),
        "diffusion": jnp.all(possible, axis=tuple(range(2 if D.ndim == 2 else D.ndim - 1)))
        & _finite((law.scale, law.prior, law.omega))
        & _positive(law.scale)
        & _not_negative(law.omega),
        "wall": _finite(process.wall) & _not_negative(process.wall),
        "surface": _finite(process.surface) & _not_negative(process.surface),
        "readout": _finite(readout)
        & _positive((readout.tau_rise, readout.tau_recovery))
        & _not_negative((readout.beta, readout.gain, readout.g))
        & _transduction(readout.g),
        "inlet": _schedule(process.inlet),
        "boundary": _schedule(process.boundary),
        "reaction": _finite(process.reaction),
        "conditions": _finite(conditions)
        & _positive((conditions.temperature, conditions.pressure, conditions.air))
        & (conditions.humidity >= 0),
    }


_BLAMED = {
    "dt": Status.BAD_STEP,
    "state": Status.BAD_STATE,
    "cells": Status.EMPTY_CELL,
    "source": Status.BAD_SOURCE,
    "flow": Status.BAD_ADVECTION,
    "diffusion": Status.BAD_DIFFUSION,
    "wall": Status.BAD_DIFFUSION,
    "surface": Status.BAD_ADSORPTION,
    "readout": Status.BAD_READOUT,
    "inlet": Status.BAD_OPENING,
    "boundary": Status.BAD_OPENING,
    "reaction": Status.BAD_REACTION,
    "conditions": Status.BAD_CONDITIONS,
}


def check(verdict: dict[str, Bool[Array, "*#B"]]) -> Int[Array, "*#B"]:
    """Status codes of a problem before its first step: OK, or the operator whose coefficients are impossible."""
    code = jnp.zeros((), jnp.int32)
    for part, possible in verdict.items():
        code = jnp.maximum(code, jnp.where(possible, 0, int(_BLAMED[part])))
    return code.astype(jnp.int32)


def _every(tree: object, holds: Callable[[Array], Array]) -> Bool[Array, "*B"]:
    """Whether a predicate holds for every number of each sample; the last axis is that of samples."""
    verdict = jnp.ones(1, bool)
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        if eqx.is_inexact_array(leaf) or (eqx.is_array(leaf) and leaf.dtype == bool):
            axes = tuple(range(leaf.ndim if is_shared(path, leaf) else leaf.ndim - 1))
            verdict = verdict & jnp.all(holds(leaf), axis=axes)
    return verdict


def _profile(profile: object) -> Bool[Array, "*B"]:
    if isinstance(profile, RiseDecay):
        return _positive(profile)
    return _increasing(profile.times) & _not_negative(profile.rates) if isinstance(profile, Tabulated) else _finite(())


def _transduction(g: object) -> Bool[Array, "*B"]:
    """What has to be positive, not merely not negative, for g to have a value and a slope."""
    if isinstance(g, MonotoneSpline):
        return _increasing(g.knots)
    return _positive(g) if isinstance(g, Logarithmic | Sips) else _finite(())


def _schedule(schedule: Schedule | None) -> Bool[Array, "*B"]:
    return _finite(schedule) & (schedule is None or _increasing(schedule.times) & _not_negative(schedule.values))


def _increasing(times: Float[Array, " n"]) -> Bool[Array, ""]:
    return jnp.all(times[1:] > times[:-1])


def _largest(dtype) -> Array:
    """Finite, with room to be squared: a derivative of 1/D is 1/D²."""
    return jnp.sqrt(jnp.finfo(dtype).max)


def _smallest(dtype) -> Array:
    return jnp.sqrt(jnp.finfo(dtype).tiny)


def _finite(tree: object) -> Bool[Array, "*B"]:
    return _every(tree, lambda leaf: jnp.abs(leaf) <= _largest(leaf.dtype))


def _not_negative(tree: object) -> Bool[Array, "*B"]:
    return _every(tree, lambda leaf: leaf >= 0)


def _positive(tree: object) -> Bool[Array, "*B"]:
    return _every(tree, lambda leaf: leaf >= _smallest(leaf.dtype))
