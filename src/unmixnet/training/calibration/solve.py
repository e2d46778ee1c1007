"""Recordings of given mixtures by a frozen process: batches of one size, so that a shape compiles once."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from unmixnet.errors import SolveError
from unmixnet.model.lifting import lift
from unmixnet.physics.advection import Velocities
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.rollout import Policy, rollout
from unmixnet.physics.source import RiseDecay
from unmixnet.physics.state import Process, Status

__all__ = ["Run", "released", "solve_all", "steady_concentration"]

_BATCH = 32
SAVED = ("N", "J", "theta", "y", "closure")


class Run(eqx.Module):
    """How a process is run: the chamber, the step, and what stands in the chamber at t = 0.

    Arguments:
        exposed: whether a recording starts with the odour present; else in clean air.
    """

    geometry: Geometry
    step_s: Float[Array, ""]
    steps: int = eqx.field(static=True)
    exposed: bool = eqx.field(static=True)
    policy: Policy


def released(process: Process, shares: Float[Array, " K"]) -> Process:
    """The process whose source releases these shares (strength times ratios) of the pure amounts."""
    return eqx.tree_at(lambda p: p.source.amount, process, process.source.amount * shares)


def steady_concentration(process: Process) -> Float[Array, " K"]:
    """q_i / Q [mol/m³]: the release rate over the draught, mean over the recording where the release has an end."""
    profile, flow = process.source.profile, jnp.sum(process.flow.inlet_flow)
    rate = process.source.amount / (profile.t_max if isinstance(profile, RiseDecay) else 1)
    return rate / jnp.where(flow > 0, flow, 1e-6)


def solve_all(
    process: Process, run: Run, shares: np.ndarray, exposure: np.ndarray, first: np.ndarray
) -> dict[str, np.ndarray]:
    """States of every row of `shares`, (n, K): N, J, theta, y by name with leading axes (n, steps), and `start`.

    Where `first`, (n, M), is NaN a sensor starts settled.
    """
    n = len(shares)
    rows = np.arange(-(-n // _BATCH) * _BATCH) % n
    parts = []
    for batch in np.split(rows, len(rows) // _BATCH):
        parts.append(
            _solved(process, run, *(jnp.asarray(part[batch], jnp.float32) for part in (shares, exposure, first)))
        )
    worst = Status(max(int(np.max(np.asarray(part["status"]))) for part in parts))
    if worst > Status.LIMITED:
        raise SolveError(worst.text, where="simulator", remedy="Check the coefficients, or shorten the step")
    return {name: np.concatenate([np.asarray(part[name]) for part in parts])[:n] for name in parts[0]}


@eqx.filter_jit
def _solved(process: Process, run: Run, shares: Array, exposure: Array, first: Array) -> dict[str, Any]:
    return jax.vmap(partial(_one, process, run))(shares, exposure, first)


def _one(process: Process, run: Run, shares: Array, exposure: Array, first: Array) -> dict[str, Any]:
    this = released(process, shares)
    start = lift(this, run.geometry, None, exposure * steady_concentration(this) if run.exposed else None)
    start = eqx.tree_at(lambda s: s.y, start, jnp.where(jnp.isnan(first), start.y, first))
    done = rollout(this, run.geometry, start, run.step_s, run.steps, save=SAVED, policy=run.policy)
    kept, told = done.saved, done.saved.closure
    assert told is not None, "the closure was asked for"
    return {
        "N": kept.N,
        "J": kept.J,
        "theta": kept.theta,
        "y": kept.y,
        "start": start.y,
        "ms_residual": jnp.mean(told.ms_residual),
        "mass_error": jnp.mean(told.mass_error),
        "status": done.status,
    }


def fastest(process: Process) -> float:
    """Largest diffusivity on any edge [m²/s]."""
    D = np.asarray(process.diffusion.D)
    off = ~np.eye(D.shape[-1], dtype=bool)
    return float(np.max(D[..., off]) * np.max(np.asarray(process.diffusion.scale)))


def hastened(process: Process, velocity_m_s: np.ndarray) -> float:
    """How much faster than in the drawing of the chamber the gas flows, at most."""
    if not isinstance(process.flow, Velocities) or not np.any(velocity_m_s):
        return 1.0
    return float(np.max(np.abs(np.asarray(process.flow.velocity))) / np.max(np.abs(velocity_m_s)))
