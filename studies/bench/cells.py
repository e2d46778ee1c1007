"""How many cells and how long a step a model's chamber needs: error against the converged solution, and time.

The hand-held e-nose of the simulated recordings, cut into 8, 16, 32 and 64 cells, with the coefficients that made the
recordings. Ten recipes are solved for a minute; the error is the root mean square over recipes, sensors and whole
seconds of what the readout misses, over the spread (standard deviation) of the converged readout. That is the solution
on 256 cells with limited slopes; 128 cells say how far from converged it may be.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from unmixnet.files.provenance import provenance
from unmixnet.physics.rollout import Policy, rollout
from unmixnet.physics.state import Process, clean_air, with_samples
from unmixnet.physics.transport import stages_needed
from unmixnet.simulation.chamber import Chamber
from unmixnet.simulation.refinement import refined
from unmixnet.simulation.simulated_nose import Setting, true_process

__all__ = ["SCHEMES", "Scheme", "run_cells"]

DURATION_S = 60
PARTS = (1, 2, 4, 8)
STEPS_S = (1.0, 0.5, 0.25)
BATCH = 32
_CONVERGED, _CHECK, _FINE_STEP_S = 32, 16, 0.25
_TRIPLES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11))


@dataclass(frozen=True)
class Scheme:
    """How the chamber is cut and solved."""

    name: str
    order: int
    slopes: bool
    centred: bool


SCHEMES = (
    Scheme("first order, upwind", 1, slopes=False, centred=False),
    Scheme("second order, upwind", 2, slopes=False, centred=True),
    Scheme("second order, slopes", 2, slopes=True, centred=True),
)


@dataclass(frozen=True)
class Row:
    """What one chamber, scheme and step give."""

    cells: int
    scheme: str
    step_s: float
    substeps: int
    """Stages of the transport, or substeps of the diffusion in first order."""
    status: int
    error: float
    """Root mean square over the spread."""
    seconds_per_window: float
    """Of a batch of 32 windows in single precision, one core or all as XLA pleases; median, divided by 32."""
    before: bool
    """What was solved before there was a second order."""


def run_cells(*, repetitions: int = 7, progress: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Measure everything; one dictionary, ready for JSON."""
    setting, shares = Setting(), recipes()
    progress("the converged solution")
    with jax.enable_x64(True):
        converged, near = (_fine(setting, shares, parts) for parts in (_CONVERGED, _CHECK))
    spread = float(np.std(converged))
    rows = []
    for parts in PARTS:
        for scheme in SCHEMES:
            for step_s in STEPS_S:
                progress(f"{8 * parts} cells, {scheme.name}, steps of {step_s:g} s")
                rows.append(_row(setting, shares, parts, scheme, step_s, converged, spread, repetitions))
    problem = {
        "duration_s": DURATION_S,
        "odorants": shares.shape[1],
        "recipes": len(shares),
        "batch": BATCH,
        "float": 32,
    }
    return provenance(
        "python -m studies bench cells",
        problem=problem | {"sensors": setting.sensors, "repetitions": repetitions, "float": 32},
        spread=spread,
        converged={
            "cells": 8 * _CONVERGED,
            "step_s": _FINE_STEP_S,
            "halved_cells_differ_by": _rms(near - converged) / spread,
        },
        rows=[asdict(row) for row in rows],
    )


def recipes(odorants: int = 12) -> np.ndarray:
    """Shares of six pure odours and of four triples, (recipe, odorant)."""
    pure = np.eye(odorants)[:6]
    triples = [np.isin(np.arange(odorants), triple) / 3 for triple in _TRIPLES]
    return np.concatenate([pure, triples])


def _row(
    setting: Setting,
    shares: np.ndarray,
    parts: int,
    scheme: Scheme,
    step_s: float,
    converged: np.ndarray,
    spread: float,
    repetitions: int,
) -> Row:
    """Solve a batch whose first samples are the recipes."""
    batch = jnp.asarray(np.resize(shares, (BATCH, shares.shape[1])).T)
    run, substeps = _program(setting, parts, scheme, step_s)
    y, status = run(batch)
    return Row(
        cells=8 * parts,
        scheme=scheme.name,
        step_s=step_s,
        substeps=substeps,
        status=int(np.max(status)),
        error=_rms(np.asarray(y, float)[..., : len(shares)] - converged) / spread,
        seconds_per_window=_median_seconds(lambda: run(batch), repetitions) / BATCH,
        before=parts == 1 and scheme.order == 1 and step_s == 1.0,
    )


def _median_seconds(run: Callable[[], Any], repetitions: int) -> float:
    """Median wall time of a call that has been compiled."""
    times = []
    for _ in range(repetitions):
        began = time.perf_counter()
        jax.block_until_ready(run())
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _fine(setting: Setting, shares: np.ndarray, parts: int) -> np.ndarray:
    """Readout (second, sensor, recipe) on so many cells that little changes with twice as many."""
    run, _ = _program(setting, parts, SCHEMES[-1], _FINE_STEP_S)
    y, status = run(jnp.asarray(shares.T))
    assert int(np.max(status)) <= 1, "the converged solution failed"
    return np.asarray(y, float)


def _program(setting: Setting, parts: int, scheme: Scheme, step_s: float) -> tuple[Callable, int]:
    """The compiled rollout, shares (odorant, sample) → readout at each whole second and status; and its substeps."""
    chamber = refined(setting.chamber, parts, centred=scheme.centred)
    process, dt = true_process(setting, chamber), jnp.asarray(step_s)
    policy = _policy(chamber, process, scheme, step_s)
    geometry, process = with_samples((chamber.geometry(), process))
    every = round(1 / step_s)

    @jax.jit
    def run(shares):
        mixed = eqx.tree_at(lambda p: p.source.amount, process, process.source.amount * shares)
        start = clean_air(mixed, geometry)
        result = rollout(mixed, geometry, start, dt, DURATION_S * every, policy=policy)
        assert result.saved.y is not None
        return result.saved.y[every - 1 :: every], result.status

    return run, policy.stages or max(policy.substeps_advection, policy.substeps_diffusion)


def _policy(chamber: Chamber, process: Process, scheme: Scheme, step_s: float) -> Policy:
    """As few stages or substeps as these coefficients need."""
    if scheme.order == 2:
        stages = stages_needed(process, chamber.geometry(), jnp.asarray(step_s), slopes=scheme.slopes)
        return Policy(order=2, slopes=scheme.slopes, stages=int(stages), checkpoint="none")
    off = ~np.eye(process.diffusion.D.shape[0], dtype=bool)
    fastest = float(np.max(np.asarray(process.diffusion.D)[off]))
    advection, diffusion = chamber.cfl(step_s), chamber.diffusion_number(step_s, fastest)
    return Policy(int(np.ceil(advection)), int(np.ceil(diffusion)), checkpoint="none", order=1)
