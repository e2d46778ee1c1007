r"""The chamber's differential equations, unsplit, from the laws of `unmixnet.physics`: what diffrax integrates.

    dN/dt = gas(N, t) − Σ_m sites θ̇,    θ̇ᵢ = k_ads cᵢ θ₀ − k_des θᵢ,    ẏ = (s* − y)/τ,    θ₀ = 1 − Σ θᵢ

The same right-hand side in the same layout as the library's own steps: species first, samples last. Moles are measured
in what the source would spread evenly over the chamber, as `ChamberEquations.tolerance` does for Radau, so that one
absolute tolerance suits all unknowns.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from unmixnet.physics.conditions import air_concentration
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.readout import lag, target
from unmixnet.physics.source import Constant, RiseDecay
from unmixnet.physics.state import Process, State
from unmixnet.physics.steady import gas_tendency

__all__ = ["Chamber", "Unknowns", "release_rate"]


class Unknowns(eqx.Module):
    """What the equations integrate."""

    N: Float[Array, "S V *B"]
    """Moles in units of `Chamber.unit`."""
    theta: Float[Array, "K M *B"]
    """Coverages without the empty site."""
    y: Float[Array, "M *B"]


class Chamber(eqx.Module):
    """Right-hand side of a batch or of one sample."""

    process: Process
    geometry: Geometry

    @property
    def unit(self) -> Float[Array, "S V *b"]:
        """Moles that count as one."""
        volume = self.geometry.volume
        air = air_concentration(self.process.conditions) * volume
        odorant = jnp.max(self.process.source.amount) * volume / jnp.sum(volume, axis=0) + 1e-12 * air
        K = self.process.source.amount.shape[0]
        return jnp.concatenate([air[None], jnp.broadcast_to(odorant, (K, *odorant.shape))])

    def pack(self, state: State) -> Unknowns:
        """Unknowns of a state."""
        return Unknowns(state.N / self.unit, state.theta[1:], state.y)

    def moles(self, u: Unknowns) -> Float[Array, "S V *B"]:
        """N [mol]."""
        return self.unit * u.N

    def transport(self, t: Float[Array, ""], u: Unknowns) -> Unknowns:
        """Rates by source, advection, diffusion and walls."""
        source = self.process.source
        assert isinstance(source.profile, RiseDecay)
        rate = source.amount * release_rate(source.profile, t)
        process = eqx.tree_at(lambda p: (p.source.amount, p.source.profile), self.process, (rate, Constant()))
        gas = gas_tendency(self.moles(u), process, self.geometry, t) / self.unit
        return Unknowns(gas, jnp.zeros_like(u.theta), jnp.zeros_like(u.y))

    def surfaces(self, u: Unknowns) -> Unknowns:
        """Rates by adsorption and the sensors' lag."""
        surface, readout = self.process.surface, self.process.readout
        theta = jnp.concatenate([1 - jnp.sum(u.theta, axis=0, keepdims=True), u.theta])
        c = self.geometry.at_sensors(self.moles(u)[1:] / self.geometry.volume)
        adsorbing = surface.rate(theta, c)
        sink = self.geometry.on_cells(surface.sites * adsorbing)
        gas = -jnp.concatenate([jnp.zeros_like(sink[:1]), sink]) / self.unit
        goal = target(theta, readout, self.process.conditions)
        return Unknowns(gas, adsorbing, (goal - u.y) / lag(u.y, goal, readout))

    def rates(self, t: Float[Array, ""], u: Unknowns) -> Unknowns:
        """du/dt."""
        return jax.tree.map(jnp.add, self.transport(t, u), self.surfaces(u))


def release_rate(profile: RiseDecay, t: Float[Array, ""]) -> Float[Array, "K *b"]:
    """ρ(t) [1/s], of which `released` is the integral."""
    both = profile.tau_rise * profile.tau_decay / (profile.tau_rise + profile.tau_decay)
    whole = both * jnp.expm1(-profile.t_max / both) - profile.tau_decay * jnp.expm1(-profile.t_max / profile.tau_decay)
    return -jnp.expm1(-t / profile.tau_rise) * jnp.exp(-t / profile.tau_decay) / whole
