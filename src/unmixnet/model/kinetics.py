r"""Adsorption coefficients from species and sensor-material embeddings, conditions and h_Y.

k = k_ref · exp(MLP(r_i, mat_m)) · exp(s tanh(MLP(r_i, mat_m, T, H, h_Y)))        for k_ads and k_des
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.layers import Modulation, SensorSpecies, dense
from unmixnet.model.settings import Settings, shape_of
from unmixnet.physics.adsorption import Surface

__all__ = ["Kinetics"]

K_ADS, K_DES = 40.0, 0.15
"""Typical rates [m³/(mol s)], [1/s]: a sensor fills within seconds at 100 ppm and empties within ten."""
SITES_MOL = 1e-10
"""Surface sites of a sensor: its uptake hardly changes the gas."""


class Kinetics(eqx.Module):
    """Sets the surface."""

    pairs: SensorSpecies
    species: eqx.nn.Linear
    material: eqx.nn.Linear
    sample: eqx.nn.Linear
    modulation: Modulation

    @classmethod
    def of(cls, settings: Settings, key: PRNGKeyArray) -> "Kinetics":
        """Draw the networks."""
        shape = shape_of(settings.size)
        a, b, c, d, e = jax.random.split(key, 5)
        return cls(
            SensorSpecies.of(shape.embedding, shape.hidden, 2, a),
            eqx.nn.Linear(shape.embedding, shape.hidden, key=b),
            eqx.nn.Linear(shape.embedding, shape.hidden, use_bias=False, key=c),
            eqx.nn.Linear(shape.width + 2, shape.hidden, use_bias=False, key=d),
            Modulation.of(shape.hidden, 2, settings.modulation, e),
        )

    def __call__(
        self, r: Float[Array, "K p"], mat: Float[Array, "M p"], e: Float[Array, " 2"], h_Y: Float[Array, " d"]
    ) -> Surface:
        """Rates of one sample."""
        log_k = self.pairs(r, mat)
        if self.modulation.strength > 0:
            sample = self.sample(jnp.concatenate([h_Y, e]))
            hidden = dense(self.species, r)[:, None] + dense(self.material, mat)[None] + sample
            log_k = log_k + self.modulation.shift(jax.nn.gelu(hidden))
        k_ads, k_des = jnp.moveaxis(jnp.exp(log_k), -1, 0)
        sites = jnp.full(mat.shape[0], SITES_MOL, k_ads.dtype)
        return Surface(K_ADS * k_ads, K_DES * k_des, sites)
