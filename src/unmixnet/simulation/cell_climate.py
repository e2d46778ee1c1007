r"""Temperature and pressure of each cell, and what follows from them when a problem is built.

    c_v = p_v/(R T_v),    D_e = D (T_e/T)^1.75 p/p_e,    F_v = F c/c_v

T_e and p_e are the means of the two cells of an edge. Flows are given at the temperature and pressure of the chamber,
as a flow controller sets them: through a warm cell the same moles take a larger volume flow, so that no cell fills up
or empties. What depends on the temperature of a sensor or a source is folded into its own coefficients, since the laws
know one temperature for all.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unmixnet.physics.conditions import GAS_CONSTANT
from unmixnet.simulation.cell_names import cells_named
from unmixnet.simulation.chamber import Chamber

if TYPE_CHECKING:
    from unmixnet.physics.advection import Velocities
    from unmixnet.simulation.config import ConditionsSection

__all__ = ["CellClimate"]

_FULLER = 1.75
"""Exponent of the temperature in a diffusivity."""


@dataclass(frozen=True)
class CellClimate:
    """Temperature [K] and pressure [Pa] of each cell beside those of the chamber."""

    chamber: Chamber
    temperature_K: np.ndarray
    pressure_Pa: np.ndarray
    common_K: float
    common_Pa: float

    @staticmethod
    def of(conditions: "ConditionsSection", chamber: Chamber) -> "CellClimate":
        """From a checked section."""
        T = np.full(len(chamber.cells), conditions.temperature_K)
        p = np.full(len(chamber.cells), conditions.pressure_Pa)
        for name, own in conditions.cells.items():
            cells = cells_named(chamber, name, f"conditions.cells.{name}")
            T[cells] = T[cells] if own.temperature_K is None else own.temperature_K
            p[cells] = p[cells] if own.pressure_Pa is None else own.pressure_Pa
        return CellClimate(chamber, T, p, conditions.temperature_K, conditions.pressure_Pa)

    @property
    def differs(self) -> bool:
        """Whether any cell has a temperature or pressure of its own."""
        return bool(np.any(self.temperature_K != self.common_K) or np.any(self.pressure_Pa != self.common_Pa))

    @property
    def air_mol_m3(self) -> np.ndarray:
        """Concentration of the gas in each cell."""
        return self.pressure_Pa / (GAS_CONSTANT * self.temperature_K)

    @property
    def edge_scale(self) -> np.ndarray:
        """Factor on D of each edge."""
        T, p = (0.5 * (a[self.chamber.tail] + a[self.chamber.head]) for a in (self.temperature_K, self.pressure_Pa))
        return (T / self.common_K) ** _FULLER * self.common_Pa / p

    @property
    def sensor_excess_K(self) -> np.ndarray:
        """How much warmer each sensor is than the chamber."""
        index, sensors = self.chamber.index, self.chamber.sensors
        pairs = [(index[sensor.cell], index[sensor.beside or sensor.cell]) for sensor in sensors]
        return self.temperature_K[np.array(pairs, int).reshape(-1, 2)].mean(axis=1) - self.common_K

    def release_factor(self, vaporisation_J_mol: np.ndarray, p_src: np.ndarray) -> np.ndarray:
        """How much more of each odorant evaporates, the mean over the cells of the source."""
        excess = (1 / self.temperature_K - 1 / self.common_K) / GAS_CONSTANT
        return np.exp(-vaporisation_J_mol[:, None] * excess) @ p_src

    def expanded(self, flow: "Velocities") -> Any:
        """The flows at the temperature and pressure of the cells that they leave."""
        import equinox as eqx
        import jax.numpy as jnp

        expansion = self.common_Pa / (GAS_CONSTANT * self.common_K) / self.air_mol_m3
        behind = np.where(self.chamber.flow_m3_s >= 0, self.chamber.tail, self.chamber.head)
        factors = (expansion[behind], expansion, expansion)
        flows = (flow.velocity, flow.outlet_flow, flow.inlet_flow)
        new = tuple(each * jnp.asarray(factor, each.dtype) for each, factor in zip(flows, factors, strict=True))
        return eqx.tree_at(lambda f: (f.velocity, f.outlet_flow, f.inlet_flow), flow, new)
