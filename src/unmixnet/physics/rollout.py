r"""A solver step repeated in time.

The rollout is a `scan` over `step`; `save` selects what comes back, `Policy.checkpoint` what the backward pass keeps
(with `"sqrt"`, √T states instead of T). It takes one sample, or a batch whose arrays have a last axis of samples.
"""

import dataclasses
import math
from collections.abc import Iterable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from unmixnet.physics import closure
from unmixnet.physics.closure import Closure
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.state import (
    Process,
    Reservoirs,
    State,
    Status,
    check,
    is_shared,
    samples,
    verdicts,
    with_samples,
    without_samples,
)
from unmixnet.physics.step import Policy, step
from unmixnet.physics.transport import MOST_STAGES, emptying_rate, stages_needed

__all__ = ["SAVEABLE", "Policy", "Rollout", "Saved", "choose", "outcome", "prepared", "rollout", "select"]

SAVEABLE = ("N", "x", "J", "theta", "y", "reservoirs", "ledger", "closure")


class Saved(eqx.Module):
    """The quantities named by `save`; the others are None.

    Behind each axis list come the samples, if there are any; in front of it the scan puts one entry per step.
    """

    N: Float[Array, "..."] | None = None
    """S V"""
    x: Float[Array, "..."] | None = None
    """S V"""
    J: Float[Array, "..."] | None = None
    """S E"""
    theta: Float[Array, "..."] | None = None
    """S M"""
    y: Float[Array, "..."] | None = None
    """M"""
    reservoirs: Reservoirs | None = None
    ledger: Float[Array, "..."] | None = None
    """S"""
    closure: Closure | None = None


class Rollout(eqx.Module):
    """Result of a rollout of one sample or of a batch."""

    saved: Saved
    final: State
    status: Int[Array, "*B"]
    """A `Status` code."""
    failed_at: Int[Array, "*B"]
    """Step at which the status became an error, −1 if it did not."""
    direct_solves: Int[Array, "*B"]
    """How often the flux iteration was replaced by a direct solve."""
    steps: Int[Array, ""] | None = None
    """Steps taken, of a rollout that chooses them (`adaptive`); the next members too."""
    rejected: Int[Array, ""] | None = None
    """Steps taken back because their error was too large."""
    settled_at: Float[Array, ""] | None = None
    """Time at which nothing changed any more, infinite if something still does [s]."""

    def of_one_sample(self) -> "Rollout":
        """That of a batch of one, without its axis."""
        saved, final = without_samples((self.saved, self.final))
        status, failed_at, direct = self.status[0], self.failed_at[0], self.direct_solves[0]
        return Rollout(saved, final, status, failed_at, direct, self.steps, self.rejected, self.settled_at)


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
    """`n_steps` solver steps from `start`, of one sample or of a batch (`state.with_samples`).

    A sample whose coefficients are impossible, or whose state leaves the finite numbers, keeps its last good state and
    reports a status; it never returns NaN.
    """
    if start.N.ndim == 2:
        process, geometry, start = with_samples((process, geometry, start))
        return rollout(process, geometry, start, dt, n_steps, save=save, policy=policy).of_one_sample()
    policy, save = policy or Policy(), frozenset(save)
    process, start, dt, before, shown = prepared(process, geometry, start, jnp.asarray(dt, start.N.dtype))
    stages = None
    if policy.order == 2 and policy.stages is None:
        coarse = dt * emptying_rate(process, geometry, slopes=policy.slopes) > MOST_STAGES
        before = jnp.where((before == Status.OK) & coarse, int(Status.TOO_COARSE), before)
        stages = stages_needed(process, geometry, dt, slopes=policy.slopes, counted=before == Status.OK)
    feasible = before == Status.OK

    def advance(carry, _):
        state, status, failed_at, direct, n = carry
        taken = step(process, geometry, state, dt, policy, stages=stages, diagnose="closure" in save)
        new = taken.state
        now = outcome(new, taken.limited)
        good = (now <= Status.LIMITED) & (status <= Status.LIMITED)
        new = choose(good, new, state)
        failed_at = jnp.where((failed_at < 0) & (now > Status.LIMITED), n, failed_at)
        status = jnp.maximum(status, now)
        J, report = jax.tree.map(lambda leaf: jnp.where(good, leaf, 0), (taken.J, taken.closure))
        out = select(save, choose(feasible, new, shown), J, report, process, choose(feasible, start, shown))
        return (new, status, failed_at, direct + taken.direct_solves, n + 1), out

    none = jnp.zeros_like(before)
    carry = (start, before, jnp.where(feasible, -1, 0).astype(jnp.int32), none, jnp.zeros((), jnp.int32))
    (final, status, failed_at, direct, _), saved = _scan(advance, carry, n_steps, policy.checkpoint)
    return Rollout(saved, choose(feasible, final, shown), status, failed_at, direct)


def prepared(
    process: Process, geometry: Geometry, start: State, dt: Float[Array, ""]
) -> tuple[Process, State, Float[Array, ""], Int[Array, " B"], State]:
    """A batch made safe to solve: process, start and step without what is impossible, the status of each sample before
    the first step, and the start to show for those that have an error.
    """
    B = max(samples(tree) for tree in (process, geometry, start))
    start = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (*leaf.shape[:-1], B)) if leaf.ndim else leaf, start)
    verdict = verdicts(process, start, dt)
    before = jnp.broadcast_to(check(verdict), (B,))
    shown = jax.tree.map(lambda leaf: jnp.where(jnp.isfinite(leaf), leaf, 0), start)
    return *_neutralise(verdict, process, start, dt), before, shown


def outcome(state: State, limited: Bool[Array, " B"]) -> Int[Array, " B"]:
    """Status of each sample after a step."""
    moles = jnp.sum(state.N, axis=0)
    sums = jnp.sum(moles, axis=0) + jnp.sum(state.theta, axis=(0, 1)) + jnp.sum(state.y, axis=0)
    filled = jnp.all(moles > 0, axis=0)
    now = jnp.where(jnp.isfinite(sums), jnp.where(limited, int(Status.LIMITED), 0), int(Status.DIVERGED))
    return jnp.maximum(now, jnp.where(filled, 0, int(Status.EMPTY_CELL))).astype(jnp.int32)


def choose(condition, yes: State, no: State) -> State:
    """A state by sample; time is common to all, and stops when no sample goes on."""
    return jax.tree.map(lambda a, b: jnp.where(condition if a.ndim else jnp.any(condition), a, b), yes, no)


def select(save: frozenset[str], state: State, J, report, process: Process, start: State) -> Saved:
    """What was asked for, of one time."""
    ledger = None
    if "ledger" in save:
        ledger = closure.ledger_error(
            jnp.sum(start.N, axis=1),
            jnp.sum(state.N, axis=1),
            _adsorbed(start, process),
            _adsorbed(state, process),
            # a saved state that is continued brings its reservoirs along
            jax.tree.map(jnp.subtract, state.reservoirs, start.reservoirs),
        )
    return Saved(
        N=state.N if "N" in save else None,
        x=state.N / jnp.maximum(jnp.sum(state.N, axis=0), jnp.finfo(state.N.dtype).tiny) if "x" in save else None,
        J=J if "J" in save else None,
        theta=state.theta if "theta" in save else None,
        y=state.y if "y" in save else None,
        reservoirs=state.reservoirs if "reservoirs" in save else None,
        ledger=ledger,
        closure=report,
    )


def _adsorbed(state: State, process: Process) -> Float[Array, "S *B"]:
    """Moles of each species on all surfaces; the carrier does not adsorb."""
    moles = jnp.sum(process.surface.sites * state.theta, axis=1)
    return moles.at[0].set(0)


def _neutralise(verdict: dict[str, Array], process: Process, start: State, dt: Array):
    """Make what is impossible harmless, so that not even its gradient is NaN.

    Each part is replaced by itself: coefficients that a batch shares stay shared, whatever is wrong with one sample.
    """

    def harmless(part: str, tree):
        def tame(path, leaf):
            if not eqx.is_inexact_array(leaf):
                return leaf
            limits = jnp.finfo(leaf.dtype)
            fits = (leaf >= jnp.sqrt(limits.tiny)) & (leaf <= jnp.sqrt(limits.max))
            shared = leaf.ndim == 0 or is_shared(path, leaf)
            # what samples share is possible if it is for one of them
            possible = jnp.any(verdict[part]) if shared else verdict[part]
            if not shared and leaf.shape[-1] == 1:
                possible = jnp.any(possible, keepdims=True)
            return jnp.where(possible | fits, leaf, 1)

        return jax.tree_util.tree_map_with_path(tame, tree)

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
