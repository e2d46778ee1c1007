r"""CFL graph advection: moles move along edges by transfer probabilities that never exceed what a cell holds.

    N'_v = (1 − Σ_w P_{v→w} − P_{v→out}) N_v + Σ_u P_{u→v} N_u

From edge velocities u [m/s]:      P_{u→v} = Δt A max(u, 0) / V_u
From learned scores α:             P_{u→v} = ν e^{α_uv} / (1 + Σ_w e^{α_uw}),   ν = 1 − e^{−κΔt}

P ≥ 0 and Σ P ≤ 1 give positivity; whatever leaves one cell enters another, or the recorded outlet reservoir.
The one dimensionless group is the CFL number Δt Σ A u / V: above one, more substeps are needed.

That is upwind and of first order in space: the gas that passes an edge is that of the cell behind it. Along velocities
the second order takes the composition at the edge from a limited slope instead (van Leer 1974),

    c_e = c_u + ½ ℓ s,    s = 2ab/(a + b) where ab > 0, else 0,    b = (c_w − c_u)/ℓ,

with b the slope ahead of cell u and a the slope behind it, the mean over the edges that bring gas to u, weighted by
their flow (an inlet is half an edge away). The slope never overshoots a neighbour: no new extremes, nothing negative.

**Departure from the paper**: ν carries the step size, otherwise a learned flow would change with Δt.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from unmixnet.physics.geometry import Geometry
from unmixnet.physics.quotient import quotient

__all__ = [
    "Scores",
    "Transfer",
    "Velocities",
    "advect",
    "advective_rate",
    "inflow",
    "reconstruction",
    "transfer",
    "transfer_rates",
]


class Velocities(eqx.Module):
    """Edge-normal velocities and the flows through the chamber's openings."""

    velocity: Float[Array, "E *#b"]
    """u [m/s], positive from tail to head."""
    outlet_flow: Float[Array, "V *#b"]
    """Volume flow out of each cell [m³/s]; zero where there is no outlet."""
    inlet_flow: Float[Array, "V *#b"]
    """Volume flow into each cell [m³/s]."""


class Scores(eqx.Module):
    """Advection scores per species and direction of each edge, as predicted by an edge network."""

    forward: Float[Array, "S E *#b"]
    """α for tail → head."""
    backward: Float[Array, "S E *#b"]
    """α for head → tail."""
    outlet: Float[Array, "S V *#b"]
    """α for cell → outlet; −inf where there is no outlet."""
    rate: Float[Array, "S V *#b"]
    """κ [1/s], how fast a cell's content is offered for transfer."""
    inlet_flow: Float[Array, "V *#b"]
    """Volume flow into each cell [m³/s]."""


class Transfer(eqx.Module):
    """Transfer probabilities of one step."""

    forward: Float[Array, "#S E *#b"]
    backward: Float[Array, "#S E *#b"]
    outlet: Float[Array, "#S V *#b"]
    stay: Float[Array, "#S V *#b"]
    """1 − Σ P: the share that remains in its cell."""
    limited: Bool[Array, "*#b"]
    """Whether more was to leave a cell than it holds, so that the step was scaled back."""


def transfer(flow: Velocities | Scores, geometry: Geometry, dt: Float[Array, ""], *, euler: bool = False) -> Transfer:
    """Transfer probabilities of a step of length Δt; a step beyond CFL is scaled back to what the cell holds.

    With `euler` they are Δt times the rates for scores too, as a stage of a Runge–Kutta method needs them.
    """
    tail, head = geometry.tail, geometry.head
    forward, backward, outlet = transfer_rates(flow, geometry)
    if isinstance(flow, Scores) and not euler:
        # rates are κ·softmax; (1 − e^{−κΔt})/κ turns them into the probabilities of the finite step
        offered = -jnp.expm1(-flow.rate * dt) / jnp.where(flow.rate > 0, flow.rate, 1)
        forward, backward, outlet = forward * offered[:, tail], backward * offered[:, head], outlet * offered
    else:
        forward, backward, outlet = dt * forward, dt * backward, dt * outlet
    leaving = outlet.at[:, tail].add(forward).at[:, head].add(backward)
    over = leaving > 1
    scale = jnp.where(over, 1 / jnp.where(over, leaving, 1), 1)
    # not 1 − leaving·scale, which a fused multiply-add can round below zero
    stay = jnp.where(over, 0, 1 - leaving)
    limited = jnp.any(over, axis=(0, 1))
    return Transfer(forward * scale[:, tail], backward * scale[:, head], outlet * scale, stay, limited)


def transfer_rates(
    flow: Velocities | Scores, geometry: Geometry
) -> tuple[Float[Array, "#S E *#b"], Float[Array, "#S E *#b"], Float[Array, "#S V *#b"]]:
    """Transfer rates in the limit Δt → 0 [1/s]: forward, backward, outlet."""
    tail, head, V = geometry.tail, geometry.head, geometry.volume
    if isinstance(flow, Velocities):
        forward = geometry.area * jnp.maximum(flow.velocity, 0) / V[tail]
        backward = geometry.area * jnp.maximum(-flow.velocity, 0) / V[head]
        outlet = flow.outlet_flow / V
        # samples may share openings but not velocities
        outlet = jnp.broadcast_to(outlet, (*V.shape[:1], *jnp.broadcast_shapes(outlet.shape[1:], forward.shape[1:])))
        return forward[None], backward[None], outlet[None]
    top = jnp.maximum(flow.outlet, 0).at[:, tail].max(flow.forward).at[:, head].max(flow.backward)
    top = jax.lax.stop_gradient(top)
    forward = jnp.exp(flow.forward - top[:, tail])
    backward = jnp.exp(flow.backward - top[:, head])
    outlet = jnp.exp(flow.outlet - top)
    retain = jnp.exp(-top)
    share = flow.rate / (retain + outlet.at[:, tail].add(forward).at[:, head].add(backward))
    return forward * share[:, tail], backward * share[:, head], outlet * share


def advect(
    N: Float[Array, "S V *B"], P: Transfer, geometry: Geometry
) -> tuple[Float[Array, "S V *B"], Float[Array, "S E *B"], Float[Array, "S V *B"]]:
    """One application of the transfer: moles after it, net moles along each edge, moles out of each cell."""
    behind, before = geometry.ends(N)
    ahead, back = P.forward * behind, P.backward * before
    return P.stay * N + geometry.arriving(ahead, back), ahead - back, P.outlet * N


def inflow(
    flow: Velocities | Scores,
    composition: Float[Array, "S V *#b"],
    c: Float[Array, "*#b"] | Float[Array, "V *#b"],
    dt: Float[Array, ""],
) -> Float[Array, "S V *B"]:
    """Moles that the inlets bring in a step: Δt F c x_in."""
    return dt * flow.inlet_flow * c * composition


def advective_rate(N: Float[Array, "S V *B"], flow: Velocities | Scores, geometry: Geometry) -> Float[Array, "S V *B"]:
    """dN/dt by upwind advection and outlets in the limit Δt → 0, for steady states."""
    forward, backward, outlet = transfer_rates(flow, geometry)
    behind, before = geometry.ends(N)
    return geometry.divergence(forward * behind - backward * before) - outlet * N


def reconstruction(
    N: Float[Array, "S V *B"],
    flow: Velocities,
    inlet: Float[Array, "S V *#b"] | None,
    geometry: Geometry,
) -> Float[Array, "S E *B"]:
    """What the limited slopes add to the upwind flow of each edge [mol/s], F ½ℓs; the carrier closes the balance.

    `inlet` is what the inlets bring [mol/s].
    """
    tail, head = geometry.tail, geometry.head
    c = N[1:] / geometry.volume
    F = flow.velocity * geometry.area
    onward, backward = jnp.maximum(F, 0), jnp.maximum(-F, 0)
    ahead = (c[:, head] - c[:, tail]) / geometry.length
    # slope behind each cell: the slopes of the edges that bring gas, weighted by their flow; positive downstream
    samples = jnp.broadcast_shapes(flow.inlet_flow.shape[1:], F.shape[1:])
    brought = jnp.broadcast_to(flow.inlet_flow, (N.shape[1], *samples))
    brought = brought.at[head].add(onward).at[tail].add(backward)
    rise = _to_cells(onward * ahead, head, N) + _to_cells(-backward * ahead, tail, N)
    steps = jnp.zeros_like(geometry.volume).at[tail].max(geometry.length).at[head].max(geometry.length)
    entering = jnp.zeros_like(c) if inlet is None else inlet[1:]
    rise = rise + (flow.inlet_flow * c - entering) / (0.5 * steps)
    behind = jnp.where(brought > 0, rise / jnp.where(brought > 0, brought, 1), 0)
    a = jnp.where(F >= 0, behind[:, tail], -behind[:, head])
    rise = 0.5 * geometry.length * _van_leer(a, ahead) * jnp.where(F >= 0, 1, -1)
    # the carrier makes room: it gives no more than it has, and takes no more than would double it
    carrier = N[0] / geometry.volume
    carrier, whole = jnp.where(F >= 0, carrier[tail], carrier[head]), jnp.sum(rise, axis=0)
    crowded = jnp.abs(whole) > carrier
    rise = rise * jnp.where(crowded, quotient(carrier, jnp.where(crowded, jnp.abs(whole), 1)), 1)
    return F * jnp.concatenate([-jnp.sum(rise, axis=0, keepdims=True), rise])


def _to_cells(per_edge: Float[Array, "K E *B"], cell: Array, N: Float[Array, "S V *B"]) -> Float[Array, "K V *B"]:
    return jnp.zeros((per_edge.shape[0], N.shape[1], *per_edge.shape[2:]), N.dtype).at[:, cell].add(per_edge)


def _van_leer(a: Float[Array, "*n"], b: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """Harmonic mean of two slopes of the same sign, else zero."""
    # by their signs: the product of two traces underflows
    same = (jnp.sign(a) == jnp.sign(b)) & (a != 0)
    share = quotient(jnp.abs(b), jnp.where(same, jnp.abs(a) + jnp.abs(b), 1))
    return jnp.where(same, 2 * a * share, 0)
