"""From a checked configuration to a problem that can be solved."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from unmixnet.errors import ConfigError, UnmixError
from unmixnet.simulation.chamber import Chamber, check_positive
from unmixnet.simulation.config import SimulationConfig
from unmixnet.simulation.described_chamber import described_chamber

if TYPE_CHECKING:
    from unmixnet.physics.geometry import Geometry
    from unmixnet.physics.rollout import Policy, Rollout
    from unmixnet.physics.state import Process, State

__all__ = ["Problem", "build"]

_STAGES = 10_000
"""More stages or substeps than this mean that dt_s is far from the chamber's own time scale."""
_NUMBERS = 200_000_000
"""Most numbers that a simulation may save."""
_ROWS = 500
"""About so many rows come back unless save_every_s says otherwise."""


@dataclass(frozen=True)
class Problem:
    """A simulation that is ready to run: `simulate` makes tables of it, `rollout` is a jax function."""

    chamber: Chamber
    species: tuple[str, ...]
    """The species of index 0 first."""
    process: "Process"
    geometry: "Geometry"
    start: "State"
    duration_s: float
    tolerance: float = 1e-4
    save_every_s: float | None = None
    until_steady: float | None = None
    dt_s: float | None = None
    """Fixed steps instead of a tolerance."""
    order: Literal[1, 2] = 2
    dtype: str = "float64"

    @property
    def times_s(self) -> np.ndarray:
        """Times that come back, counted from the start."""
        return _times(self.duration_s, self.dt_s, self.save_every_s)

    def policy(self, dt_s: float | None = None) -> "Policy":
        """How steps of this length are taken: in as many stages as keep the limiter idle; of any length without it."""
        import jax

        from unmixnet.physics.rollout import Policy

        dt_s = self.dt_s if dt_s is None else dt_s
        if dt_s is None:
            return Policy(order=2)
        if self.order == 1:
            D = float(np.max(np.asarray(self.process.diffusion.D) * (1 - np.eye(len(self.species)))))
            D = D * float(np.max(np.asarray(self.process.diffusion.scale), initial=0))
            advection, diffusion = self.chamber.cfl(dt_s), 2 * self.chamber.diffusion_number(dt_s, D)
            return Policy(max(1, _whole(advection - 1e-9, dt_s)), max(1, _whole(diffusion - 1e-9, dt_s)), order=1)
        with jax.ensure_compile_time_eval(), jax.enable_x64(self.dtype == "float64"):
            return Policy(order=2, stages=1 + max(1, _whole(dt_s * self._rate() - 1e-6, dt_s)))

    def _rate(self) -> float:
        """The fastest rate of transport [1/s]."""
        from unmixnet.physics.transport import stability_rate

        return float(stability_rate(self.process, self.geometry, slopes=True))

    def rollout(
        self,
        process: "Process | None" = None,
        *,
        start: "State | None" = None,
        save: Iterable[str] = ("y",),
        dt_s: float | None = None,
    ) -> "Rollout":
        """Solve, as a function of jax that can be compiled and batched: with other coefficients, or from another state.

        With steps of its own choice unless the problem or the call has `dt_s`; for derivatives in reverse give `dt_s`.
        The rows are those of `times_s` (with `dt_s`: one for each step). The number of stages of a fixed step is that
        of the problem's own coefficients.

        >>> import equinox as eqx, jax, unmixnet as um
        >>> jax.config.update("jax_enable_x64", True)
        >>> problem = um.build(um.parse_simulation(um.example("enose")))
        >>> problem.rollout().saved.y.shape == (len(problem.times_s), 4)
        True
        >>> def last(amount):
        ...     process = eqx.tree_at(lambda p: p.source.amount, problem.process, amount)
        ...     return problem.rollout(process, dt_s=1.0).saved.y[-1, 1]
        >>> bool((jax.grad(last)(problem.process.source.amount) > 0).all())  # more of anything, more signal
        True
        """
        import jax
        import jax.numpy as jnp

        from unmixnet.physics.state import with_samples

        process = self.process if process is None else process
        start = self.start if start is None else start
        save, dt_s = _checked(save), self.dt_s if dt_s is None else dt_s
        if dt_s is not None and dt_s != self.dt_s:
            check_positive(dt_s, "dt_s", "rollout")
        with jax.enable_x64(self.dtype == "float64"):
            geometry = self.geometry if start.N.ndim == 2 else with_samples(self.geometry)
            if dt_s is None:
                times = start.t + jnp.asarray(self.times_s, float)
                options = {"tolerance": self.tolerance, "steady": self.until_steady}
                return _adaptive()(process, geometry, start, times, save=save, policy=self.policy(), **options)
            n_steps, dt = len(_times(self.duration_s, dt_s, None)), jnp.asarray(dt_s, float)
            return _fixed()(process, geometry, start, dt, n_steps=n_steps, save=save, policy=self.policy(dt_s))

    def with_composition(self, composition: Mapping[str, Mapping[str, float]]) -> "Problem":
        """The problem that starts with other gas in some cells: mole fractions by species, by name of the cell.

        The species of index 0 fills up what is left; cells that are not named keep their gas. `*`, `?` and `[0-3]` in a
        name stand for several cells.

        >>> import unmixnet as um
        >>> tables = {"species": {"gases": ["N2", "H2"]}, "run": {"duration_s": 60}}
        >>> bulbs = um.build(um.parse_simulation(tables), chamber=um.two_bulbs(4))
        >>> N = bulbs.with_composition({"bulb1": {"H2": 0.25}}).start.N
        >>> round(float(N[1, 0] / N[:, 0].sum()), 6)
        0.25
        """
        import jax

        from unmixnet.simulation.starting import filled

        with jax.enable_x64(self.dtype == "float64"):
            parts = (self.process, self.geometry, self.chamber, self.species)
            return replace(self, start=filled(self.start, *parts, composition))


def build(config: SimulationConfig, *, chamber: Chamber | None = None) -> Problem:
    """Turn a checked configuration into arrays, in the floating type that it names.

    With `chamber` that one is used instead of the configuration's; sensors of the configuration sit where the chamber
    has sensors of the same names.

    >>> import unmixnet as um
    >>> problem = um.build(um.parse_simulation(um.example("enose")))
    >>> problem.species, problem.duration_s
    (('air', 'ethanol', 'limonene', 'benzaldehyde'), 180.0)
    """
    import jax

    if not isinstance(config, SimulationConfig):
        raise ConfigError(
            f"a {type(config).__name__} was given, expected a simulation",
            remedy="Read one with load_simulation or parse_simulation",
        )
    if not isinstance(chamber, Chamber | None):
        seen = f"a {type(chamber).__name__} was given, expected a chamber"
        raise ConfigError(seen, where="chamber", remedy="Make one with a builder, or from cells and edges")
    try:
        with jax.enable_x64(config.run.dtype == "float64"):
            return _build(config, described_chamber(config, chamber))
    except UnmixError as error:
        top = re.split(r"[.\[ ]", error.where)[0]
        where = config.located(error.where) if top in type(config).model_fields else error.where
        raise type(error)(error.problem, where=where, remedy=error.remedy) from None


def _build(config: SimulationConfig, chamber: Chamber) -> Problem:
    from unmixnet.simulation.coefficients import process_of
    from unmixnet.simulation.starting import starting_state

    run, species = config.run, config.species.names
    _check_size(chamber, len(species), config)
    process, geometry = process_of(config, chamber), chamber.geometry()
    problem = Problem(
        chamber,
        species,
        process,
        geometry,
        starting_state(config, chamber, process, geometry),
        run.duration_s,
        run.tolerance,
        run.save_every_s,
        run.until_steady,
        run.dt_s,
        1 if run.scheme == "first order" else 2,
        run.dtype,
    )
    problem.policy()  # refuses a step that is much too long
    return problem


# ---------------------------------------------------------------- times and sizes


def _times(duration_s: float, dt_s: float | None, save_every_s: float | None) -> np.ndarray:
    """Times that come back: after each fixed step; otherwise at regular intervals, and at the end."""
    if dt_s is not None:
        return dt_s * np.arange(1, _rows(duration_s, dt_s, None) + 1)
    every = save_every_s or _round_number(duration_s / _ROWS)
    times = every * np.arange(1, _rows(duration_s, None, every) + 1)
    times[-1] = duration_s
    return times


def _rows(duration_s: float, dt_s: float | None, save_every_s: float | None) -> int:
    """How many rows that makes; not more than anybody could save."""
    ratio = duration_s / (dt_s or save_every_s or _round_number(duration_s / _ROWS))
    ratio = min(ratio, _NUMBERS)
    return max(1, round(ratio) if dt_s is not None else math.ceil(ratio - 1e-9))


def _round_number(value: float) -> float:
    """The smallest of 1, 2, 5, 10, … (and their tenths) that is not below a value."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value * (1 - 1e-9))


def _check_size(chamber: Chamber, S: int, config: SimulationConfig) -> None:
    """Refuse a simulation whose tables nobody could hold."""
    run = config.run
    rows = _rows(run.duration_s, run.dt_s, run.save_every_s)
    V, E, M = len(chamber.cells), len(chamber.edges), len(chamber.sensors)
    row = S * (2 * V + E + M + 7) + M + 6
    if rows * row > _NUMBERS:
        key = "dt_s" if run.dt_s is not None else "save_every_s" if run.save_every_s is not None else "duration_s"
        fits = max(_NUMBERS // row, 1)
        problem = f"{rows:,} rows or more of {row:,} numbers do not fit into memory"
        longer = f"{'dt_s' if run.dt_s is not None else 'save_every_s'} of at least {run.duration_s / fits:.2g}"
        raise ConfigError(problem, where=f"run.{key}", remedy=f"Use a {longer}, or fewer cells")


def _whole(count: float, dt_s: float) -> int:
    """A number of stages or substeps, rounded up, that is worth taking."""
    if not count <= _STAGES:
        raise ConfigError(
            f"a step of {dt_s:g} s needs {count:.3g} stages or substeps in this chamber",
            where="run.dt_s",
            remedy=f"Use a step of at most {dt_s * _STAGES / count:.2g} s, a tolerance, or larger cells",
        )
    return math.ceil(count)


def _checked(save: Iterable[str]) -> frozenset[str]:
    from unmixnet.physics.rollout import SAVEABLE

    names = frozenset((save,) if isinstance(save, str) else save)
    for name in names - set(SAVEABLE):
        remedy = f"Use some of {', '.join(SAVEABLE)}"
        raise ConfigError(f"{name!r} cannot be saved", where="rollout", remedy=remedy)
    return names


# ---------------------------------------------------------------- compiled once for each shape and policy


def _fixed() -> Any:
    from unmixnet.physics.rollout import rollout

    return _compiled(rollout, ("n_steps", "save", "policy"))


def _adaptive() -> Any:
    from unmixnet.physics.adaptive import rollout_adaptive

    return _compiled(rollout_adaptive, ("tolerance", "save", "policy", "steady"))


_COMPILED: dict[Any, Any] = {}


def _compiled(function: Any, static: tuple[str, ...]) -> Any:
    import jax

    if function not in _COMPILED:
        _COMPILED[function] = jax.jit(function, static_argnames=static)
    return _COMPILED[function]
