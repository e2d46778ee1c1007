"""From a checked configuration to a problem that can be solved: names become indices, lists become arrays."""

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unmixnet.errors import ChamberError, ConfigError, SolveError
from unmixnet.simulation import builders
from unmixnet.simulation.chamber import Cell, Chamber, Edge, Sensor
from unmixnet.simulation.config import CompositionSection, SimulationConfig

if TYPE_CHECKING:
    from unmixnet.physics.geometry import Geometry
    from unmixnet.physics.rollout import Policy
    from unmixnet.physics.state import Process, State

__all__ = ["Problem", "build"]

_SUBSTEPS = 10_000
"""More substeps than this means that dt_s is far from the chamber's own time scale."""


@dataclass(frozen=True)
class Problem:
    """A simulation that is ready to run."""

    chamber: Chamber
    species: tuple[str, ...]
    """Carrier first."""
    process: "Process"
    geometry: "Geometry"
    start: "State"
    dt_s: float
    n_steps: int
    policy: "Policy"
    dtype: str


def build(config: SimulationConfig) -> Problem:
    """Turn a checked configuration into arrays; runs under the floating type that it names.

    >>> import unmixnet as um
    >>> problem = um.build(um.parse_simulation(um.example("enose")))
    >>> problem.n_steps * problem.dt_s
    180.0
    """
    import jax

    if not isinstance(config, SimulationConfig):
        raise ConfigError(
            f"a {type(config).__name__} was given, expected a simulation",
            remedy="Read one with load_simulation or parse_simulation",
        )
    with jax.enable_x64(config.run.dtype == "float64"):
        return _build(config)


def _build(config: SimulationConfig) -> Problem:
    import jax.numpy as jnp

    from unmixnet.physics.conditions import Conditions
    from unmixnet.physics.maxwell_stefan import MaxwellStefan
    from unmixnet.physics.rollout import Policy
    from unmixnet.physics.state import Process

    chamber = _chamber(config)
    conditions = Conditions.of(**config.conditions.model_dump())
    D = _diffusivity(config, conditions)
    K, V = len(config.species.odorants), len(chamber.cells)
    wall = np.zeros((V, K + 1))
    for name, rate in config.wall_per_s.items():
        wall[_cell(chamber, name, "wall_per_s"), 1:] = rate
    process = Process(
        source=_source(config, chamber),
        flow=chamber.velocities(),
        diffusion=MaxwellStefan(D, jnp.ones(len(chamber.edges))),
        wall=jnp.asarray(wall, float) if wall.any() else None,
        surface=_surface(config),
        readout=_readout(config),
        conditions=conditions,
        inlet=_schedule(dict.fromkeys(range(V), config.inlet), V, K) if config.inlet else _air_inlet(chamber, K),
        boundary=_schedule({_cell(chamber, k, "fixed"): v for k, v in config.fixed.items()}, V, K)
        if config.fixed
        else None,
    )
    geometry = chamber.geometry()
    start = _start(config, process, geometry)
    policy = Policy(*_substeps(chamber, config.run.dt_s, float(jnp.max(D))))
    n_steps = max(1, round(config.run.duration_s / config.run.dt_s))
    names = (config.species.carrier, *config.species.odorants)
    return Problem(chamber, names, process, geometry, start, config.run.dt_s, n_steps, policy, config.run.dtype)


def _start(config: SimulationConfig, process: "Process", geometry: "Geometry") -> "State":
    import jax

    from unmixnet.physics.state import clean_air
    from unmixnet.physics.steady import steady_state
    from unmixnet.simulation.state_file import load_state

    how, air = config.run.start, clean_air(process, geometry)
    if how == "clean air":
        return air
    if how.endswith(".npz"):
        return load_state(how, like=air)
    if how != "steady state":
        raise ConfigError(
            f"unknown start {how!r}",
            where="run.start",
            remedy='Use "clean air", "steady state" or a state file "….npz"',
        )
    state, exists = jax.jit(steady_state)(process, geometry)
    if not bool(exists):
        raise SolveError(
            "the source has no steady state in this chamber",
            where="run.start",
            remedy="Add an outlet or wall loss, or use a constant source, or start from clean air",
        )
    return state


def _chamber(config: SimulationConfig) -> Chamber:
    section = config.chamber
    if section.builder is None:
        cells = tuple(Cell(**cell.model_dump()) for cell in section.cells)
        edges = tuple(Edge(**edge.model_dump()) for edge in section.edges)
        placed = Chamber(cells, edges, ())
    else:
        builder = builders.BUILDERS[section.builder]
        known = inspect.signature(builder).parameters
        for key in section.options:
            if key not in known:
                raise ConfigError(
                    "unknown option", where=f"chamber.options.{key}", remedy=f"Use one of {', '.join(known)}"
                )
        placed = builder(**{k: tuple(v) if isinstance(v, list) else v for k, v in section.options.items()})
    seats = {sensor.name: sensor.cell for sensor in placed.sensors}
    sensors = []
    for i, sensor in enumerate(config.sensors):
        cell = sensor.cell or seats.get(sensor.name)
        if cell is None:
            raise ChamberError(
                "the sensor has no cell", where=f"sensors[{i}] ({sensor.name})", remedy='Add cell = "…" to it'
            )
        sensors.append(Sensor(sensor.name, cell))
    return Chamber(placed.cells, placed.edges, tuple(sensors))


def _cell(chamber: Chamber, name: str, where: str) -> int:
    if name not in chamber.index:
        raise ConfigError(f"{name!r} is not a cell", where=where, remedy=f"Use one of {', '.join(chamber.index)}")
    return chamber.index[name]


def _per_odorant(values: Sequence[float], K: int, where: str) -> np.ndarray:
    if len(values) not in (1, K):
        raise ConfigError(
            f"{len(values)} numbers for {K} odorants", where=where, remedy="Give one number, or one for each odorant"
        )
    return np.broadcast_to(np.asarray(values, float), (K,))


def _diffusivity(config: SimulationConfig, conditions: Any) -> Any:
    import jax.numpy as jnp

    from unmixnet.physics.species import fuller_diffusivity, species

    names = (config.species.carrier, *config.species.odorants)
    if config.species.diffusivity_m2_s is not None:
        D = np.asarray(config.species.diffusivity_m2_s, float)
        off = ~np.eye(len(names), dtype=bool)
        if D.shape != (len(names), len(names)) or not np.allclose(D, D.T) or not np.all(D[off] > 0):
            raise ConfigError(
                f"expected a symmetric positive {len(names)}×{len(names)} matrix",
                where="species.diffusivity_m2_s",
                remedy="List the carrier first, then the odorants; the diagonal is ignored",
            )
        return jnp.asarray(D, float)
    try:
        rows = [species(name) for name in names]
    except KeyError as error:
        raise ConfigError(str(error.args[0]), where="species", remedy="Or give diffusivity_m2_s") from None
    return fuller_diffusivity(
        jnp.asarray([row.molar_mass_g_mol for row in rows], float),
        jnp.asarray([row.diffusion_volume for row in rows], float),
        conditions.temperature,
        conditions.pressure,
    )


def _source(config: SimulationConfig, chamber: Chamber) -> Any:
    import jax.numpy as jnp

    from unmixnet.physics.source import Constant, RiseDecay, Source, Tabulated

    section, K = config.source, len(config.species.odorants)

    def per(name: str) -> Any:
        return jnp.asarray(_per_odorant(getattr(section, name), K, f"source.{name}"), float)

    p_src = np.zeros(len(chamber.cells))
    for name, weight in section.cells.items():
        p_src[_cell(chamber, name, "source.cells")] = weight
    if not section.cells:
        p_src[chamber.cells_of("source")] = 1
    if not p_src.sum() > 0:
        raise ConfigError("no cell releases anything", where="source.cells", remedy="Name a cell with a weight")
    if section.profile == "rise-decay":
        profile = RiseDecay(per("tau_rise_s"), per("tau_decay_s"), jnp.asarray(config.run.duration_s, float))
    elif section.profile == "constant":
        profile = Constant()
    else:
        rates = [_per_odorant(row, K, "source.rates_per_s") for row in section.rates_per_s]
        if len(rates) != len(section.times_s) or len(rates) < 2 or np.any(np.diff(section.times_s) <= 0):
            raise ConfigError(
                "a table needs two or more rising times and a rate for each",
                where="source.times_s",
                remedy="Give times_s and rates_per_s of equal length",
            )
        profile = Tabulated(jnp.asarray(section.times_s, float), jnp.asarray(np.array(rates), float))
    return Source(
        per("amount_mol"),
        profile,
        jnp.asarray(p_src / p_src.sum(), float),
        per("vaporisation_J_mol"),
        per("humidity_slope"),
    )


def _surface(config: SimulationConfig) -> Any:
    import jax.numpy as jnp

    from unmixnet.physics.adsorption import Surface

    K = len(config.species.odorants)

    def stack(name: str) -> Any:
        rows = [_per_odorant(getattr(s, name), K, f"sensors.{s.name}.{name}") for s in config.sensors]
        return jnp.asarray(np.array(rows).reshape(len(rows), K), float)

    sites = jnp.asarray([s.sites_mol for s in config.sensors], float)
    return Surface(stack("k_ads_m3_mol_s"), stack("k_des_per_s"), sites)


def _readout(config: SimulationConfig) -> Any:
    import jax.numpy as jnp

    from unmixnet.physics import readout as law

    K, sensors = len(config.species.odorants), config.sensors

    def each(name: str) -> Any:
        return jnp.asarray([getattr(s, name) for s in sensors], float)

    family = config.transduction.family
    if family == "spline":
        knots = config.transduction.knots
        if len(knots) < 2 or any(len(s.slopes) != len(knots) for s in sensors):
            raise ConfigError(
                "a spline needs two or more knots and as many slopes for each sensor",
                where="transduction.knots",
                remedy="Give knots here and slopes at each sensor",
            )
        g = law.MonotoneSpline(jnp.asarray(knots, float), jnp.asarray([s.slopes for s in sensors], float))
    else:
        g = {
            "linear": law.Linear,
            "logarithmic": lambda: law.Logarithmic(each("k")),
            "power": lambda: law.PowerLaw(each("k"), each("n")),
            "sips": lambda: law.Sips(each("k"), each("n"), each("r0")),
        }[family]()
    beta = np.array([_per_odorant(s.beta, K, f"sensors.{s.name}.beta") for s in sensors]).reshape(len(sensors), K)
    recovery = [s.tau_rise_s if s.tau_recovery_s is None else s.tau_recovery_s for s in sensors]
    return law.Readout(
        beta=jnp.asarray(beta, float),
        g=g,
        gain=each("gain"),
        sign=each("sign"),
        baseline=each("baseline"),
        tau_rise=each("tau_rise_s"),
        tau_recovery=jnp.asarray(recovery, float),
        baseline_slopes=jnp.stack([each("baseline_per_K"), each("baseline_per_lnH")], axis=1),
        gain_slopes=jnp.stack([each("gain_per_K"), each("gain_per_lnH")], axis=1),
    )


def _schedule(sections: dict[int, CompositionSection], V: int, K: int) -> Any:
    import jax.numpy as jnp

    from unmixnet.physics.state import Schedule

    times = sorted({t for section in sections.values() for t in section.times_s})
    values = np.zeros((len(times), V, K + 1))
    values[..., 0] = 1
    for cell, section in sections.items():
        rows = np.array([_per_odorant(row, K, "fractions") for row in section.fractions])
        if len(rows) != len(section.times_s) or np.any(rows < 0) or np.any(rows.sum(axis=1) > 1):
            raise ConfigError(
                "fractions must be non-negative, sum to at most 1, and match times_s",
                where="fractions",
                remedy="Give one row of odorant fractions for each time; the carrier is the rest",
            )
        for i in range(K):
            values[:, cell, i + 1] = np.interp(times, section.times_s, rows[:, i])
    values[..., 0] = 1 - values[..., 1:].sum(axis=-1)
    return Schedule(jnp.asarray(times, float), jnp.asarray(values, float))


def _air_inlet(chamber: Chamber, K: int) -> Any:
    if not any(cell.inlet_m3_s for cell in chamber.cells):
        return None
    return _schedule({0: CompositionSection(fractions=[[0.0] * K])}, len(chamber.cells), K)


def _substeps(chamber: Chamber, dt_s: float, D_max: float) -> tuple[int, int]:
    """Substeps that keep the CFL number at most one and the diffusion number at most one half."""
    counts = math.ceil(chamber.cfl(dt_s) - 1e-9), math.ceil(2 * chamber.diffusion_number(dt_s, D_max) - 1e-9)
    if max(counts) > _SUBSTEPS:
        raise ConfigError(
            f"a step of {dt_s} s needs {max(counts)} substeps in this chamber",
            where="run.dt_s",
            remedy=f"Use a step of at most {dt_s * _SUBSTEPS / max(counts):.2g} s, or larger cells",
        )
    return max(counts[0], 1), max(counts[1], 1)
