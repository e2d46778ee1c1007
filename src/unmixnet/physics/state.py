"""What a rollout carries from step to step, what it is given, and how it ends."""

from enum import IntEnum

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from unmixnet.physics.adsorption import Surface
from unmixnet.physics.advection import Scores, Velocities
from unmixnet.physics.conditions import Conditions, air_concentration
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.maxwell_stefan import MaxwellStefan
from unmixnet.physics.readout import Logarithmic, MonotoneSpline, Readout, Sips, target
from unmixnet.physics.source import Constant, RiseDecay, Source, Tabulated

__all__ = ["Process", "Reservoirs", "Schedule", "State", "Status", "clean_air"]


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
}


class Reservoirs(eqx.Module):
    """Moles of each species that have crossed the gas phase's borders since the start [mol]."""

    source: Float[Array, " S"]
    """Brought by the source."""
    inlet: Float[Array, " S"]
    """Brought by inlets."""
    boundary: Float[Array, " S"]
    """Brought by cells of fixed composition (net)."""
    outlet: Float[Array, " S"]
    """Carried away through outlets."""
    wall: Float[Array, " S"]
    """Lost to walls."""


class State(eqx.Module):
    """Everything that a step changes."""

    N: Float[Array, "V S"]
    """Moles per cell and species; species 0 is the carrier [mol]."""
    theta: Float[Array, "M S"]
    """Coverage per sensor; entry 0 is the empty site."""
    y: Float[Array, " M"]
    """Readout, in the units of the sensors."""
    reservoirs: Reservoirs
    t: Float[Array, ""]
    """Time [s]."""


class Schedule(eqx.Module):
    """A composition in time, piecewise linear through its knots and constant beyond them."""

    times: Float[Array, " n"]
    values: Float[Array, "n V S"]

    def at(self, t: Float[Array, ""]) -> Float[Array, "V S"]:
        """Value at time t."""
        if self.times.shape[0] == 1:
            return self.values[0]
        k = jnp.clip(jnp.searchsorted(self.times, t, side="right") - 1, 0, self.times.shape[0] - 2)
        part = jnp.clip((t - self.times[k]) / (self.times[k + 1] - self.times[k]), 0, 1)
        return (1 - part) * self.values[k] + part * self.values[k + 1]


class Process(eqx.Module):
    """The coefficients of one sample: networks or tables set them, the operators only use them."""

    source: Source
    flow: Velocities | Scores
    diffusion: MaxwellStefan
    wall: Float[Array, "V S"] | None
    """Wall loss rate κ [1/s], or none."""
    surface: Surface
    readout: Readout
    conditions: Conditions
    inlet: Schedule | None = None
    """Composition of the gas that the inlets bring."""
    boundary: Schedule | None = None
    """Composition of the cells that are held fixed."""


def clean_air(process: Process, geometry: Geometry) -> State:
    """Every cell full of carrier, surfaces empty, sensors at their baseline."""
    S, M = process.diffusion.D.shape[-1], geometry.sensor_cell.shape[0]
    dtype = geometry.volume.dtype
    N = (
        jnp.zeros((geometry.volume.shape[0], S), dtype)
        .at[:, 0]
        .set(geometry.volume * air_concentration(process.conditions))
    )
    theta = jnp.zeros((M, S), dtype).at[:, 0].set(1)
    zero = jnp.zeros(S, dtype)
    y = target(theta, process.readout, process.conditions)
    return State(N, theta, y, Reservoirs(zero, zero, zero, zero, zero), jnp.zeros((), dtype))


def verdicts(process: Process, state: State, dt: Float[Array, ""]) -> dict[str, Array]:
    """Whether each part of a problem is possible, before its first step."""
    source, flow, law, surface, readout = (
        process.source,
        process.flow,
        process.diffusion,
        process.surface,
        process.readout,
    )
    off = ~jnp.eye(law.D.shape[-1], dtype=bool)
    D = jnp.where(off, law.D, 1)
    asymmetry = jnp.abs(D - jnp.swapaxes(D, -1, -2))
    openings = (flow.inlet_flow, flow.outlet_flow) if isinstance(flow, Velocities) else (flow.inlet_flow, flow.rate)
    return {
        "dt": _finite(dt) & _positive(dt),
        "state": _not_negative((state.N, state.theta))
        & _finite(state)
        & jnp.all(jnp.abs(jnp.sum(state.theta, axis=1) - 1) < 1e-3),
        "cells": jnp.all(jnp.sum(state.N, axis=1) > 0),
        "source": _finite(source)
        & _not_negative((source.amount, source.p_src))
        & (jnp.abs(jnp.sum(source.p_src) - 1) < 1e-3)
        & _profile(source.profile),
        "flow": _finite(openings)
        & _not_negative(openings)
        & (_finite(flow) if isinstance(flow, Velocities) else jnp.all(_flat(flow) < jnp.inf)),
        "diffusion": _finite((D, law.scale, law.prior, law.omega))
        & _positive((D, law.scale))
        & jnp.all(asymmetry <= 1e-5 * D)
        & _not_negative(law.omega),
        "wall": _finite(process.wall) & _not_negative(process.wall),
        "surface": _finite(surface) & _not_negative(surface),
        "readout": _finite(readout)
        & _positive((readout.tau_rise, readout.tau_recovery))
        & _not_negative((readout.beta, readout.gain, readout.g))
        & _transduction(readout.g),
        "inlet": _schedule(process.inlet),
        "boundary": _schedule(process.boundary),
        "conditions": _finite(process.conditions)
        & _positive((process.conditions.temperature, process.conditions.pressure))
        & (process.conditions.humidity >= 0),
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
    "conditions": Status.BAD_CONDITIONS,
}


def check(verdict: dict[str, Array]) -> Array:
    """Status code of a problem before its first step: OK, or the operator whose coefficients are impossible."""
    codes = [jnp.where(possible, 0, int(_BLAMED[part])) for part, possible in verdict.items()]
    return jnp.max(jnp.stack(codes)).astype(jnp.int32)


def _flat(tree: object) -> Array:
    leaves = [jnp.ravel(leaf) for leaf in jax.tree.leaves(tree) if eqx.is_inexact_array(leaf)]
    return jnp.concatenate(leaves) if leaves else jnp.ones(1)


def _profile(profile: RiseDecay | Constant | Tabulated) -> Array:
    if isinstance(profile, RiseDecay):
        return _positive(profile)
    return _increasing(profile.times) & _not_negative(profile.rates) if isinstance(profile, Tabulated) else _finite(())


def _transduction(g: object) -> Array:
    """What has to be positive, not merely not negative, for g to have a value and a slope."""
    if isinstance(g, MonotoneSpline):
        return _increasing(g.knots)
    return _positive(g) if isinstance(g, Logarithmic | Sips) else _finite(())


def _schedule(schedule: Schedule | None) -> Array:
    return _finite(schedule) & (schedule is None or _increasing(schedule.times) & _not_negative(schedule.values))


def _increasing(times: Float[Array, " n"]) -> Array:
    return jnp.all(times[1:] > times[:-1])


def _finite(tree: object) -> Array:
    """Finite, with room to be squared: a derivative of 1/D is 1/D²."""
    flat = _flat(tree)
    return jnp.all(jnp.abs(flat) <= jnp.sqrt(jnp.finfo(flat.dtype).max))


def _not_negative(tree: object) -> Array:
    return jnp.all(_flat(tree) >= 0)


def _positive(tree: object) -> Array:
    flat = _flat(tree)
    return jnp.all(flat >= jnp.sqrt(jnp.finfo(flat.dtype).tiny))
