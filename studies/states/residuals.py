r"""Does a trajectory of states obey Maxwell–Stefan and conserve mass? The paper's residuals, as corrected.

    MS    mean over steps, edges and species of |−gᵢ − Σ_{j≠i}(x̄ⱼJᵢ − x̄ᵢJⱼ)/(c̄Dᵢⱼ)| / ‖g‖
    mass  Σ |W⁻¹(Nⁿ⁺¹ + Γ(θⁿ⁺¹ − θⁿ)) − A(I(Nⁿ)) − Δt B A Jⁿ⁺¹| / Σ |Nⁿ⁺¹|     over steps, cells and odorants

with the simulator's D, draught A, source I, walls W and sites Γ: a model that has none is judged by the laws of the
reference.
The carrier fills what the odorants leave: x₀ = 1 − Σ xᵢ, J₀ = −Σ Jᵢ.

**Departures from the paper**: advection, source and the moles that the sensors took are in the mass residual, or it
could not vanish; odorants only, because the carrier hides everything; edges without a gradient are skipped. x is the
composition that diffusion meets on average, between what source and draught leave of the step before and what the step
ends with: states are projected at the ends of steps only. The reference's own states therefore have a small MS residual
in this reading, the floor to compare with. In the reading of the solver itself it is at rounding.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from studies.states.physical import PhysicalStates
from unmixnet.model.predict import single_precision
from unmixnet.physics.advection import advect, inflow, transfer
from unmixnet.physics.conditions import air_concentration
from unmixnet.physics.diffusion import composition
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.source import inject
from unmixnet.physics.state import Process
from unmixnet.training.calibration.trajectories import released
from unmixnet.training.losses import flux_residual

__all__ = ["Laws", "mass_errors", "ms_residuals"]


class Laws(eqx.Module):
    """What a trajectory is judged by.

    Arguments:
        process: coefficients of the simulator; `source.amount` is that of a pure substance at strength one.
        geometry: its chamber.
        step_s: Δt.
        carrying, spreading: substeps of advection and of diffusion in one step.
    """

    process: Process
    geometry: Geometry
    step_s: Float[Array, ""]
    carrying: int = eqx.field(static=True)
    spreading: int = eqx.field(static=True)


def ms_residuals(states: PhysicalStates, laws: Laws, shares: np.ndarray) -> np.ndarray:
    """Mean Maxwell–Stefan residual of each recording, (n,) [–].

    Arguments:
        shares: strength times ratios of what the source released, (n, K): given, as the process is.
    """
    return _each(_ms_residual, laws, states, shares)


def mass_errors(states: PhysicalStates, laws: Laws, shares: np.ndarray) -> np.ndarray:
    """Σ|residual|/ΣN of the odorants of each recording, (n,) [–]; `shares` as above."""
    return _each(_mass_error, laws, states, shares)


class _Steps(eqx.Module):
    """Moles around the diffusion of every step but the first, and its flux; carrier included."""

    before: Float[Array, "T S V"]
    after: Float[Array, "T S V"]
    J: Float[Array, "T S E"]


def _steps(laws: Laws, c: Array, J: Array, theta: Array, share: Array) -> _Steps:
    """From states that have the substances last, as in a table."""
    geometry, sites = laws.geometry, laws.process.surface.sites
    c, J, theta = (part.swapaxes(1, 2) for part in (c, J, theta))
    process, c_air = released(laws.process, share), air_concentration(laws.process.conditions)
    N = _with_carrier(c * geometry.volume, c_air * geometry.volume)
    times = laws.step_s * jnp.arange(1, N.shape[0], dtype=N.dtype)
    before = jax.vmap(lambda N, t: _carried(N, process, laws, t))(N[:-1], times)
    taken = jax.vmap(geometry.on_cells)(sites * (theta[1:] - theta[:-1]))
    kept = 1.0 if process.wall is None else jnp.exp(-process.wall * laws.step_s)
    after = N[1:].at[:, 1:].add(taken) / kept
    return _Steps(before, after, _with_carrier(J[1:], jnp.zeros(J.shape[-1], J.dtype)))


@eqx.filter_jit
def _ms_residual(laws: Laws, *states: Array) -> Float[Array, ""]:
    steps = _steps(laws, *states)
    # The mean of explicit substeps sees where each of them begins: nearer to `before` by half a substep.
    early = 0.5 + 0.5 / laws.spreading
    N = early * steps.before + (1 - early) * steps.after
    x, c, _ = jax.vmap(composition, in_axes=(0, None))(N, laws.geometry.volume)
    law = laws.process.diffusion
    return jnp.mean(flux_residual(x, c, steps.J / law.scale, law.D, laws.geometry))


@eqx.filter_jit
def _mass_error(laws: Laws, *states: Array) -> Float[Array, ""]:
    steps, area = _steps(laws, *states), laws.geometry.area
    gained = jax.vmap(lambda J: laws.geometry.divergence(laws.step_s * area * J))(steps.J)
    residual = (steps.after - steps.before - gained)[:, 1:]
    size = jnp.sum(jnp.abs(steps.after[:, 1:]))
    return jnp.sum(jnp.abs(residual)) / jnp.where(size > 0, size, 1)


def _carried(N: Float[Array, "S V"], process: Process, laws: Laws, t: Float[Array, ""]) -> Float[Array, "S V"]:
    """Moles after source, draught and inlets."""
    N, _ = inject(N, process.source, process.conditions, t, laws.step_s)
    h, c_air = laws.step_s / laws.carrying, air_concentration(process.conditions)
    P = transfer(process.flow, laws.geometry, h)
    fresh = process.inlet.at(t) if process.inlet is not None else jnp.zeros_like(N)
    for _ in range(laws.carrying):
        N = advect(N, P, laws.geometry)[0] + inflow(process.flow, fresh, c_air, h)
    return N


def _with_carrier(odorants: Float[Array, "T K n"], total: Float[Array, " n"]) -> Float[Array, "T S n"]:
    """What the odorants leave of the total, and the odorants."""
    return jnp.concatenate([total - jnp.sum(odorants, axis=1, keepdims=True), odorants], axis=1)


def _each(residual: Callable[..., Array], laws: Laws, states: PhysicalStates, shares: np.ndarray) -> np.ndarray:
    """One recording after the other, in the precision of the laws."""
    arrays = (states.concentration, states.flux, states.coverage, shares)
    with single_precision():
        rows = zip(*(np.asarray(array, np.float32) for array in arrays), strict=True)
        return np.array([float(residual(laws, *map(jnp.asarray, row))) for row in rows])
