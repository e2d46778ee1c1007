"""The truth behind a generated recording: a 60 ml flow-through chamber, 16 sensors of 4 types, and a random programme.

The chamber is the builder's, every cell cut into four, solved in steps of a quarter second: finer than any model here.
Affinities and sensitivities are of the size that the real plateaus give; units of one type differ by a tenth.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from studies.uci.dynamic_response import Programme
from unmixnet.errors import ConfigError
from unmixnet.simulation.builders import flow_through
from unmixnet.simulation.chamber import Chamber
from unmixnet.simulation.refinement import refined

if TYPE_CHECKING:
    from unmixnet.physics.state import Process

__all__ = ["GASES", "PARTS", "STEP_S", "Rig", "arriving_ppm", "random_programme", "rig_chamber", "rig_process"]

GASES = {"methane": "methane", "CO": "carbon monoxide", "ethylene": "ethylene"}
"""Name in the file, and in the table of species."""
STEP_S, PARTS = 0.25, 4
DELAY_S = 9.0
"""From the valves to the chamber."""
PURGE_PPM_S = {"methane": 40.0, "CO": 60.0, "ethylene": 150.0}
"""A line that was shut arrives this over its concentration later."""
_TOP = {"methane": (66.67, 296.67), "CO": (66.67, 533.33), "ethylene": (6.67, 20.0)}
_UNIT_SD = 0.1
_AFFINITY = {"methane": (0.05, 0.5, 0.6, 0.4), "CO": (0.2, 0.4, 0.1, 0.3), "ethylene": (0.1, 0.1, 0.03, 0.16)}
_ADDS = {"methane": (0.3, 5.0, 10.0, 5.0), "CO": (3.0, 8.0, 2.0, 6.0), "ethylene": (3.0, 28.0, 25.0, 18.0)}
_PER_PPM = {"methane": 100.0, "CO": 100.0, "ethylene": 10.0}
"""Types TGS2602, 2600, 2610, 2620: affinity for 100 ppm (ethylene: 10), and times air that a full surface adds."""
_DESORPTION = (0.02, 0.08, 0.3, 0.1)
_AIR = (7.9, 6.9, 6.4, 6.8)


@dataclass(frozen=True)
class Rig:
    """What fixes a generated recording: its two gases and a seed; rigs of one seed have the same sensors."""

    gases: tuple[str, str] = ("methane", "ethylene")
    seed: int = 0

    def __post_init__(self) -> None:
        if not set(self.gases) <= set(GASES):
            raise ConfigError(f"gases {', '.join(self.gases)}", where="rig", remedy=f"Choose among {', '.join(GASES)}")


def random_programme(rig: Rig, hours: float) -> Programme:
    """Set points [ppm] as in the real files: mostly 80 to 120 s long, each gas absent, kept or changed at random."""
    rng = np.random.default_rng([rig.seed, 1, list(GASES).index(rig.gases[0])])
    start, c = [0.0, 100.0, 200.0, 300.0, 400.0], np.zeros((5, 2))
    c[1, 0], c[2, 1], c[4] = _level(rng, rig.gases[0]), _level(rng, rig.gases[1]), [_level(rng, g) for g in rig.gases]
    rows, t = [*c], 500.0
    while t < 3600 * hours:
        now = rows[-1].copy()
        for i in rng.choice([[0], [1], [0, 1]][rng.integers(3)], size=2):
            now[i] = 0.0 if rng.random() < 0.45 else _level(rng, rig.gases[i])
        if np.any(now != rows[-1]):
            rows.append(now)
            start.append(t)
            t += rng.uniform(80, 120) if rng.random() < 0.9 else rng.uniform(120, 300)
    kept = np.array(start) < 3600 * hours
    return Programme(np.round(np.array(start), 2)[kept], np.round(np.array(rows), 2)[kept])


def arriving_ppm(rig: Rig, programme: Programme, time_s: np.ndarray) -> np.ndarray:
    """What enters the chamber [ppm], shape (n, 2): late by the delay, and by purging where a line was shut."""
    out = np.tile(programme.c[0], (len(time_s), 1)).astype(float)
    for i, gas in enumerate(rig.gases):
        for j in range(1, len(programme.c)):
            old, new = programme.c[j - 1, i], programme.c[j, i]
            if old != new:
                late = DELAY_S + (PURGE_PPM_S[gas] / new if old == 0 else 0.0)
                out[:, i] += (new - old) * (time_s >= programme.start_s[j] + late)
    return np.maximum(out, 0)


def rig_chamber(*, fine: bool = True) -> Chamber:
    """60 ml at 300 ml/min with 16 sensors along the way; cut finer for the truth."""
    coarse = flow_through(6, sensors=16)
    return refined(coarse, PARTS, centred=False) if fine else coarse


def rig_process(rig: Rig, chamber: Chamber) -> "Process":
    """The coefficients; the inlet is left out, it belongs to the programme."""
    import jax.numpy as jnp

    from unmixnet.physics.conditions import Conditions, air_concentration
    from unmixnet.physics.maxwell_stefan import MaxwellStefan
    from unmixnet.physics.source import Constant, Source
    from unmixnet.physics.species import fuller_diffusivity, species
    from unmixnet.physics.state import Process

    conditions, V = Conditions.of(), len(chamber.cells)
    rows = [species("air"), *(species(GASES[gas]) for gas in rig.gases)]
    masses, volumes = (jnp.asarray([getattr(r, key) for r in rows]) for key in ("molar_mass_g_mol", "diffusion_volume"))
    surface, readout = _sensors(rig, float(air_concentration(conditions)))
    nothing = jnp.zeros(2)
    return Process(
        source=Source(nothing, Constant(), jnp.ones(V) / V, nothing, nothing),
        flow=chamber.velocities(),
        diffusion=MaxwellStefan(
            fuller_diffusivity(masses, volumes, conditions.temperature, conditions.pressure),
            jnp.ones(len(chamber.edges)),
        ),
        wall=None,
        surface=surface,
        readout=readout,
        conditions=conditions,
    )


def air_log_conductance(rig: Rig) -> np.ndarray:
    """Logarithm of the reading of each sensor in clean air, shape (16,)."""
    return np.array(_AIR)[_types()] + np.random.default_rng([rig.seed, 2]).normal(0, _UNIT_SD, 16)


def _sensors(rig: Rig, c_air: float):
    """Surfaces and readouts: ln G = ln(1 + Σ S θ), then the lag; every unit has its own draws."""
    import jax.numpy as jnp

    from unmixnet.physics.adsorption import Surface
    from unmixnet.physics.readout import Logarithmic, Readout

    rng, types = np.random.default_rng([rig.seed, 3]), _types()
    own = [
        np.random.default_rng([rig.seed, 5, list(GASES).index(gas)]).normal(0, _UNIT_SD, (3, 16)) for gas in rig.gases
    ]
    spread = np.exp(np.stack(own, axis=2))
    K = np.array([_AFFINITY[gas] for gas in rig.gases])[:, types].T * spread[0]
    S = np.array([_ADDS[gas] for gas in rig.gases])[:, types].T * spread[1]
    k_des = np.array(_DESORPTION)[types][:, None] * spread[2]
    per_mol_m3 = K / (np.array([_PER_PPM[gas] for gas in rig.gases]) * 1e-6 * c_air)
    ones, zeros = jnp.ones(16), jnp.zeros(16)
    tau = jnp.asarray(rng.uniform(1.5, 4.0, 16))
    flat = jnp.zeros((2, 16))
    readout = Readout(jnp.asarray(S.T), Logarithmic(ones), ones, ones, zeros, tau, 3 * tau, flat, flat)
    return Surface(jnp.asarray((per_mol_m3 * k_des).T), jnp.asarray(k_des.T), jnp.full(16, 1e-11)), readout


def _types() -> np.ndarray:
    """Type of each sensor: two of each, twice."""
    return np.arange(16) // 2 % 4


def _level(rng: np.random.Generator, gas: str) -> float:
    lo, hi = _TOP[gas]
    return float(np.round(rng.uniform(lo, hi), 2))
