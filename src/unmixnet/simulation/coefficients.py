"""From the tables of a simulation file to the coefficients of the laws: names become indices, lists become arrays."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.simulation.cell_climate import CellClimate
from unmixnet.simulation.cell_names import cells_named
from unmixnet.simulation.chamber import Chamber
from unmixnet.simulation.config import CompositionSection, SensorSection, SimulationConfig, SourceSection

if TYPE_CHECKING:
    from unmixnet.physics.state import Process

__all__ = ["process_of"]


def process_of(config: SimulationConfig, chamber: Chamber) -> "Process":
    """All coefficients of a checked configuration, in the current default floating type."""
    import equinox as eqx
    import jax.numpy as jnp

    from unmixnet.physics.conditions import Conditions
    from unmixnet.physics.maxwell_stefan import MaxwellStefan
    from unmixnet.physics.state import Process

    climate, plain = CellClimate.of(config.conditions, chamber), config.conditions
    conditions = Conditions.of(plain.temperature_K, plain.humidity_g_m3, plain.pressure_Pa)
    flow, scale = chamber.velocities(), np.ones(len(chamber.edges))
    if climate.differs:
        conditions = eqx.tree_at(
            lambda c: c.air, conditions, jnp.asarray(climate.air_mol_m3, float), is_leaf=lambda leaf: leaf is None
        )
        flow, scale = climate.expanded(flow), climate.edge_scale
    return Process(
        source=_source(config, climate),
        flow=flow,
        diffusion=MaxwellStefan(_diffusivity(config, conditions), jnp.asarray(scale, float)),
        wall=_wall(config, chamber),
        surface=_surface(config),
        readout=_readout(config, climate),
        conditions=conditions,
        inlet=_inlet(config, chamber),
        boundary=_boundary(config, chamber),
    )


def _per_odorant(values: Sequence[float], K: int, where: str) -> np.ndarray:
    if len(values) not in (1, K):
        raise ConfigError(
            f"{len(values)} numbers for {K} odorants", where=where, remedy="Give one number, or one for each odorant"
        )
    return np.broadcast_to(np.asarray(values, float), (K,))


def _wall(config: SimulationConfig, chamber: Chamber) -> Any:
    import jax.numpy as jnp

    rate = np.zeros((len(config.species.names), len(chamber.cells)))
    for name, value in config.wall_per_s.items():
        rate[1:, cells_named(chamber, name, f"wall_per_s.{name}")] = value
    return jnp.asarray(rate, float) if rate.any() else None


def _diffusivity(config: SimulationConfig, conditions: Any) -> Any:
    import jax.numpy as jnp

    from unmixnet.physics.species import fuller_diffusivity, species

    names = config.species.names
    if config.species.diffusivity_m2_s is not None:
        return jnp.asarray(_matrix(config.species.diffusivity_m2_s, names), float)
    try:
        rows = [species(name) for name in names]
    except KeyError as error:
        of_carrier = repr(names[0]) in str(error.args[0])
        key = "gases" if config.species.gases else "carrier" if of_carrier else "odorants"
        raise ConfigError(
            str(error.args[0]), where=f"species.{key}", remedy="Correct the name, or give diffusivity_m2_s"
        ) from None
    return fuller_diffusivity(
        jnp.asarray([row.molar_mass_g_mol for row in rows], float),
        jnp.asarray([row.diffusion_volume for row in rows], float),
        conditions.temperature,
        conditions.pressure,
    )


def _matrix(rows: list[list[float]], names: Sequence[str]) -> np.ndarray:
    """A diffusivity for each pair; the diagonal is ignored."""
    S = len(names)
    D = np.array(rows, float) if all(len(row) == S for row in rows) and len(rows) == S else np.zeros((0, 0))
    off = ~np.eye(S, dtype=bool)
    if D.shape != (S, S) or not np.allclose(D[off], D.T[off], rtol=1e-6, atol=0) or not np.all(D[off] > 0):
        raise ConfigError(
            f"expected a symmetric positive {S}×{S} matrix",
            where="species.diffusivity_m2_s",
            remedy=f"List rows and columns in the order {', '.join(names)}; the diagonal is ignored",
        )
    return D


def _source(config: SimulationConfig, climate: CellClimate) -> Any:
    import jax.numpy as jnp

    from unmixnet.physics.source import Constant, Source

    section, K = config.source, len(config.species.names) - 1
    if section is None:
        V, nothing = len(climate.chamber.cells), jnp.zeros(K, float)
        return Source(nothing, Constant(), jnp.full(V, 1 / V, float), nothing, nothing)
    p_src = _source_weights(section, climate.chamber)
    amount, vaporisation, humidity = (
        _per_odorant(getattr(section, name), K, f"source.{name}")
        for name in ("amount_mol", "vaporisation_J_mol", "humidity_slope")
    )
    if climate.differs:
        amount = amount * climate.release_factor(vaporisation, p_src)
    return Source(
        jnp.asarray(amount, float),
        _profile(section, K, config.run.duration_s),
        jnp.asarray(p_src, float),
        jnp.asarray(vaporisation, float),
        jnp.asarray(humidity, float),
    )


def _source_weights(section: SourceSection, chamber: Chamber) -> np.ndarray:
    """Share of each cell in what is released."""
    p_src = np.zeros(len(chamber.cells))
    for name, weight in section.cells.items():
        cells = cells_named(chamber, name, f"source.cells.{name}")
        p_src[cells] += weight / len(cells)
    if not section.cells:
        p_src[chamber.cells_of("source")] = 1
    if not p_src.sum() > 0:
        raise ConfigError("no cell releases anything", where="source.cells", remedy="Name a cell with a weight")
    return p_src / p_src.sum()


def _profile(section: SourceSection, K: int, duration_s: float) -> Any:
    import jax.numpy as jnp

    from unmixnet.physics.source import Constant, RiseDecay, Tabulated

    if section.profile == "rise-decay":
        rise, decay = (_per_odorant(getattr(section, k), K, f"source.{k}") for k in ("tau_rise_s", "tau_decay_s"))
        return RiseDecay(jnp.asarray(rise, float), jnp.asarray(decay, float), jnp.asarray(duration_s, float))
    if section.profile == "constant":
        return Constant()
    rates = [_per_odorant(row, K, f"source.rates_per_s[{i}]") for i, row in enumerate(section.rates_per_s)]
    if len(rates) != len(section.times_s) or len(rates) < 2 or np.any(np.diff(section.times_s) <= 0):
        raise ConfigError(
            "a table needs two or more rising times and a rate for each",
            where="source.times_s" if section.times_s else "source.profile",
            remedy="Give times_s and rates_per_s of equal length",
        )
    return Tabulated(jnp.asarray(section.times_s, float), jnp.asarray(np.array(rates), float))


def _surface(config: SimulationConfig) -> Any:
    import jax.numpy as jnp

    from unmixnet.physics.adsorption import Surface

    K = len(config.species.names) - 1

    def stack(name: str) -> Any:
        return jnp.asarray(_of_sensors(config.sensors, name, K), float)

    sites = jnp.asarray([s.sites_mol for s in config.sensors], float)
    return Surface(stack("k_ads_m3_mol_s"), stack("k_des_per_s"), sites)


def _of_sensors(sensors: Sequence[SensorSection], name: str, K: int) -> np.ndarray:
    """A quantity of each odorant and sensor, (K, M)."""
    rows = [_per_odorant(getattr(s, name), K, f"sensors[{i}].{name} ({s.name})") for i, s in enumerate(sensors)]
    return np.array(rows, float).reshape(len(rows), K).T


def _readout(config: SimulationConfig, climate: CellClimate) -> Any:
    import jax.numpy as jnp

    from unmixnet.physics.readout import Readout

    sensors = config.sensors

    def each(name: str) -> np.ndarray:
        return np.array([getattr(s, name) for s in sensors], float)

    excess = climate.sensor_excess_K
    recovery = [s.tau_rise_s if s.tau_recovery_s is None else s.tau_recovery_s for s in sensors]
    baseline_slopes = np.stack([each("baseline_per_K"), each("baseline_per_lnH")])
    gain_slopes = np.stack([each("gain_per_K"), each("gain_per_lnH")])
    return Readout(
        beta=jnp.asarray(_of_sensors(sensors, "beta", len(config.species.names) - 1), float),
        g=_transduction(config),
        gain=jnp.asarray(each("gain") * np.exp(gain_slopes[0] * excess), float),
        sign=jnp.asarray(each("sign"), float),
        baseline=jnp.asarray(each("baseline") + baseline_slopes[0] * excess, float),
        tau_rise=jnp.asarray(each("tau_rise_s"), float),
        tau_recovery=jnp.asarray(recovery, float),
        baseline_slopes=jnp.asarray(baseline_slopes, float),
        gain_slopes=jnp.asarray(gain_slopes, float),
    )


def _transduction(config: SimulationConfig) -> Any:
    """g of the family that all sensors share."""
    import jax.numpy as jnp

    from unmixnet.physics import readout as law

    sensors, family = config.sensors, config.transduction.family

    def each(name: str) -> Any:
        return jnp.asarray([getattr(s, name) for s in sensors], float)

    if family == "spline":
        knots = config.transduction.knots
        if len(knots) < 2 or any(len(s.slopes) != len(knots) for s in sensors):
            raise ConfigError(
                "a spline needs two or more knots and as many slopes for each sensor",
                where="transduction.knots" if knots else "transduction.family",
                remedy="Give knots here and slopes at each sensor",
            )
        slopes = np.array([s.slopes for s in sensors], float).reshape(len(sensors), len(knots)).T
        return law.MonotoneSpline(jnp.asarray(knots, float), jnp.asarray(slopes, float))
    return {
        "linear": law.Linear,
        "logarithmic": lambda: law.Logarithmic(each("k")),
        "power": lambda: law.PowerLaw(each("k"), each("n")),
        "sips": lambda: law.Sips(each("k"), each("n"), each("r0")),
    }[family]()


def _inlet(config: SimulationConfig, chamber: Chamber) -> Any:
    """Composition of what the inlets bring: as the file says, otherwise the first gas alone."""
    V, K = len(chamber.cells), len(config.species.names) - 1
    if config.inlet is not None:
        return _schedule(dict.fromkeys(range(V), ("inlet", config.inlet)), V, K)
    return _schedule({}, V, K) if any(cell.inlet_m3_s for cell in chamber.cells) else None


def _boundary(config: SimulationConfig, chamber: Chamber) -> Any:
    """Composition of the cells that are held: as the file says, otherwise the first gas alone."""
    held, sections = chamber.cells_of("fixed").tolist(), {}
    for name, section in config.fixed.items():
        for cell in cells_named(chamber, name, f"fixed.{name}"):
            if cell not in held:
                problem = f"the cell {chamber.cells[cell].name!r} is not held fixed"
                remedy = 'Give it kind = "fixed", or its gas at the start under [[start]]'
                raise ConfigError(problem, where=f"fixed.{name}", remedy=remedy)
            sections[cell] = (f"fixed.{name}", section)
    return _schedule(sections, len(chamber.cells), len(config.species.names) - 1) if held else None


def _schedule(sections: Mapping[int, tuple[str, CompositionSection]], V: int, K: int) -> Any:
    """The composition of each cell in time, from the sections and the keys that they stand under."""
    import jax.numpy as jnp

    from unmixnet.physics.state import Schedule

    times = sorted({t for _, section in sections.values() for t in section.times_s} or {0.0})
    values = np.zeros((len(times), K + 1, V))
    for cell, (where, section) in sections.items():
        rows = _fractions(section, K, where)
        for i in range(K):
            values[:, i + 1, cell] = np.interp(times, section.times_s, rows[:, i])
    values[:, 0] = np.maximum(1 - values[:, 1:].sum(axis=1), 0)
    return Schedule(jnp.asarray(times, float), jnp.asarray(values, float))


def _fractions(section: CompositionSection, K: int, where: str) -> np.ndarray:
    """Odorant fractions (times, K) of one section."""
    where = f"{where}.fractions"
    rows = np.array([_per_odorant(row, K, where) for row in section.fractions]).reshape(-1, K)
    remedy = "Give one row of odorant fractions for each time; the first gas is the rest"
    if len(rows) != len(section.times_s) or len(rows) == 0 or np.any(np.diff(section.times_s) <= 0):
        problem = f"{len(rows)} rows of fractions for {len(section.times_s)} times, which have to increase"
        raise ConfigError(problem, where=where, remedy=remedy)
    if np.any(rows < 0) or np.any(rows.sum(axis=1) > 1 + 1e-9):
        worst = f"fractions from {rows.min():.6g}, with sums up to {rows.sum(axis=1).max():.6g}"
        raise ConfigError(f"{worst}; expected none negative, sums of at most 1", where=where, remedy=remedy)
    return rows
