r"""Gases and vapours, and the binary diffusivities that follow from two numbers of each.

Fuller, Schettler & Giddings (1966; constants of Fuller, Ensley & Giddings 1969 as in Poling, Prausnitz & O'Connell,
*The Properties of Gases and Liquids*, 5th ed., eq. 11-4.4 and table 11-1):

    D_AB = 0.00143 T^1.75 / (p M_AB^½ (v_A^⅓ + v_B^⅓)²)  [cm²/s],   M_AB = 2/(1/M_A + 1/M_B)

T in K, p in bar, M in g/mol, v the diffusion volume. About 4 % mean error for non-polar pairs.
"""

import re
from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float

__all__ = ["SPECIES", "Species", "fuller_diffusivity", "species"]

_ATOMIC_MASS = {
    **{"C": 12.011, "H": 1.008, "O": 15.999, "N": 14.007, "S": 32.06, "F": 18.998, "Cl": 35.45},
    **{"He": 4.0026, "Ne": 20.180, "Ar": 39.95, "Kr": 83.798, "Xe": 131.29},
}
"""g/mol, IUPAC 2021 conventional values."""
_INCREMENT = {"C": 15.9, "H": 2.31, "O": 6.11, "N": 4.54, "S": 22.9, "Cl": 21.0}
_RING = -18.3
_TABLE = "measured volume, Fuller 1969 (Poling 5th ed., table 11-1)"
_SUM = "sum of atomic increments, Fuller 1969 (Poling 5th ed., table 11-1)"


@dataclass(frozen=True)
class Species:
    """One gas or vapour."""

    name: str
    formula: str
    molar_mass_g_mol: float
    diffusion_volume: float
    """Fuller's v, dimensionless by convention [cm³/mol]."""
    source: str
    """Where the diffusion volume comes from."""
    note: str = ""
    """Odour, or role in a chamber."""


def _atoms(formula: str) -> dict[str, int]:
    return {element: int(count or 1) for element, count in re.findall(r"([A-Z][a-z]?)(\d*)", formula)}


def _mass(formula: str) -> float:
    return sum(_ATOMIC_MASS[element] * count for element, count in _atoms(formula).items())


def _measured(name: str, formula: str, volume: float, note: str = "") -> Species:
    return Species(name, formula, _mass(formula), volume, _TABLE, note)


def _summed(name: str, formula: str, rings: int = 0, note: str = "") -> Species:
    """Volume from increments; each aromatic or heterocyclic ring takes 18.3 off."""
    volume = sum(_INCREMENT[element] * count for element, count in _atoms(formula).items()) + _RING * rings
    return Species(name, formula, _mass(formula), volume, _SUM, note)


_ROWS = (
    Species("air", "", 28.965, 19.7, _TABLE, "carrier"),
    _measured("nitrogen", "N2", 18.5, "carrier"),
    _measured("oxygen", "O2", 16.3),
    _measured("argon", "Ar", 16.2, "carrier"),
    _measured("helium", "He", 2.67, "carrier"),
    _measured("neon", "Ne", 5.98),
    _measured("krypton", "Kr", 24.5),
    _measured("xenon", "Xe", 32.7),
    _measured("hydrogen", "H2", 6.12),
    _measured("carbon dioxide", "CO2", 26.9),
    _measured("carbon monoxide", "CO", 18.0),
    _measured("water", "H2O", 13.1, "humidity"),
    _measured("ammonia", "NH3", 20.7, "pungent"),
    _measured("sulfur dioxide", "SO2", 41.8, "pungent"),
    _measured("nitrous oxide", "N2O", 35.9),
    _measured("chlorine", "Cl2", 38.4),
    _measured("sulfur hexafluoride", "SF6", 71.3, "tracer"),
    _summed("nitrogen dioxide", "NO2", note="oxidising"),
    _summed("hydrogen sulfide", "H2S", note="rotten egg"),
    _summed("methane", "CH4"),
    _summed("ethane", "C2H6"),
    _summed("ethylene", "C2H4", note="ripening fruit"),
    _summed("propane", "C3H8"),
    _summed("isobutane", "C4H10"),
    _summed("isoprene", "C5H8", note="breath"),
    _summed("methanol", "CH4O"),
    _summed("ethanol", "C2H6O", note="alcoholic"),
    _summed("acetone", "C3H6O", note="solvent"),
    _summed("acetic acid", "C2H4O2", note="vinegar"),
    _summed("acetaldehyde", "C2H4O", note="green apple"),
    _summed("formaldehyde", "CH2O", note="indoor air"),
    _summed("benzene", "C6H6", 1),
    _summed("toluene", "C7H8", 1, "solvent"),
    _summed("ethyl acetate", "C4H8O2", note="pear drops"),
    _summed("ethyl butyrate", "C6H12O2", note="strawberry, mango"),
    _summed("isoamyl acetate", "C7H14O2", note="banana"),
    _summed("hexyl acetate", "C8H16O2", note="pear, apple"),
    _summed("hexanal", "C6H12O", note="cut grass"),
    _summed("gamma-decalactone", "C10H18O2", 1, "peach"),
    _summed("limonene", "C10H16", note="orange"),
    _summed("myrcene", "C10H16", note="mango"),
    _summed("linalool", "C10H18O", note="coriander"),
    _summed("benzaldehyde", "C7H6O", 1, "almond"),
    _summed("cuminaldehyde", "C10H12O", 1, "cumin"),
    _summed("eugenol", "C10H12O2", 1, "clove"),
    _summed("diallyl disulfide", "C6H10S2", note="garlic"),
)

SPECIES: dict[str, Species] = {row.name: row for row in _ROWS}
"""All species by name."""


def species(name: str) -> Species:
    """A species by name, or by formula where only one of the table has it; both are case-sensitive.

    An unknown name raises `KeyError` with the nearest one, a formula of several species one that lists them.

    >>> from unmixnet.physics.species import species
    >>> species("hydrogen") is species("H2")
    True
    >>> species("CH4").diffusion_volume  # 15.9 + 4 · 2.31
    25.14
    """
    if name in SPECIES:
        return SPECIES[name]
    isomers = [row for row in _ROWS if row.formula == name != ""]
    if len(isomers) == 1:
        return isomers[0]
    if isomers:
        raise KeyError(f"{name!r} may be {' or '.join(row.name for row in isomers)}; use the name")
    raise KeyError(f"unknown species {name!r}{_nearest(name)}")


def _nearest(name: str) -> str:
    import difflib

    spelt = {known.lower(): known for row in _ROWS for known in (row.formula, row.name)}
    close = difflib.get_close_matches(name.lower(), spelt, n=1)
    return f"; did you mean {spelt[close[0]]!r}?" if close else ""


def fuller_diffusivity(
    molar_mass: Float[Array, " S"],
    volume: Float[Array, " S"],
    temperature: Float[Array, ""],
    pressure: Float[Array, ""],
) -> Float[Array, "S S"]:
    """All pair diffusivities [m²/s] from M [g/mol], v, T [K] and p [Pa]."""
    M_pair = 2 / (1 / molar_mass[:, None] + 1 / molar_mass[None, :])
    v_pair = (jnp.cbrt(volume)[:, None] + jnp.cbrt(volume)[None, :]) ** 2
    return 1e-4 * 0.00143 * temperature**1.75 / (pressure / 1e5 * jnp.sqrt(M_pair) * v_pair)
