"""A frozen calibrated simulator: coefficients, chamber and preprocessing under one hash.

    simulator = FrozenSimulator.load("SIM")
    reference = simulator.simulate(ratios, seconds=30)      # C*, J*, θ*, M* and the signal

It is stored as safetensors and JSON under a manifest of SHA-256 sums, in the folder `frozen` inside the one that is
named, so that reports can lie beside it. A changed byte is refused, and so is saving over it: pseudo-reference states
of two simulators under one name could not be compared.
"""

import json
import math
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.files import Artefact, ArtefactError, read_artefact, write_artefact
from unmixnet.model.predict import single_precision
from unmixnet.physics.rollout import Policy
from unmixnet.physics.state import Process
from unmixnet.recordings.preprocessing import Preprocessing
from unmixnet.simulation.chamber import Cell, Chamber, Edge, Sensor
from unmixnet.training.calibration.process_file import pack_process, unpack_process
from unmixnet.training.calibration.trajectories import (
    Run,
    Trajectories,
    largest_diffusivity,
    solve_all,
    velocity_factor,
)

__all__ = ["FROZEN", "FrozenSimulator", "is_frozen"]

FROZEN = "frozen"
"""Folder of the artefact inside the one that a user names."""
_FORMAT = 1
_LARGEST = 64 << 20


@dataclass(frozen=True, eq=False)
class FrozenSimulator:
    """Θ* with everything that is needed to simulate a recipe.

    Arguments:
        components: substances, in the order of the ratios.
        chamber: cells, edges and sensors.
        process: coefficients; `source.amount` is what the pure substance at strength one releases.
        rate_Hz: of the traces that it was calibrated on.
        step_s: of the solver.
        exposed: whether recordings start with the odour present; else in clean air.
        preprocessing: preprocessing of the recordings that it was calibrated on; the signal is in its units.
        origin: what it was made from, as plain JSON values.
        sha256: of the stored artefact; "" before it is stored.
        substeps: of advection and diffusion in a step, as it was calibrated; None chooses what is stable.
    """

    components: tuple[str, ...]
    chamber: Chamber
    process: Process = field(repr=False)
    rate_Hz: float
    step_s: float
    exposed: bool
    preprocessing: Preprocessing | None = None
    origin: dict[str, Any] = field(default_factory=dict, repr=False)
    sha256: str = ""
    substeps: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "process", _single(self.process))
        K, M = self.process.surface.k_ads.shape
        if len(self.components) != K or len(self.chamber.sensors) != M:
            raise ConfigError(
                f"{len(self.components)} substances and {len(self.chamber.sensors)} sensors are named, "
                f"the coefficients are of {K} and {M}",
                where="FrozenSimulator",
                remedy="Name every substance and sensor once, in the order of the coefficients",
            )

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the sensors."""
        return tuple(sensor.name for sensor in self.chamber.sensors)

    @property
    def edges(self) -> tuple[str, ...]:
        """Names of the edges, in the order of the fluxes."""
        return tuple(f"{edge.tail} → {edge.head}" for edge in self.chamber.edges)

    @property
    def air(self) -> np.ndarray:
        """Signal in clean air, shape (M,)."""
        return np.asarray(self.process.readout.baseline, float)

    @property
    def D(self) -> np.ndarray:
        """Pair diffusivities, carrier first [m²/s]."""
        return np.asarray(self.process.diffusion.D, float)

    def simulate(
        self,
        ratios: np.ndarray,
        *,
        seconds: float,
        strength: np.ndarray | None = None,
        session_gain: np.ndarray | None = None,
        session_offset: np.ndarray | None = None,
        exposure: np.ndarray | None = None,
        first: np.ndarray | None = None,
    ) -> Trajectories:
        """Simulate n recipes, shape (n, K).

        Arguments:
            seconds: length of the recordings; the solver's steps that fit into it are saved.
            strength: factor on the release of each, shape (n,); one if not given.
            session_gain, session_offset: y = air + offset + gain (y_solver − air), shape (n, M); one and zero if not
                given.
            exposure: share of the steady concentration that is there at t = 0, shape (n,); one if not given. It is
                used only where recordings start exposed.
            first: signal at t = 0, shape (n, M); if not given the sensors start settled.
        """
        a = np.asarray(ratios, float)
        self._check(a, seconds)
        n, M = len(a), len(self.channels)
        s, ε = (np.ones(n) if part is None else np.asarray(part, float) for part in (strength, exposure))
        g = np.ones((n, M)) if session_gain is None else np.broadcast_to(session_gain, (n, M))
        o = np.zeros((n, M)) if session_offset is None else np.broadcast_to(session_offset, (n, M))
        air = self.air
        inner = np.full((n, M), np.nan) if first is None else air + (np.asarray(first, float) - air - o) / g
        with single_precision():
            run = self._run(math.floor(seconds / self.step_s + 1e-6))
            states = solve_all(self.process, run, s[:, None] * a, ε, inner)
        return self._trajectories(states, air, g, o)

    def save(self, folder: str | Path) -> "FrozenSimulator":
        """Write it, and return it with its hash. A folder that holds a frozen simulator is refused."""
        if is_frozen(folder):
            raise ArtefactError(
                "the folder holds a frozen simulator already, which is not replaced",
                where=str(folder),
                remedy="Choose another folder",
            )
        tensors, outline = pack_process(self.process)
        documents = {
            "simulator.json": {
                "format": _FORMAT,
                "components": self.components,
                "chamber": _drawn(self.chamber),
                "process": outline,
                "rate_Hz": self.rate_Hz,
                "step_s": self.step_s,
                "exposed": self.exposed,
                "substeps": self.substeps,
                "preprocessing": None if self.preprocessing is None else json.loads(self.preprocessing.to_json()),
                "origin": self.origin,
            }
        }
        digest = write_artefact(Path(folder) / FROZEN, Artefact("simulator", tensors, documents))
        return replace(self, sha256=digest)

    @classmethod
    def load(cls, folder: str | Path) -> "FrozenSimulator":
        """Read and verify a frozen simulator; a changed file is refused."""
        place = Path(folder) / FROZEN
        kept = read_artefact(place, kind="simulator", max_bytes=_LARGEST)
        stored: Any = kept.documents.get("simulator.json")
        if not isinstance(stored, dict) or stored.get("format") != _FORMAT:
            raise ArtefactError(
                f"this release reads simulators of format {_FORMAT}", where=str(place), remedy="Calibrate anew"
            )
        with single_precision():
            process = unpack_process(kept.tensors, stored["process"], str(place))
        written = stored["preprocessing"]
        return cls(
            tuple(stored["components"]),
            _chamber(stored["chamber"]),
            process,
            stored["rate_Hz"],
            stored["step_s"],
            stored["exposed"],
            None if written is None else Preprocessing.from_json(json.dumps(written)),
            stored["origin"],
            kept.digest,
            None if stored.get("substeps") is None else (int(stored["substeps"][0]), int(stored["substeps"][1])),
        )

    def _run(self, steps: int) -> Run:
        """The substeps of the calibration, or those that keep every cell from losing more than it holds."""
        chamber, step = self.chamber, self.step_s
        faster = velocity_factor(self.process, np.array([edge.velocity_m_s for edge in chamber.edges]))
        advection = math.ceil(chamber.cfl(step) * faster - 1e-9)
        diffusion = math.ceil(2 * chamber.diffusion_number(step, max(largest_diffusivity(self.process), 1e-5)) - 1e-9)
        policy = Policy(*(self.substeps or (max(1, advection), max(1, diffusion))), order=1)
        return Run(chamber.geometry(), jnp.asarray(step, jnp.float32), steps, self.exposed, policy)

    def _trajectories(self, states: dict[str, np.ndarray], air: np.ndarray, g: np.ndarray, o: np.ndarray):
        volume, cells = self.chamber.volume_m3, [self.chamber.index[part.cell] for part in self.chamber.sensors]
        N, J, theta = (np.moveaxis(states[name][:, :, 1:], 2, -1).astype(float) for name in ("N", "J", "theta"))
        seen = air + o[:, None] + g[:, None] * (states["y"] - air)
        return Trajectories(
            self.step_s * np.arange(1, N.shape[1] + 1),
            N[:, :, cells] / volume[cells][:, None],
            J,
            theta,
            N.sum(axis=2),
            seen,
            air + o + g * (states["start"] - air),
            states["ms_residual"].astype(float),
            states["mass_error"].astype(float),
        )

    def _check(self, a: np.ndarray, seconds: float) -> None:
        K = len(self.components)
        if a.ndim != 2 or a.shape[1] != K or not len(a) or not np.all(np.isfinite(a)) or np.any(a < 0):
            raise ConfigError(
                f"ratios have shape {a.shape}, expected rows of {K} numbers that are not negative",
                where="FrozenSimulator.simulate",
                remedy=f"Give the shares of {', '.join(self.components[:3])}, … in this order",
            )
        if not seconds >= self.step_s:
            raise ConfigError(
                f"seconds is {seconds:g}, a step of the solver takes {self.step_s:g}",
                where="FrozenSimulator.simulate",
                remedy="Simulate a longer recording",
            )


def is_frozen(folder: str | Path) -> bool:
    """Whether a folder holds a frozen simulator, sound or damaged."""
    place = Path(folder) / FROZEN
    return place.is_dir() and any(place.iterdir())


def _single(process: Process) -> Process:
    """In single precision, whatever the session computes in, so that a simulator gives the same states everywhere."""
    with single_precision():
        cast = partial(jax.tree.map, lambda leaf: jnp.asarray(np.asarray(leaf), jnp.float32))
        arrays, rest = eqx.partition(process, eqx.is_array_like)
        return eqx.combine(cast(arrays), rest)


def _drawn(chamber: Chamber) -> dict[str, Any]:
    return {name: [asdict(part) for part in getattr(chamber, name)] for name in ("cells", "edges", "sensors")}


def _chamber(stored: dict[str, Any]) -> Chamber:
    kinds = {"cells": Cell, "edges": Edge, "sensors": Sensor}
    return Chamber(**{name: tuple(kind(**part) for part in stored[name]) for name, kind in kinds.items()})
