"""Temperature, humidity and pressure of a recording, and what the laws derive from them."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

__all__ = ["GAS_CONSTANT", "Conditions", "absolute_humidity", "air_concentration"]

GAS_CONSTANT = 8.31446261815324
"""R [J/(mol K)], exact since the 2019 SI."""


class Conditions(eqx.Module):
    """Ambient conditions e that the source, the sensors and the diffusivities may depend on.

    Departures are measured from 298.15 K and 10 g/m³ of water vapour (43 % relative humidity at 25 °C).
    """

    temperature: Float[Array, "*#b"]
    """T [K]."""
    humidity: Float[Array, "*#b"]
    """Absolute humidity H [g/m³]."""
    pressure: Float[Array, "*#b"]
    """p [Pa]."""
    air: Float[Array, "V *#b"] | None = None
    """Concentration of the gas in each cell [mol/m³], where temperature or pressure differ between cells."""

    @staticmethod
    def of(temperature_K: float = 298.15, humidity_g_m3: float = 10.0, pressure_Pa: float = 101325.0) -> "Conditions":
        """Conditions from plain numbers, in the default floating type."""
        return Conditions(*(jnp.asarray(float(value)) for value in (temperature_K, humidity_g_m3, pressure_Pa)))

    @property
    def warmth(self) -> Float[Array, "*#b"]:
        """T − 298.15 K."""
        return self.temperature - 298.15

    @property
    def moisture(self) -> Float[Array, "*#b"]:
        """ln(H / 10 g/m³), the form in which humidity moves a MOX baseline."""
        return jnp.log(jnp.maximum(self.humidity, 1e-6) / 10.0)


def air_concentration(conditions: Conditions) -> Float[Array, "*#b"] | Float[Array, "V *#b"]:
    """Total molar concentration of an ideal gas, c = p/(RT) [mol/m³]: of the chamber, or of each of its cells."""
    if conditions.air is not None:
        return conditions.air
    return conditions.pressure / (GAS_CONSTANT * conditions.temperature)


def absolute_humidity(relative_percent: Float[Array, "*#b"], temperature_K: Float[Array, "*#b"]) -> Float[Array, "*#b"]:
    """Absolute humidity [g/m³] from relative humidity [%]: Magnus saturation pressure and the ideal gas law."""
    celsius = temperature_K - 273.15
    saturation_Pa = 611.2 * jnp.exp(17.62 * celsius / (243.12 + celsius))
    return 18.015 * (relative_percent / 100) * saturation_Pa / (GAS_CONSTANT * temperature_K)
