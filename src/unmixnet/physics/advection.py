r"""CFL graph advection: moles move along edges by transfer probabilities that never exceed what a cell holds.

    N'_v = (1 − Σ_w P_{v→w} − P_{v→out}) N_v + Σ_u P_{u→v} N_u

From edge velocities u [m/s]:      P_{u→v} = Δt A max(u, 0) / V_u        (`from_velocities`)
From learned scores α:             P_{u→v} = ν e^{α_uv} / (1 + Σ_w e^{α_uw}),   ν = 1 − e^{−κΔt}   (`from_scores`)

P ≥ 0 and Σ P ≤ 1 give positivity; whatever leaves one cell enters another, or the recorded outlet reservoir.
The one dimensionless group is the CFL number Δt Σ A u / V: above one, more substeps are needed.

**Departure from the paper**: ν carries the step size, otherwise a learned flow would change with Δt.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from unmixnet.physics.geometry import Geometry

__all__ = ["Scores", "Transfer", "Velocities", "advect", "advective_rate", "inflow", "transfer"]


class Velocities(eqx.Module):
    """Edge-normal velocities and the flows through the chamber's openings."""

    velocity: Float[Array, " E"]
    """u [m/s], positive from tail to head."""
    outlet_flow: Float[Array, " V"]
    """Volume flow out of each cell [m³/s]; zero where there is no outlet."""
    inlet_flow: Float[Array, " V"]
    """Volume flow into each cell [m³/s]."""


class Scores(eqx.Module):
    """Advection scores per direction of each edge and species, as predicted by an edge network."""

    forward: Float[Array, "E S"]
    """α for tail → head."""
    backward: Float[Array, "E S"]
    """α for head → tail."""
    outlet: Float[Array, "V S"]
    """α for cell → outlet; −inf where there is no outlet."""
    rate: Float[Array, "V S"]
    """κ [1/s], how fast a cell's content is offered for transfer."""
    inlet_flow: Float[Array, " V"]
    """Volume flow into each cell [m³/s]."""


class Transfer(eqx.Module):
    """Transfer probabilities of one step."""

    forward: Float[Array, "E #S"]
    backward: Float[Array, "E #S"]
    outlet: Float[Array, "V #S"]
    stay: Float[Array, "V #S"]
    """1 − Σ P: the share that remains in its cell."""
    limited: Bool[Array, ""]
    """Whether more was to leave a cell than it holds, so that the step was scaled back."""


def transfer(flow: Velocities | Scores, geometry: Geometry, dt: Float[Array, ""]) -> Transfer:
    """Transfer probabilities of a step of length Δt; a step beyond CFL is scaled back to what the cell holds."""
    forward, backward, outlet = _rates(flow, geometry)
    if isinstance(flow, Scores):
        # rates are κ·softmax; (1 − e^{−κΔt})/κ turns them into the probabilities of the finite step
        offered = -jnp.expm1(-flow.rate * dt) / jnp.where(flow.rate > 0, flow.rate, 1)
        forward, backward, outlet = (
            forward * offered[geometry.tail],
            backward * offered[geometry.head],
            outlet * offered,
        )
    else:
        forward, backward, outlet = dt * forward, dt * backward, dt * outlet
    leaving = outlet.at[geometry.tail].add(forward).at[geometry.head].add(backward)
    over = leaving > 1
    scale = jnp.where(over, 1 / jnp.where(over, leaving, 1), 1)
    # not 1 − leaving·scale, which a fused multiply-add can round below zero
    stay = jnp.where(over, 0, 1 - leaving)
    return Transfer(
        forward * scale[geometry.tail], backward * scale[geometry.head], outlet * scale, stay, jnp.any(over)
    )


def _rates(
    flow: Velocities | Scores, geometry: Geometry
) -> tuple[Float[Array, "E #S"], Float[Array, "E #S"], Float[Array, "V #S"]]:
    """First-order transfer rates [1/s]: forward, backward, outlet."""
    if isinstance(flow, Velocities):
        rate = jax.vmap(_velocity_rates)(
            flow.velocity, geometry.area, geometry.volume[geometry.tail], geometry.volume[geometry.head]
        )
        return rate[0][:, None], rate[1][:, None], (flow.outlet_flow / geometry.volume)[:, None]
    top = jnp.maximum(flow.outlet, 0).at[geometry.tail].max(flow.forward).at[geometry.head].max(flow.backward)
    top = jax.lax.stop_gradient(top)
    forward = jnp.exp(flow.forward - top[geometry.tail])
    backward = jnp.exp(flow.backward - top[geometry.head])
    outlet = jnp.exp(flow.outlet - top)
    retain = jnp.exp(-top)
    share = flow.rate / (retain + outlet.at[geometry.tail].add(forward).at[geometry.head].add(backward))
    return forward * share[geometry.tail], backward * share[geometry.head], outlet * share


def _velocity_rates(
    u: Float[Array, ""], A: Float[Array, ""], V_tail: Float[Array, ""], V_head: Float[Array, ""]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """One edge: A max(u, 0)/V_tail forward and A max(−u, 0)/V_head backward [1/s]."""
    return A * jnp.maximum(u, 0) / V_tail, A * jnp.maximum(-u, 0) / V_head


def advect(
    N: Float[Array, "V S"], P: Transfer, geometry: Geometry
) -> tuple[Float[Array, "V S"], Float[Array, "E S"], Float[Array, "V S"]]:
    """One application of the transfer: moles after it, net moles along each edge, moles out of each cell."""
    ahead = P.forward * N[geometry.tail]
    back = P.backward * N[geometry.head]
    arrived = jnp.zeros_like(N).at[geometry.head].add(ahead).at[geometry.tail].add(back)
    return P.stay * N + arrived, ahead - back, P.outlet * N


def inflow(
    flow: Velocities | Scores, composition: Float[Array, "V S"], c: Float[Array, ""], dt: Float[Array, ""]
) -> Float[Array, "V S"]:
    """Moles that the inlets bring in a step: Δt F c x_in."""
    return dt * flow.inlet_flow[:, None] * c * composition


def advective_rate(N: Float[Array, "V S"], flow: Velocities | Scores, geometry: Geometry) -> Float[Array, "V S"]:
    """dN/dt by advection and outlets in the limit Δt → 0, for steady states."""
    forward, backward, outlet = _rates(flow, geometry)
    return geometry.divergence(forward * N[geometry.tail] - backward * N[geometry.head]) - outlet * N
