r"""Transport of the gas as one operator of second order: source, openings, advection, diffusion and walls together.

    dN/dt = q + B(F c_e + A J) + inlet − outlet − κ_wall N + V r(c)

An explicit Runge–Kutta method of s stages that preserves strong stability (Ketcheson 2008),

    u₀ = N,    u_k = u_{k−1} + h L(u_{k−1}),    N′ = N/s + (1 − 1/s)(u_{s−1} + h L(u_{s−1})),    h = Δt/(s − 1),

is a convex combination of Euler steps of length h: what holds for one (nothing negative, moles conserved) holds for
all of it, and more stages give longer steps where the diffusion number or CFL asks for them. Openings and fixed cells
are part of L, so that a steady state is a fixed point whatever the step. What crosses a border during a stage is
recorded with the same weights: the ledger closes as exactly as the moles do.
"""

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from unmixnet.physics.advection import Velocities, inflow, reconstruction, transfer, transfer_rates
from unmixnet.physics.conditions import air_concentration
from unmixnet.physics.diffusion import exchange, fluxes
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.reaction import react
from unmixnet.physics.source import injected
from unmixnet.physics.state import Process

__all__ = ["MOST_STAGES", "Moved", "emptying_rate", "hold", "stability_rate", "stages_needed", "transport"]

MOST_STAGES = 10_000
"""A step that needs more is far too long for its cells."""
_WRITTEN_OUT = 3
"""Up to so many stages are compiled one by one."""
_KEPT = 8
"""States that the backward pass through a computed number of stages keeps."""


class Moved(eqx.Module):
    """Moles that crossed edges and borders during a step."""

    along: Float[Array, "S E *B"]
    """By advection, from tail to head."""
    spread: Float[Array, "S E *B"]
    """By diffusion, from tail to head."""
    source: Float[Array, "S V *B"]
    inlet: Float[Array, "S V *B"]
    outlet: Float[Array, "S V *B"]
    wall: Float[Array, "S V *B"]
    held: Float[Array, "S V *B"]
    """Given by what holds cells at a fixed composition."""
    made: Float[Array, "S V *B"]
    """By reactions, net."""
    limited: Bool[Array, "*B"]
    direct: Int[Array, "*B"]
    """Edges whose flux iteration was replaced by a direct solve."""
    N_last: Float[Array, "S V *B"]
    """Moles at the last evaluation of the flux, and that flux [mol/(m² s)]."""
    J_last: Float[Array, "S E *B"]

    @staticmethod
    def nothing(N: Float[Array, "S V *B"], geometry: Geometry) -> "Moved":
        """Nothing has moved yet."""
        cells = jnp.zeros_like(N)
        edges = jnp.zeros((N.shape[0], geometry.tail.shape[0], *N.shape[2:]), N.dtype)
        samples = N.shape[2:]
        return Moved(
            *(edges, edges, cells, cells, cells, cells, cells, cells),
            *(jnp.zeros(samples, bool), jnp.zeros(samples, jnp.int32), N, edges),
        )


def hold(
    N: Float[Array, "S V *B"], process: Process, geometry: Geometry, t: Float[Array, ""]
) -> tuple[Float[Array, "S V *B"], Float[Array, "S V *B"]]:
    """Refill the cells of fixed composition; what the boundary supplied (negative: took)."""
    if process.boundary is None:
        return N, jnp.zeros_like(N)
    full = air_concentration(process.conditions) * geometry.volume * process.boundary.at(t)
    held = jnp.where(geometry.fixed, full, N)
    return held, held - N


def transport(
    N: Float[Array, "S V *B"],
    process: Process,
    geometry: Geometry,
    t: Float[Array, ""],
    dt: Float[Array, ""],
    stages: int | Int[Array, ""] | None,
    *,
    slopes: bool,
) -> tuple[Float[Array, "S V *B"], Moved]:
    """Moles after Δt, and what moved; with limited `slopes` advection along velocities is of second order in space.

    Without `stages` there are as many as the coefficients need.
    """
    if stages is None:
        stages = stages_needed(process, geometry, dt, slopes=slopes)
    pieces = jnp.asarray(stages - 1, dt.dtype)
    h, c_air = dt / pieces, air_concentration(process.conditions)
    P = transfer(process.flow, geometry, h, euler=True)
    lost = jnp.zeros_like(N[:, :1]) if process.wall is None else h * process.wall
    lost = jnp.minimum(lost, P.stay)
    q = injected(process.source, process.conditions, t, dt) / dt
    entering = jnp.zeros_like(N)
    if process.inlet is not None:
        entering = inflow(process.flow, process.inlet.mean(t, dt), c_air, jnp.ones((), N.dtype)) + entering

    def euler(k, carry):
        N, moved = carry
        J, direct = fluxes(N, process.diffusion, geometry)
        extra = jnp.zeros_like(J)
        if slopes and isinstance(process.flow, Velocities):
            extra = h * reconstruction(N, process.flow, entering, geometry)
        behind, before = geometry.ends(N)
        ahead, back = P.forward * behind, P.backward * before
        upwind = (P.stay - lost) * N + geometry.arriving(ahead, back)
        through = h * geometry.area * J + extra
        # of a cell at a steep front the slopes may take back nearly all that upwind brought it
        N_next, kept, limited = exchange(upwind, through, geometry, closed=process.diffusion.closed, share=1.0)
        N_next = N_next + h * (q + entering)
        N_next, made, short = react(N_next, N, process.reaction, process.conditions, geometry, h)
        N_next, given = hold(N_next, process, geometry, t + jnp.asarray(k + 1, dt.dtype) * h)
        return N_next, Moved(
            along=moved.along + ahead - back + extra,
            spread=moved.spread + kept - extra,
            source=moved.source + h * q,
            inlet=moved.inlet + h * entering,
            outlet=moved.outlet + P.outlet * N,
            wall=moved.wall + lost * N,
            held=moved.held + given,
            made=moved.made + made,
            limited=moved.limited | limited | short | P.limited,
            direct=moved.direct + direct,
            N_last=N,
            J_last=J,
        )

    after, moved = _times(euler, (N, Moved.nothing(N, geometry)), stages)
    part = pieces / (pieces + 1)
    after, given = hold(N + part * (after - N), process, geometry, t + dt)
    moles = ("held", "along", "spread", "source", "inlet", "outlet", "wall", "made")
    weighted = [part * getattr(moved, name) for name in moles]
    weighted[0] = weighted[0] + given
    return after, eqx.tree_at(lambda m: [getattr(m, name) for name in moles], moved, weighted)


def stability_rate(process: Process, geometry: Geometry, *, slopes: bool) -> Float[Array, ""]:
    """The fastest rate at which transport empties a cell that is not held, of all samples [1/s].

    An Euler stage no longer than its inverse leaves nothing negative.
    """
    return jnp.max(emptying_rate(process, geometry, slopes=slopes))


def emptying_rate(process: Process, geometry: Geometry, *, slopes: bool) -> Float[Array, "*#B"]:
    """The same for each sample. With slopes an edge may carry twice the mean of the cell behind it."""
    tail, head, law = geometry.tail, geometry.head, process.diffusion
    forward, backward, outlet = transfer_rates(process.flow, geometry)
    along = outlet.at[:, tail].add(forward).at[:, head].add(backward)
    if slopes and isinstance(process.flow, Velocities):
        along = 2 * along
    S = law.D.shape[0]
    pairs = ~jnp.eye(S, dtype=bool).reshape(S, S, *(1,) * (law.D.ndim - 2))
    conductance = law.scale * jnp.max(jnp.where(pairs, law.D, 0), axis=(0, 1)) * geometry.area / geometry.length
    spread = jnp.zeros((geometry.volume.shape[0], *conductance.shape[1:]), conductance.dtype)
    spread = spread.at[tail].add(conductance).at[head].add(conductance)
    rate = along + spread / geometry.volume + (0 if process.wall is None else process.wall)
    if process.reaction is not None:
        rate = rate + process.reaction.fastest
    # a chamber in which nothing moves has no rate; a step is then free
    return jnp.maximum(jnp.max(jnp.where(geometry.fixed, 0, rate), axis=(0, 1)), jnp.finfo(rate.dtype).tiny)


def stages_needed(
    process: Process,
    geometry: Geometry,
    dt: Float[Array, ""],
    *,
    slopes: bool,
    counted: Bool[Array, "*#B"] | bool = True,
) -> Int[Array, ""]:
    """How many stages keep a step of length Δt positive and stable in the samples that are counted."""
    rate = jnp.max(jnp.where(counted, emptying_rate(process, geometry, slopes=slopes), 0))
    return 1 + jnp.clip(jnp.ceil(dt * rate - 1e-6), 1, MOST_STAGES).astype(jnp.int32)


def _times(stage, carry, count: int | Int[Array, ""]):
    """Apply a stage `count` times; a few are written out, and a number that is computed takes a loop."""
    if not isinstance(count, int):
        # unlike `fori_loop`, a loop that reverse-mode derivatives pass
        loop = (jnp.zeros((), jnp.int32), carry)
        options = {"kind": "checkpointed", "checkpoints": _KEPT}
        return eqxi.while_loop(lambda c: c[0] < count, lambda c: (c[0] + 1, stage(*c)), loop, **options)[1]
    if count <= _WRITTEN_OUT:
        for k in range(count):
            carry = stage(k, carry)
        return carry
    return jax.lax.scan(lambda c, k: (stage(k, c), None), carry, jnp.arange(count))[0]
