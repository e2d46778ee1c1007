r"""The solver step of the paper and its repetition in time.

    Sⁿ⁺¹ = R ∘ B ∘ Φ ∘ A ∘ I (Sⁿ)      inject, advect, diffuse, adsorb, read

A Lie splitting: first order in Δt, every factor conservative and positive. The rollout is a `scan`; with
`checkpoint="sqrt"` its backward pass keeps √T states instead of T. Cells of fixed composition are refilled after each
transport operator and what they gave is recorded.
"""

import math
from collections.abc import Iterable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from unmixnet.physics import closure
from unmixnet.physics.adsorption import adsorb
from unmixnet.physics.advection import advect, inflow, transfer
from unmixnet.physics.closure import Closure
from unmixnet.physics.conditions import air_concentration
from unmixnet.physics.diffusion import composition, diffuse, wall_loss
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.readout import read
from unmixnet.physics.source import inject
from unmixnet.physics.state import Process, Reservoirs, Schedule, State, Status, check

__all__ = ["SAVEABLE", "Policy", "Rollout", "Saved", "rollout", "step"]

SAVEABLE = ("N", "x", "J", "theta", "y", "reservoirs", "ledger", "closure")


class Policy(eqx.Module):
    """How to solve, as opposed to what: static, so that each choice compiles once."""

    substeps_advection: int = eqx.field(static=True, default=1)
    substeps_diffusion: int = eqx.field(static=True, default=1)
    checkpoint: Literal["none", "step", "sqrt"] = eqx.field(static=True, default="step")
    """What the backward pass keeps: every intermediate, every state, or √T states."""
    dense_adsorption: bool = eqx.field(static=True, default=False)
    """Use the reference matrix exponential (slow; for comparison)."""


class Saved(eqx.Module):
    """The quantities that were asked for; the others are None. The axis T (one entry per step) comes from the scan."""

    N: Float[Array, "*T V S"] | None = None
    x: Float[Array, "*T V S"] | None = None
    J: Float[Array, "*T E S"] | None = None
    theta: Float[Array, "*T M S"] | None = None
    y: Float[Array, "*T M"] | None = None
    reservoirs: Reservoirs | None = None
    ledger: Float[Array, "*T S"] | None = None
    closure: Closure | None = None


class Rollout(eqx.Module):
    """Result of a rollout of one sample."""

    saved: Saved
    final: State
    status: Int[Array, ""]
    """A `Status` code."""
    failed_at: Int[Array, ""]
    """Step at which the status became an error, −1 if it did not."""
    direct_solves: Int[Array, ""]
    """How often the flux iteration was replaced by a direct solve."""


def hold(
    N: Float[Array, "V S"],
    schedule: Schedule | None,
    geometry: Geometry,
    c: Float[Array, ""],
    t: Float[Array, ""],
) -> tuple[Float[Array, "V S"], Float[Array, "V S"]]:
    """Refill the cells of fixed composition; what the outside world gave (negative: took)."""
    if schedule is None:
        return N, jnp.zeros_like(N)
    held = jnp.where(geometry.fixed[:, None], c * geometry.volume[:, None] * schedule.at(t), N)
    return held, held - N


def step(
    process: Process,
    geometry: Geometry,
    state: State,
    dt: Float[Array, ""],
    policy: Policy,
    *,
    diagnose: bool = False,
) -> tuple[State, Float[Array, "E S"], Int[Array, "2"], Closure | None]:
    """One solver step: next state, mean diffusive flux, (limited, direct solves), closure if asked for."""
    c_air = air_concentration(process.conditions)
    N0, middle = state.N, state.t + 0.5 * dt
    N, released = inject(N0, process.source, process.conditions, state.t, dt)

    # advection, in substeps that respect CFL
    h = dt / policy.substeps_advection
    P = transfer(process.flow, geometry, h)
    carried_out, brought, held = jnp.zeros_like(N), jnp.zeros_like(N), jnp.zeros_like(N)
    along = jnp.zeros((geometry.tail.shape[0], N.shape[1]), N.dtype)
    entering = jnp.zeros_like(N) if process.inlet is None else inflow(process.flow, process.inlet.at(middle), c_air, h)
    for _ in range(policy.substeps_advection):
        N, moved, out = advect(N, P, geometry)
        N, given = hold(N + entering, process.boundary, geometry, c_air, middle)
        along, carried_out, brought, held = along + moved, carried_out + out, brought + entering, held + given

    # Maxwell–Stefan diffusion
    def substep(carry, _):
        N, _, J_sum, _, held, limited, direct = carry
        N_next, J, acted, fell_back = diffuse(N, process.diffusion, geometry, dt / policy.substeps_diffusion)
        N_next, given = hold(N_next, process.boundary, geometry, c_air, middle)
        return (
            N_next,
            N,
            J_sum + J,
            J,
            held + given,
            limited | acted,
            direct + fell_back.astype(jnp.int32),
        ), None

    none = jnp.zeros_like(along)
    carry = (N, N, none, none, held, P.limited, jnp.zeros((), jnp.int32))
    if policy.substeps_diffusion == 1:
        carry, _ = substep(carry, None)
    else:
        carry, _ = jax.lax.scan(substep, carry, None, length=policy.substeps_diffusion)
    N, N_flux, J, J_last, held, limited, direct = carry
    J = J / policy.substeps_diffusion

    lost = jnp.zeros_like(N)
    if process.wall is not None:
        N, lost = wall_loss(N, process.wall, dt)
    N, theta, sink = adsorb(N, state.theta, process.surface, geometry, dt, reference=policy.dense_adsorption)
    y = read(state.y, theta, process.readout, process.conditions, dt)

    r = state.reservoirs
    reservoirs = Reservoirs(
        r.source + released.sum(0),
        r.inlet + brought.sum(0),
        r.boundary + held.sum(0),
        r.outlet + carried_out.sum(0),
        r.wall + lost.sum(0),
    )
    report = None
    if diagnose:
        gains = released + brought + held - carried_out - lost - sink
        gains = gains + geometry.divergence(along + dt * geometry.area[:, None] * J)
        report = _closure(process, geometry, N0, N, gains, theta, N_flux, J_last)
    flags = jnp.stack([limited.astype(jnp.int32), direct.astype(jnp.int32)])
    return State(N, theta, y, reservoirs, state.t + dt), J, flags, report


def _closure(process, geometry, N_start, N_end, gains, theta, N_flux, J) -> Closure:
    x, c, _ = composition(N_flux, geometry.volume)
    scale = process.diffusion.scale[:, None, None]
    D = scale * (process.diffusion.D if process.diffusion.D.ndim == 3 else process.diffusion.D[None])
    odorant, carrier = closure.mass_error(N_start, N_end, gains)
    return Closure(
        closure.ms_residual(x, c, J, D, geometry),
        odorant,
        carrier,
        closure.simplex_error(theta),
        closure.entropy_production(x, c, J, D, geometry),
    )


def rollout(
    process: Process,
    geometry: Geometry,
    start: State,
    dt: Float[Array, ""],
    n_steps: int,
    *,
    save: Iterable[str] = ("y",),
    policy: Policy | None = None,
) -> Rollout:
    """`n_steps` solver steps from `start`; one sample, to be lifted by `vmap`.

    A sample whose coefficients are impossible, or whose state leaves the finite numbers, keeps its last good state and
    reports a status; it never returns NaN.
    """
    policy = policy or Policy()
    save = frozenset(save)
    before = check(process, geometry, start, dt)
    feasible = before == Status.OK
    shown = jax.tree.map(lambda leaf: jnp.where(jnp.isfinite(leaf), leaf, 0), start)
    process, start, dt = _neutralise(feasible, (process, start, dt))

    def advance(carry, _):
        state, status, failed_at, direct, n = carry
        new, J, flags, report = step(process, geometry, state, dt, policy, diagnose="closure" in save)
        finite = jnp.isfinite(jnp.sum(new.N) + jnp.sum(new.theta) + jnp.sum(new.y))
        filled = jnp.all(jnp.sum(new.N, axis=1) > 0)
        now = jnp.maximum(jnp.where(finite, 0, int(Status.DIVERGED)), jnp.where(filled, 0, int(Status.EMPTY_CELL)))
        now = jnp.maximum(now, jnp.where(flags[0] > 0, int(Status.LIMITED), 0))
        good = (now <= Status.LIMITED) & (status <= Status.LIMITED)
        new = _choose(good, new, state)
        failed_at = jnp.where((failed_at < 0) & (now > Status.LIMITED), n, failed_at)
        status = jnp.maximum(status, now.astype(jnp.int32))
        J, report = jax.tree.map(lambda leaf: jnp.where(good, leaf, 0), (J, report))
        out = _select(save, _choose(feasible, new, shown), J, report, process, _choose(feasible, start, shown))
        return (new, status, failed_at, direct + flags[1], n + 1), out

    carry = (
        start,
        before,
        jnp.where(feasible, -1, 0).astype(jnp.int32),
        jnp.zeros((), jnp.int32),
        jnp.zeros((), jnp.int32),
    )
    (final, status, failed_at, direct, _), saved = _scan(advance, carry, n_steps, policy.checkpoint)
    return Rollout(saved, _choose(feasible, final, shown), status, failed_at, direct)


def _choose(condition, yes: State, no: State) -> State:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


def _select(save, state: State, J, report, process, start: State) -> Saved:
    ledger = None
    if "ledger" in save:
        ledger = closure.ledger_error(
            jnp.sum(start.N, axis=0),
            jnp.sum(state.N, axis=0),
            _adsorbed(start, process),
            _adsorbed(state, process),
            # a saved state that is continued brings its reservoirs along
            jax.tree.map(jnp.subtract, state.reservoirs, start.reservoirs),
        )
    return Saved(
        N=state.N if "N" in save else None,
        x=state.N / jnp.maximum(jnp.sum(state.N, axis=1, keepdims=True), jnp.finfo(state.N.dtype).tiny)
        if "x" in save
        else None,
        J=J if "J" in save else None,
        theta=state.theta if "theta" in save else None,
        y=state.y if "y" in save else None,
        reservoirs=state.reservoirs if "reservoirs" in save else None,
        ledger=ledger,
        closure=report,
    )


def _adsorbed(state: State, process: Process) -> Float[Array, " S"]:
    """Moles of each species on all surfaces; the carrier does not adsorb."""
    moles = jnp.sum(process.surface.sites[:, None] * state.theta, axis=0)
    return moles.at[0].set(0)


def _neutralise(feasible, tree):
    """Leave a feasible problem untouched; make an impossible one harmless, so that not even its gradient is NaN."""

    def harmless(leaf):
        if not eqx.is_inexact_array(leaf):
            return leaf
        limits = jnp.finfo(leaf.dtype)
        tame = (leaf >= jnp.sqrt(limits.tiny)) & (leaf <= jnp.sqrt(limits.max))
        return jnp.where(feasible | tame, leaf, 1)

    return jax.tree.map(harmless, tree)


def _scan(body, carry, length: int, checkpoint: str):
    """`scan` whose backward pass keeps everything, every carry, or √length carries."""
    if checkpoint == "none":
        return jax.lax.scan(body, carry, None, length=length)
    body = jax.checkpoint(body, prevent_cse=False)
    if checkpoint == "step":
        return jax.lax.scan(body, carry, None, length=length)
    inner = max(1, math.isqrt(length))
    outer, rest = divmod(length, inner)
    chunk = jax.checkpoint(lambda c, _: jax.lax.scan(body, c, None, length=inner), prevent_cse=False)
    carry, saved = jax.lax.scan(chunk, carry, None, length=outer)
    saved = jax.tree.map(lambda a: a.reshape(outer * inner, *a.shape[2:]), saved)
    if rest:
        carry, tail = jax.lax.scan(body, carry, None, length=rest)
        saved = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), saved, tail)
    return carry, saved
