"""Solvers of diffrax on the same equations (`equations.Chamber`).

Explicit ones get the whole batch as one state, implicit ones every sample alone under `vmap`, since their Jacobian is
dense and that of a whole batch would be as many times as large.

Tolerances are those that Radau has: a thousandth of an unknown's size beside `rtol`.
"""

from collections.abc import Callable

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from studies.bench.equations import Chamber, Unknowns
from studies.bench.problem import DURATION_S, TIMES_S, batch, start
from unmixnet.physics.state import Process

__all__ = ["EXPLICIT", "IMPLICIT", "Solved", "solver_of"]

EXPLICIT = ("Bosh3", "Tsit5", "Dopri8")
IMPLICIT = ("Kvaerno5", "KenCarp4")
_MAX_STEPS = 4096


class Solved(eqx.Module):
    """A batch solved by diffrax."""

    y: Float[Array, "T M B"]
    """Readout at `TIMES_S`."""
    N: Float[Array, "S V B"]
    """Moles at the end [mol]."""
    steps: Array
    """Steps that were kept, of the sample that took most."""
    failed: Array
    """Whether a sample did not reach the end."""


def solver_of(name: str) -> Callable[[tuple, Array, Array], Solved]:
    """Function of the shared coefficients, the amounts and the tolerance that solves a batch."""

    def solve(shared: tuple, amount: Array, rtol: Array) -> Solved:
        process, geometry = batch(shared, amount)
        if name in EXPLICIT:
            return _solve(name, Chamber(process, geometry), rtol)
        one = lambda a: _solve(name, Chamber(_of_sample(process, a[:, None]), geometry), rtol)  # noqa: E731
        each = jax.vmap(one)(amount)
        y, N = (jnp.moveaxis(leaf[..., 0], 0, -1) for leaf in (each.y, each.N))
        return Solved(y, N, jnp.max(each.steps), jnp.any(each.failed))

    return solve


def _of_sample(process: Process, amount: Array) -> Process:
    return eqx.tree_at(lambda p: p.source.amount, process, amount)


def _solve(name: str, chamber: Chamber, rtol: Array) -> Solved:
    u = chamber.pack(start(chamber.process, chamber.geometry))
    u = _broadcast(u, chamber.process.source.amount.shape[-1])
    done = diffrax.diffeqsolve(
        _terms(name, chamber),
        getattr(diffrax, name)(),
        t0=0.0,
        t1=DURATION_S,
        dt0=None,
        y0=u,
        saveat=diffrax.SaveAt(ts=jnp.asarray(TIMES_S, u.y.dtype)),
        stepsize_controller=diffrax.PIDController(rtol=rtol, atol=1e-3 * rtol),
        max_steps=_MAX_STEPS,
        throw=False,
    )
    assert done.ys is not None
    end = jax.tree.map(lambda leaf: leaf[-1], done.ys)
    steps, failed = done.stats["num_accepted_steps"], done.result != diffrax.RESULTS.successful
    return Solved(done.ys.y, chamber.moles(end), steps, failed)


def _terms(name: str, chamber: Chamber) -> diffrax.AbstractTerm:
    """The right-hand side; for KenCarp4 transport explicitly and surfaces implicitly, as it is meant to be used."""
    if name != "KenCarp4":
        return diffrax.ODETerm(lambda t, u, args: chamber.rates(jnp.asarray(t), u))
    explicit = diffrax.ODETerm(lambda t, u, args: chamber.transport(jnp.asarray(t), u))
    return diffrax.MultiTerm(explicit, diffrax.ODETerm(lambda t, u, args: chamber.surfaces(u)))


def _broadcast(u: Unknowns, samples: int) -> Unknowns:
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (*leaf.shape[:-1], samples)), u)
