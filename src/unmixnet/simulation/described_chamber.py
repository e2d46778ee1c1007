"""The chamber that a simulation file describes: by a builder, or by its cells and edges; divided, and with sensors."""

import inspect

from unmixnet.errors import ChamberError, ConfigError
from unmixnet.simulation import builders
from unmixnet.simulation.cell_names import cells_named
from unmixnet.simulation.chamber import Cell, Chamber, Edge, Sensor
from unmixnet.simulation.config import SimulationConfig
from unmixnet.simulation.refinement import refine

__all__ = ["described_chamber"]


def described_chamber(config: SimulationConfig, given: Chamber | None) -> Chamber:
    """The chamber with the sensors of the configuration, in as many parts as it says."""
    placed = given or _placed(config)
    try:
        whole = Chamber(placed.cells, placed.edges, _seated(config, placed, fixed=given is not None))
    except ChamberError as error:
        if given is not None or config.chamber.builder:
            raise
        raise ChamberError(error.problem, where=_listed(error.where, config), remedy=error.remedy) from None
    parts = config.chamber.parts
    if parts * len(whole.cells) > builders.MOST:
        problem = f"{parts} parts of {len(whole.cells):,} cells are more than {builders.MOST:,} cells"
        raise ChamberError(problem, where="chamber.parts", remedy="Use fewer parts")
    return whole if parts == 1 else refine(whole, parts).chamber


def _placed(config: SimulationConfig) -> Chamber:
    """The chamber that the configuration describes, before its sensors are known."""
    section = config.chamber
    if section.builder is None:
        if not section.cells:
            remedy = "Name a builder, or list cells and edges"
            raise ChamberError("no chamber is described", where="chamber", remedy=remedy)
        cells = tuple(Cell(**cell.model_dump()) for cell in section.cells)
        edges = tuple(Edge(**edge.model_dump()) for edge in section.edges)
        try:
            return Chamber(cells, edges, ())
        except ChamberError as error:
            raise ChamberError(error.problem, where=_listed(error.where, config), remedy=error.remedy) from None
    builder = builders.BUILDERS[section.builder]
    known = inspect.signature(builder).parameters
    for key in section.options:
        if key not in known:
            raise ConfigError("unknown option", where=f"chamber.options.{key}", remedy=f"Use one of {', '.join(known)}")
    try:
        return builder(**{k: tuple(v) if isinstance(v, list) else v for k, v in section.options.items()})
    except ChamberError as error:
        key = error.problem.split()[0]
        where = f"chamber.options.{key}" if key in section.options else "chamber.options"
        raise ChamberError(error.problem, where=where, remedy=error.remedy) from None


def _listed(where: str, config: SimulationConfig) -> str:
    """A place in a chamber as a key of the file that lists its cells and edges."""
    names = [cell.name for cell in config.chamber.cells]
    lost = where.removeprefix("cell ")
    if where.startswith("cell ") and lost in names:
        return f"chamber.cells[{names.index(lost)}] ({lost})"
    return f"chamber.{where}" if where.startswith(("cells", "edges")) else where


def _seated(config: SimulationConfig, placed: Chamber, *, fixed: bool) -> tuple[Sensor, ...]:
    """The sensors of the configuration, each in its cell; with `fixed` the chamber's own seats come first."""
    seats = {sensor.name: sensor for sensor in placed.sensors}
    sensors = []
    for i, sensor in enumerate(config.sensors):
        where = f"sensors[{i}].cell ({sensor.name})"
        if sensor.name in seats and (fixed or sensor.cell is None):
            sensors.append(seats[sensor.name])
        elif sensor.cell is None:
            raise ChamberError("the sensor has no cell", where=where, remedy='Add cell = "…" to it')
        else:
            sensors.append(Sensor(sensor.name, placed.cells[cells_named(placed, sensor.cell, where)[0]].name))
    return tuple(sensors)
