"""What a recording of a recipe looks like under given parameters: by the solver, or by one level per substance."""

import math
from typing import Any, Protocol

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from unmixnet.model.lifting import lift
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.rollout import Policy, rollout
from unmixnet.training.calibration.solve import released, steady_concentration
from unmixnet.training.calibration.theta import Jar, Theta, process_of

__all__ = ["Forward", "Levels", "LinearLaw", "Physics"]

_D_MOST, _U_MOST = 3e-5, 3.0
"""Diffusivity [m²/s] and factor on the flow up to which the number of substeps is safe."""


class Forward(Protocol):
    """A law: the trace of shares of some substances, and the level in clean air."""

    def trace(self, local: Any, shares: Array, log_strength: Array, log_exposure: Array) -> Float[Array, "T M"]:
        """At the ends of the solver's steps."""
        ...

    def air(self, local: Any) -> Float[Array, " M"]:
        """Signal without any substance."""
        ...


class Physics(eqx.Module):
    """The solver with the coefficients Θ."""

    jar: Jar
    geometry: Geometry
    policy: Policy

    @classmethod
    def of(cls, jar: Jar) -> "Physics":
        """For a chamber and a way to record."""
        step, chamber = jar.step_s, jar.chamber
        advection = math.ceil(_U_MOST * chamber.cfl(step) - 1e-9)
        diffusion = math.ceil(2 * chamber.diffusion_number(step, _D_MOST) - 1e-9)
        return cls(jar, chamber.geometry(), Policy(max(1, advection), max(1, diffusion)))

    def trace(self, local: Theta, shares: Array, log_strength: Array, log_exposure: Array) -> Float[Array, "T M"]:
        """No sample of the recording enters: a lag that is long enough would explain any trace by its first sample."""
        process = released(process_of(local, self.jar), shares * jnp.exp(log_strength))
        c = jnp.exp(log_exposure) * steady_concentration(process) if self.jar.start == "exposed" else None
        start = lift(process, self.geometry, None, c)
        dt = jnp.asarray(self.jar.step_s, shares.dtype)
        y = rollout(process, self.geometry, start, dt, self.jar.steps, policy=self.policy).saved.y
        assert y is not None
        return y

    def air(self, local: Theta) -> Float[Array, " M"]:
        """b."""
        return local.b


class Levels(eqx.Module):
    """h_i: one level per substance and sensor, the parameters of the null laws."""

    h: Float[Array, "K M"]

    def of(self, active: Int[Array, " A"]) -> "Levels":
        """Those of some of the substances."""
        return Levels(self.h[active])


class LinearLaw(eqx.Module):
    """y = air + s (Σ a_i h_i − air), flat in time: what a table of levels says without physics."""

    level: Float[Array, " M"]
    steps: int = eqx.field(static=True)

    def trace(self, local: Levels, shares: Array, log_strength: Array, log_exposure: Array) -> Float[Array, "T M"]:
        """The same level at every step."""
        y = self.level + jnp.exp(log_strength) * (shares @ local.h - self.level)
        return jnp.broadcast_to(y + 0 * log_exposure, (self.steps, *y.shape))

    def air(self, local: Levels) -> Float[Array, " M"]:
        """Signal in clean air, given."""
        return self.level
