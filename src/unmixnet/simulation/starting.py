"""The state that a simulation starts from: clean air, a steady state, a saved one, or a composition given per cell."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unmixnet.errors import ConfigError, SolveError
from unmixnet.simulation.cell_names import cells_named
from unmixnet.simulation.chamber import Chamber, is_number
from unmixnet.simulation.config import SimulationConfig

if TYPE_CHECKING:
    from unmixnet.physics.geometry import Geometry
    from unmixnet.physics.state import Process, State

__all__ = ["filled", "starting_state"]

_ROUNDING = 1e-6
"""Fractions may miss a sum of one by this much."""
_UNKNOWNS = 4000
"""A steady state is found by dense linear algebra, whose memory grows with the square."""


def starting_state(config: SimulationConfig, chamber: Chamber, process: "Process", geometry: "Geometry") -> "State":
    """The state that `run.start` names, with the cells of `[[start]]` filled."""
    from unmixnet.physics.state import clean_air
    from unmixnet.simulation.state_file import load_state

    how, air = config.run.start, clean_air(process, geometry)
    if how.endswith(".npz"):
        state = load_state(how, like=air)
    elif how == "steady state":
        state = _steady(process, geometry)
    elif how == "clean air":
        state = air
    else:
        remedy = 'Use "clean air", "steady state" or a state file "….npz"'
        raise ConfigError(f"unknown start {how!r}", where="run.start", remedy=remedy)
    for i, part in enumerate(config.start):
        for j, name in enumerate(part.cells):
            cells = cells_named(chamber, name, f"start[{i}].cells[{j}]")
            x = _composition(part.fractions, config.species.names, f"start[{i}].fractions")
            state = _with_cells(state, process, geometry, _free(chamber, cells, f"start[{i}].cells[{j}]"), x)
    return state


def filled(
    state: "State",
    process: "Process",
    geometry: "Geometry",
    chamber: Chamber,
    species: Sequence[str],
    composition: Mapping[str, Mapping[str, float]],
) -> "State":
    """The state with the gas of some cells replaced: mole fractions by species, by name of the cell."""
    if not isinstance(composition, Mapping):
        raise ConfigError(
            f"a {type(composition).__name__} was given, expected a composition by cell",
            where="composition",
            remedy='Write it as {"bulb1": {"hydrogen": 0.5}}',
        )
    for name, fractions in composition.items():
        where = f"composition of {name!r}"
        x = _composition(fractions, species, where)
        state = _with_cells(state, process, geometry, _free(chamber, cells_named(chamber, str(name), where), where), x)
    return state


def _free(chamber: Chamber, cells: list[int], where: str) -> list[int]:
    """The cells, none of which the outside world holds."""
    held = [chamber.cells[i].name for i in cells if chamber.cells[i].kind == "fixed"]
    if held:
        remedy = f"Give its composition under [fixed.{held[0]}]"
        raise ConfigError(f"the composition of {held[0]!r} is held fixed", where=where, remedy=remedy)
    return cells


def _composition(fractions: Mapping[str, float], names: Sequence[str], where: str) -> np.ndarray:
    """Mole fractions of all species; the first fills up what is left, unless it is given."""
    if not isinstance(fractions, Mapping):
        problem = f"a {type(fractions).__name__} was given, expected fractions by species"
        raise ConfigError(problem, where=where, remedy=f"Write it as {{{names[-1]!r}: 0.1}}")
    x, given = np.zeros(len(names)), set()
    for name, value in fractions.items():
        if not is_number(value) or not 0 <= value <= 1:
            problem = f"the fraction of {name} is {value!r}, expected a number from 0 to 1"
            raise ConfigError(problem, where=where, remedy="Give mole fractions")
        i = _index(name, names, where)
        if i in given:
            raise ConfigError(f"{names[i]} is given twice", where=where, remedy="Give each species once")
        given.add(i)
        x[i] = value
    total = x.sum()
    if total > 1 + _ROUNDING or (0 in given and total < 1 - _ROUNDING):
        remedy = f"Correct the fractions, or leave out {names[0]}, which fills up the rest"
        raise ConfigError(f"the fractions sum to {total:.6g}, expected 1", where=where, remedy=remedy)
    x[0] = x[0] if 0 in given else max(1 - total, 0)
    return x / x.sum()


def _index(name: str, names: Sequence[str], where: str) -> int:
    """Which species a name or formula means."""
    from unmixnet.physics.species import species

    if name in names:
        return list(names).index(name)
    try:
        row = species(name)
        return next(i for i, other in enumerate(names) if _row(other) is row)
    except (KeyError, StopIteration, TypeError):
        remedy = f"Use one of {', '.join(names)}"
        raise ConfigError(f"{name!r} is not a species of this mixture", where=where, remedy=remedy) from None


def _row(name: str) -> object:
    from unmixnet.physics.species import species

    try:
        return species(name)
    except KeyError:  # a species that only the file knows, with its own diffusivity
        return None


def _with_cells(state: "State", process: "Process", geometry: "Geometry", cells: list[int], x: np.ndarray) -> "State":
    import equinox as eqx
    import jax.numpy as jnp

    from unmixnet.physics.conditions import air_concentration

    moles = np.asarray(air_concentration(process.conditions) * geometry.volume)[cells]
    N = state.N.at[:, jnp.asarray(cells)].set(jnp.asarray(x[:, None] * moles, state.N.dtype))
    return eqx.tree_at(lambda s: s.N, state, N)


def _steady(process: "Process", geometry: "Geometry") -> "State":
    import jax

    from unmixnet.physics.steady import steady_state

    unknowns = process.diffusion.D.shape[0] * geometry.volume.shape[0]
    if unknowns > _UNKNOWNS:
        remedy = 'Use fewer cells, or run to the steady state from "clean air" with until_steady'
        raise ConfigError(f"the steady state of {unknowns:,} amounts is too large", where="run.start", remedy=remedy)
    state, exists = jax.jit(steady_state)(process, geometry)
    if not bool(exists):
        raise SolveError(
            "the source has no steady state in this chamber",
            where="run.start",
            remedy="Add an outlet or wall loss, or use a constant source, or start from clean air",
        )
    return state
