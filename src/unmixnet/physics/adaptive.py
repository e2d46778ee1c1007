r"""A rollout that chooses its steps: as long as the error allows, as many as stability asks for.

Each step is taken twice, as a whole and as two halves. Of a method of order p their difference is 2ᵖ − 1 times the
error of the halves, which are kept. The next step follows from this error ε (1 = the tolerance) and the one before it
by a proportional–integral controller (Gustafsson 1991),

    h' = h · 0.9 · ε^(−0.7/(p+1)) · ε_before^(0.4/(p+1)),     between h/5 and 5h;   ε > 1: the step is taken back.

Errors are relative to the largest value of a species in the chamber, of a coverage among the sensors and of a signal's
departure from its start, so far. A limiter that acts is an error too, and makes the step shorter. A step ends at every
kink of a source or an opening; what is saved within a step lies on the parabola through its start, middle and end,
which conserves what they conserve. All samples of a batch share their steps.

For derivatives use fixed steps (`rollout`): reverse mode cannot pass a loop whose length is not known.
"""

from collections.abc import Iterable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from unmixnet.physics.geometry import Geometry
from unmixnet.physics.readout import target
from unmixnet.physics.rollout import Rollout, Saved, choose, outcome, prepared, select
from unmixnet.physics.state import Process, State, Status, with_samples
from unmixnet.physics.step import Policy, Step, step
from unmixnet.physics.transport import stability_rate

__all__ = ["rollout_adaptive"]

_SAFETY, _FASTEST = 0.9, 5.0
_NEGLIGIBLE = 1e-3
"""A species is resolved relative to itself, unless it is this much rarer than the most abundant odorant."""
_TOO_MUCH = 4.0
"""Error of a step that was limited or left the finite numbers."""
_SHORTEST = 1e-9
"""Of the whole time: a step that has to be shorter than this has failed."""


class _Carry(eqx.Module):
    """What the loop over steps carries."""

    state: State
    before: State
    """The state before the last step that was kept, and in its middle."""
    middle: State
    h: Float[Array, ""]
    """The step to try next [s]."""
    error: Float[Array, ""]
    """Of the last step that was kept, relative to the tolerance."""
    scale: tuple[Array, Array, Array]
    """Largest moles, coverages and departures of the signals so far."""
    taken: Step
    """The last step that was kept."""
    status: Int[Array, " B"]
    failed_at: Int[Array, " B"]
    direct: Int[Array, " B"]
    steps: Int[Array, ""]
    rejected: Int[Array, ""]
    settled_at: Float[Array, ""]


def rollout_adaptive(
    process: Process,
    geometry: Geometry,
    start: State,
    save_at: Float[Array, " T"],
    *,
    tolerance: float | Float[Array, ""] = 1e-4,
    save: Iterable[str] = ("y",),
    policy: Policy | None = None,
    steady: float | None = None,
    max_steps: int = 100_000,
) -> Rollout:
    """Solve from `start` to each of the increasing times `save_at` [s], within a relative `tolerance`.

    With `steady` the solve ends early, and the state stays, once the state would change by less than this (relative)
    if its present rates lasted as long again; `Rollout.settled_at` says when. A sample that fails keeps its last good
    state, as in `rollout`; where `max_steps` do not suffice the status is TOO_MANY_STEPS.
    """
    if start.N.ndim == 2:
        process, geometry, start = with_samples((process, geometry, start))
        options = {"tolerance": tolerance, "save": save, "policy": policy, "steady": steady, "max_steps": max_steps}
        return rollout_adaptive(process, geometry, start, save_at, **options).of_one_sample()
    save, policy = frozenset(save), policy or Policy()
    whole = jnp.asarray(save_at[-1] - start.t, start.N.dtype)
    process, start, whole, before, shown = prepared(process, geometry, start, whole)
    feasible = before == Status.OK
    attempt = _attempt(process, geometry, start, whole, policy, tolerance, diagnose="closure" in save)
    kinks, last = _kinks(process), jnp.asarray(save_at[-1], start.N.dtype)

    def until(c: _Carry, t: Float[Array, ""]) -> tuple[_Carry, Saved]:
        def unfinished(c: _Carry) -> Bool[Array, ""]:
            going = (c.state.t < t) & jnp.isinf(c.settled_at) & (c.steps + c.rejected < max_steps)
            return going & jnp.any(c.status <= Status.LIMITED)

        def advance(c: _Carry) -> _Carry:
            after = attempt(c, jnp.min(jnp.where(kinks > c.state.t, kinks, last), initial=last))
            if steady is None:
                return after
            rest = _at_rest(c, after, start.t, kinks, steady)
            return eqx.tree_at(lambda a: a.settled_at, after, jnp.where(rest, after.state.t, jnp.inf))

        c = jax.lax.while_loop(unfinished, advance, c)
        good = c.status <= Status.LIMITED
        J, report = jax.tree.map(lambda leaf: jnp.where(good, leaf, 0), (c.taken.J, c.taken.closure))
        first, now = choose(feasible, start, shown), choose(feasible, _at(t, c), shown)
        return c, select(save, now, J, report, process, first)

    begin = _begin(process, geometry, start, whole, policy, before, diagnose="closure" in save)
    c, saved = jax.lax.scan(until, begin, jnp.asarray(save_at, start.N.dtype))
    stopped = (c.state.t < save_at[-1]) & jnp.isinf(c.settled_at) & (c.status <= Status.LIMITED)
    status = jnp.where(stopped, int(Status.TOO_MANY_STEPS), c.status)
    failed_at = jnp.where(stopped, c.steps, c.failed_at)
    final = choose(feasible, c.state, shown)
    return Rollout(saved, final, status, failed_at, c.direct, c.steps, c.rejected, c.settled_at)


def _begin(
    process, geometry, start: State, whole, policy: Policy, before: Int[Array, " B"], *, diagnose: bool
) -> _Carry:
    """Before the first step, which is as long as one that needs no more than the fewest stages."""
    h = jnp.minimum(whole, 1 / stability_rate(process, geometry, slopes=policy.slopes))
    nothing = jax.eval_shape(lambda: step(process, geometry, start, h, policy, diagnose=diagnose))
    nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), nothing)
    none, count = jnp.zeros_like(before), jnp.zeros((), jnp.int32)
    failed_at = jnp.where(before == Status.OK, -1, 0).astype(jnp.int32)
    scale = _larger(start, start, process, None)
    one = jnp.ones((), start.N.dtype)
    return _Carry(start, start, start, h, one, scale, nothing, before, failed_at, none, count, count, one * jnp.inf)


def _attempt(
    process, geometry, start: State, whole, policy: Policy, tolerance: float | Float[Array, ""], *, diagnose: bool
):
    """The function that takes one step, at most to a given time, and keeps it or takes it back."""
    power = 1 / (policy.order + 1)
    extrapolated = 2**policy.order - 1

    def thrice(start: State, h: Float[Array, ""]) -> tuple[Step, Step, Step]:
        """The whole step and its two halves, in a loop so that a step is compiled once."""

        def once(state: State, x: tuple[Array, Array]) -> tuple[State, Step]:
            length, again = x
            taken = step(process, geometry, state, length, policy, diagnose=diagnose)
            return jax.tree.map(lambda a, b: jnp.where(again, a, b), start, taken.state), taken

        lengths = jnp.stack([h, 0.5 * h, 0.5 * h])
        _, taken = jax.lax.scan(once, start, (lengths, jnp.asarray([True, False, False])))
        return tuple(jax.tree.map(lambda leaf, k=k: leaf[k], taken) for k in range(3))  # pyright: ignore[reportReturnType]

    def attempt(c: _Carry, end: Float[Array, ""]) -> _Carry:
        # a step that would leave a sliver takes it along
        left = end - c.state.t
        h = jnp.where(c.h < 0.99 * left, c.h, left)
        rough, first, second = thrice(c.state, h)
        fine = eqx.tree_at(lambda s: s.t, second.state, jnp.where(h == left, end, c.state.t + h))
        limited = first.limited | second.limited
        now = outcome(fine, limited)
        alive = c.status <= Status.LIMITED
        scale = _larger(fine, start, process, c.scale)
        off = _departure(rough.state, fine, scale) / (extrapolated * tolerance)
        off = jnp.where(now == Status.OK, off, jnp.maximum(jnp.nan_to_num(off, nan=jnp.inf), _TOO_MUCH))
        error = jnp.max(jnp.where(alive, off, 0))
        shortest = h <= _SHORTEST * whole
        keep = (error <= 1) | shortest
        good = alive & (now <= Status.LIMITED)
        factor = _SAFETY * jnp.maximum(error, 1e-8) ** (-0.7 * power) * jnp.maximum(c.error, 1e-8) ** (0.4 * power)
        factor = jnp.where(keep, jnp.clip(factor, 1 / _FASTEST, _FASTEST), jnp.clip(factor, 1 / _FASTEST, _SAFETY))
        # the length of a step that was cut short by a time to be saved says nothing about the next one
        h_next = jnp.where(keep & (h < c.h) & (factor > 1), jnp.maximum(c.h, factor * h), factor * h)
        state = choose(good & keep, fine, c.state)
        state = eqx.tree_at(lambda s: s.t, state, jnp.where(keep, fine.t, c.state.t))
        fails = keep & alive & (now > Status.LIMITED)
        taken = eqx.tree_at(lambda s: s.J, second, 0.5 * (first.J + second.J))
        middle = choose(good & keep, first.state, c.state)
        return _Carry(
            state=state,
            before=jax.tree.map(lambda new, old: jnp.where(keep, new, old), c.state, c.before),
            middle=jax.tree.map(lambda new, old: jnp.where(keep, new, old), middle, c.middle),
            h=h_next,
            error=jnp.where(keep, error, c.error),
            scale=jax.tree.map(lambda new, old: jnp.where(keep & jnp.isfinite(new), new, old), scale, c.scale),
            taken=jax.tree.map(lambda new, old: jnp.where(keep, new, old), taken, c.taken),
            status=jnp.where(keep & alive, jnp.maximum(c.status, now), c.status),
            failed_at=jnp.where(fails, c.steps, c.failed_at),
            direct=c.direct + jnp.where(keep, first.direct_solves + second.direct_solves, 0),
            steps=c.steps + keep,
            rejected=c.rejected + ~keep,
            settled_at=c.settled_at,
        )

    return attempt


def _at(t: Float[Array, ""], c: _Carry) -> State:
    """The state at a time of the last step: by a parabola, or by straight lines where that would be negative."""
    h = c.state.t - c.before.t
    s = jnp.where(h > 0, (t - c.before.t) / jnp.where(h > 0, h, 1), 1)
    s = jnp.clip(s, 0, 1)

    def through(first, second, third) -> State:
        mixed = jax.tree.map(lambda a, b, d: first * a + second * b + third * d, c.before, c.middle, c.state)
        return eqx.tree_at(lambda state: state.t, mixed, jnp.minimum(t, c.state.t))

    curved = through((2 * s - 1) * (s - 1), 4 * s * (1 - s), s * (2 * s - 1))
    straight = through(jnp.maximum(1 - 2 * s, 0), 1 - jnp.abs(2 * s - 1), jnp.maximum(2 * s - 1, 0))
    positive = jnp.all(curved.N >= 0, axis=(0, 1)) & jnp.all(curved.theta >= 0, axis=(0, 1))
    return choose(positive, curved, straight)


def _larger(state: State, start: State, process: Process, so_far) -> tuple[Array, Array, Array]:
    """The scales of the errors: the largest moles, coverages and departures of the signals up to now."""
    moles = jnp.max(state.N, axis=1, keepdims=True)
    theta = jnp.max(state.theta, axis=1, keepdims=True, initial=0)
    goal = target(state.theta, process.readout, process.conditions)
    signal = jnp.maximum(jnp.abs(state.y - start.y), jnp.abs(goal - start.y))
    now = moles, theta, signal
    return now if so_far is None else jax.tree.map(jnp.maximum, now, so_far)


def _departure(a: State, b: State, scale) -> Float[Array, " B"]:
    """Largest difference of two states relative to the scales, for each sample."""

    def relative(one, other, scale):
        present = jnp.maximum(scale, _NEGLIGIBLE * jnp.max(scale, axis=0, keepdims=True, initial=0))
        off = jnp.where(present > 0, jnp.abs(one - other) / jnp.where(present > 0, present, 1), 0)
        return jnp.max(off.reshape(-1, off.shape[-1]), axis=0, initial=0)

    moles, theta, signal = scale
    parts = (
        relative(a.N[1:], b.N[1:], moles[1:]),
        relative(a.theta[1:], b.theta[1:], theta[1:]),
        relative(a.y, b.y, signal),
    )
    return jnp.maximum(jnp.maximum(parts[0], parts[1]), parts[2])


def _at_rest(before: _Carry, after: _Carry, begin, kinks, steady: float) -> Bool[Array, ""]:
    """Whether the state would change by less than `steady` in as much time as has passed."""
    h = after.state.t - before.state.t
    change = jnp.max(_departure(after.state, before.state, after.scale)) * (after.state.t - begin)
    return (h > 0) & (change < steady * h) & jnp.all(kinks <= after.state.t)


def _kinks(process: Process) -> Float[Array, " n"]:
    """Times at which something starts or changes its slope."""
    dtype = process.wall.dtype if process.wall is not None else process.conditions.temperature.dtype
    parts = (process.inlet, process.boundary, process.source.profile)
    return jnp.concatenate([jnp.zeros(1, dtype), *(part.times for part in parts if hasattr(part, "times"))])  # pyright: ignore
