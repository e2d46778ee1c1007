r"""A solver step repeated in time.

The rollout is a `scan` over `step`; `save` selects what comes back, `Policy.checkpoint` what the backward pass keeps
(with `"sqrt"`, √T states instead of T). One sample, to be lifted by `vmap`.
"""

import dataclasses
import math
from collections.abc import Iterable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from unmixnet.physics import closure
from unmixnet.physics.closure import Closure
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.state import Process, Reservoirs, State, Status, check, verdicts
from unmixnet.physics.step import Policy, step

__all__ = ["SAVEABLE", "Policy", "Rollout", "Saved", "rollout"]

SAVEABLE = ("N", "x", "J", "theta", "y", "reservoirs", "ledger", "closure")


class Saved(eqx.Module):
    """The quantities named by `save`; the others are None. The axis T (one entry per step) comes from the scan."""

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
    verdict = verdicts(process, start, dt)
    before = check(verdict)
    feasible = before == Status.OK
    shown = jax.tree.map(lambda leaf: jnp.where(jnp.isfinite(leaf), leaf, 0), start)
    process, start, dt = _neutralise(verdict, process, start, dt)

    def advance(carry, _):
        state, status, failed_at, direct, n = carry
        taken = step(process, geometry, state, dt, policy, diagnose="closure" in save)
        new = taken.state
        finite = jnp.isfinite(jnp.sum(new.N) + jnp.sum(new.theta) + jnp.sum(new.y))
        filled = jnp.all(jnp.sum(new.N, axis=1) > 0)
        now = jnp.maximum(jnp.where(finite, 0, int(Status.DIVERGED)), jnp.where(filled, 0, int(Status.EMPTY_CELL)))
        now = jnp.maximum(now, jnp.where(taken.limited, int(Status.LIMITED), 0))
        good = (now <= Status.LIMITED) & (status <= Status.LIMITED)
        new = _choose(good, new, state)
        failed_at = jnp.where((failed_at < 0) & (now > Status.LIMITED), n, failed_at)
        status = jnp.maximum(status, now.astype(jnp.int32))
        J, report = jax.tree.map(lambda leaf: jnp.where(good, leaf, 0), (taken.J, taken.closure))
        out = _select(save, _choose(feasible, new, shown), J, report, process, _choose(feasible, start, shown))
        return (new, status, failed_at, direct + taken.direct_solves, n + 1), out

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


def _neutralise(verdict: dict[str, Array], process: Process, start: State, dt: Array):
    """Make what is impossible harmless, so that not even its gradient is NaN.

    Each part is replaced by itself: coefficients that a batch shares stay shared, whatever is wrong with one sample.
    """

    def harmless(part: str, tree):
        def tame(leaf):
            limits = jnp.finfo(leaf.dtype)
            fits = (leaf >= jnp.sqrt(limits.tiny)) & (leaf <= jnp.sqrt(limits.max))
            return jnp.where(verdict[part] | fits, leaf, 1)

        return jax.tree.map(lambda leaf: tame(leaf) if eqx.is_inexact_array(leaf) else leaf, tree)

    parts = [field.name for field in dataclasses.fields(process)]
    process = Process(**{part: harmless(part, getattr(process, part)) for part in parts})
    return process, harmless("state", harmless("cells", start)), harmless("dt", dt)


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
