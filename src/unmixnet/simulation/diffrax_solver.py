r"""The solver step as a solver of diffrax, whose controllers, save times and adjoints then drive it.

    import diffrax
    from unmixnet.simulation.diffrax_solver import StepTerm, UnmixStep

    solution = diffrax.diffeqsolve(
        StepTerm(),
        diffrax.HalfSolver(UnmixStep(Policy(order=2))),
        t0=0.0, t1=50.0, dt0=0.1, y0=clean_air(process, geometry), args=(process, geometry),
        saveat=diffrax.SaveAt(ts=times),
        stepsize_controller=diffrax.ClipStepSizeController(diffrax.PIDController(rtol=1e-4, atol=1e-8), step_ts=times),
    )

`solution.ys` is a `State` with one entry per time in front. `UnmixStep()` alone takes constant steps; `HalfSolver` also
halves them and so estimates the error that a PID controller needs. The error is relative to every entry of the state,
hence an `atol` of the odorants' moles. Between steps the state is a straight line: let steps end at the times to be
saved (`step_ts`). For reverse-mode derivatives give `Policy.stages`.

The state may be that of a batch, of which all samples share their steps. Unlike `rollout` nothing is checked beforehand
and there is no `Status`: a step that was limited is NaN, so that a controller takes it back.

diffrax is no dependency of the library: `pip install diffrax`.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from unmixnet.errors import SolveError
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.state import Process, State
from unmixnet.physics.step import Policy, step

__all__ = ["StepTerm", "UnmixStep"]


class StepTerm(diffrax.AbstractTerm):
    """The term of `UnmixStep`: it has no rates, the step knows all; rates that something asks for are NaN."""

    def vf(self, t: Any, y: State, args: Any) -> State:
        """Not a number, in the shape of the state."""
        return jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.nan), y)

    def contr(self, t0: Any, t1: Any, **kwargs: Any) -> Any:
        """Length of a step."""
        return t1 - t0

    def prod(self, vf: State, control: Any) -> State:
        """Not a number either."""
        return jax.tree.map(lambda leaf: (leaf * control).astype(leaf.dtype), vf)


class UnmixStep(diffrax.AbstractSolver):
    """`physics.step` with the arguments (process, geometry)."""

    policy: Policy = Policy(order=2)

    term_structure: ClassVar = StepTerm
    interpolation_cls: ClassVar[Callable[..., diffrax.LocalLinearInterpolation]] = diffrax.LocalLinearInterpolation

    def order(self, terms: StepTerm) -> int:
        """Order of the splitting; `error_order` follows from it."""
        return self.policy.order

    def init(self, terms: StepTerm, t0: Any, t1: Any, y0: State, args: tuple[Process, Geometry]) -> None:
        """Nothing is carried from step to step."""

    def step(
        self,
        terms: StepTerm,
        t0: Any,
        t1: Any,
        y0: State,
        args: tuple[Process, Geometry],
        solver_state: None,
        made_jump: Any,
    ) -> tuple[State, None, dict[str, State], None, diffrax.RESULTS]:
        """One step from t0 to t1."""
        begin = eqx.tree_at(lambda s: s.t, y0, jnp.asarray(t0, y0.N.dtype))
        taken = step(*args, begin, jnp.asarray(t1 - t0, y0.N.dtype), self.policy)
        end = eqx.tree_at(lambda s: s.t, _unlimited(taken.state, taken.limited), jnp.asarray(t1, y0.N.dtype))
        return end, None, {"y0": y0, "y1": end}, None, diffrax.RESULTS.successful

    def func(self, terms: StepTerm, t0: Any, y0: State, args: Any) -> State:
        """There is no vector field to look at, as events of a steady state would."""
        remedy = "Stop at steady state by rollout_adaptive(…, steady=1e-4)"
        raise SolveError("the solver step has no vector field", where="diffeqsolve", remedy=remedy)


def _unlimited(state: State, limited: Bool[Array, "*B"]) -> State:
    """The state, NaN where a step would have taken more moles from a cell than it holds."""

    def mark(leaf: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.where(limited, jnp.nan, leaf) if leaf.ndim else leaf

    return jax.tree.map(mark, state)
