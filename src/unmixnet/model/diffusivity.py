r"""Diffusion coefficients: a symmetric network over species pairs, and a bounded factor per edge and sample.

    D_ij = min(D_min + D_ref softplus(MLP_D(r_i, r_j)), D_max),    D_e,ij = D_ij · exp(s tanh(f(h_e, h_Y)))

D_max is just under hydrogen's. Beyond it the substeps would not be stable: the limiter keeps the moles of species
that are present positive, but nothing limits derivatives by absent species, which would grow with every step.

One D times a scalar per edge keeps the solver's fast path; the paper's free D per edge is an option
(`edgewise`: every pair gets its own bounded factor on every edge). At ppm only the row D_i0 of the carrier acts.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.layers import N_EDGE, Modulation, SpeciesSpecies, dense
from unmixnet.model.settings import Settings, shape_of
from unmixnet.physics.maxwell_stefan import MaxwellStefan

__all__ = ["D_MAX", "Diffusivity"]

D_MIN, D_REF, D_MAX = 1e-6, 1e-5, 7.4e-5
"""Least, typical and largest diffusivity of a vapour in air [m²/s]."""
FLUX_REF = 1e-6
"""Scale of a flux prior [mol/(m² s)]."""


class Diffusivity(eqx.Module):
    """Sets D, the factor of each edge, and, where the settings have one, the flux prior."""

    pairs: SpeciesSpecies
    modulation: Modulation
    by_edge: SpeciesSpecies
    edge: eqx.nn.Linear
    prior: eqx.nn.Linear
    """MLP_J: from hidden features of edge and species to a flux."""
    species: eqx.nn.Linear

    @classmethod
    def of(cls, settings: Settings, key: PRNGKeyArray) -> "Diffusivity":
        """Draw the networks."""
        shape = shape_of(settings.size)
        a, b, c, d, e, f = jax.random.split(key, 6)
        return cls(
            SpeciesSpecies.of(shape.embedding, shape.hidden, a),
            Modulation.of(N_EDGE + shape.width, 1, settings.modulation, b),
            SpeciesSpecies.of(shape.embedding, shape.hidden, c),
            eqx.nn.Linear(N_EDGE, shape.embedding, key=d),
            eqx.nn.Linear(shape.embedding, 1, key=e),
            eqx.nn.Linear(shape.embedding, shape.embedding, key=f),
        )

    def table(self, r: Float[Array, "S p"]) -> Float[Array, "S S"]:
        """D of all pairs, carrier first [m²/s]."""
        return jnp.minimum(D_MIN + D_REF * jax.nn.softplus(self.pairs(r)), D_MAX)

    def __call__(
        self, r: Float[Array, "S p"], h_e: Float[Array, "E f"], h_Y: Float[Array, " d"], settings: Settings
    ) -> MaxwellStefan:
        """The law of one sample."""
        D = self.table(r)
        scale = jax.vmap(lambda h: self.modulation(jnp.concatenate([h, h_Y]))[0])(h_e)
        if settings.edgewise:
            bend = jax.vmap(lambda h: self.by_edge(r + self.edge(h)), out_axes=-1)(h_e)
            D = D[..., None] * jnp.exp(settings.modulation * jnp.tanh(bend))
        prior = self._prior(r, h_e) if settings.diffusion in ("weighted", "unconstrained") else None
        form = "direct" if settings.edgewise and settings.diffusion == "exact" else settings.diffusion
        return MaxwellStefan(D, scale, prior=prior, form=form)

    def _prior(self, r: Float[Array, "S p"], h_e: Float[Array, "E f"]) -> Float[Array, "S E"]:
        hidden = jax.nn.gelu(dense(self.edge, h_e)[None] + dense(self.species, r)[:, None])
        return FLUX_REF * jnp.tanh(dense(self.prior, hidden)[..., 0])
