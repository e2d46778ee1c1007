"""Generated recordings in exactly the format of UCI 322, streamed to disk in bounded memory, with the truth beside.

    Time (seconds), Methane conc (ppm), Ethylene conc (ppm), sensor readings (16 channels)
    0.00  0.00  0.00  2701.52 …

The file has the commanded set points, as the real ones do; what was in the chamber is in the truth. Time stamps are
uneven (a share of the rows is missing), readings carry noise, and a share of them is at or under zero, in runs of half
a second.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from studies.uci.dynamic_response import Programme
from studies.uci.generated_rig import (
    STEP_S,
    Rig,
    air_log_conductance,
    arriving_ppm,
    random_programme,
    rig_chamber,
    rig_process,
)
from unmixnet.errors import ConfigError, SolveError
from unmixnet.files.replacement import replacing, write_file

if TYPE_CHECKING:
    from unmixnet.physics.state import State

__all__ = ["BAD_SHARE", "Truth", "header", "read_truth", "write_recording"]

BAD_SHARE = 0.012
"""Share of readings at or under zero, as in the real files."""
MISSING_SHARE = 0.015
"""Share of rows that are left out: time stamps are uneven."""
NOISE = (3.0, 0.001)
"""sd of the noise in readings: a constant and a share of the reading."""
WARMING = (0.05, 3000.0)
"""ln G that the sensors lose while the rig warms up, and in which time [s]."""
CHUNK_S = 60.0
_RUN_S = 0.5


@dataclass(frozen=True, eq=False)
class Truth:
    """What was in the chamber, once a second.

    Arguments:
        time_s: shape (n,).
        ppm: mean concentration in the chamber, shape (n, 2).
        theta: coverage of each sensor by each gas, shape (n, 16, 2).
        programme: the commanded set points [ppm].
    """

    time_s: np.ndarray
    ppm: np.ndarray
    theta: np.ndarray
    programme: Programme


def header(gases: tuple[str, str]) -> str:
    """The first line of a file."""
    first, second = (gas if gas == "CO" else gas.capitalize() for gas in gases)
    return f"Time (seconds), {first} conc (ppm), {second} conc (ppm), sensor readings (16 channels)"


def write_recording(
    path: Path,
    rig: Rig,
    *,
    hours: float = 12.0,
    rate_Hz: float = 100.0,
    progress: Callable[[], None] = lambda: None,
) -> Truth:
    """Solve, and write text to `path` and the truth to `path` with the suffix .truth.npz.

    Arguments:
        rig: gases and seed.
        hours: length; a whole number of minutes.
        rate_Hz: rows a second before some are left out.
        progress: called after every minute of the recording.
    """
    chunks = round(hours * 3600 / CHUNK_S)
    if chunks < 1 or rate_Hz < 1 or rate_Hz > 100:
        raise ConfigError(
            f"{hours:g} h at {rate_Hz:g} Hz, expected a minute or more at 1 to 100 Hz",
            where=str(path),
            remedy="Use hours=12, rate_Hz=100 for a file like the real ones",
        )
    programme = random_programme(rig, chunks * CHUNK_S / 3600)
    kept: list[_Chunk] = []
    with replacing(path) as part, part.open("wb") as text:
        text.write(header(rig.gases).encode() + b"\n")
        for n, chunk in enumerate(_solve(rig, programme, chunks)):
            text.write(_text(*_rows(rig, programme, chunk, n, rate_Hz)))
            kept.append(chunk.each_second())
            progress()
    time_s, ppm, theta = (np.concatenate([getattr(c, key) for c in kept]) for key in ("time_s", "ppm", "theta"))
    truth = Truth(time_s, ppm, theta, programme)
    content = BytesIO()
    np.savez_compressed(
        content,
        time_s=truth.time_s,
        ppm=truth.ppm,
        theta=truth.theta,
        start_s=programme.start_s,
        c=programme.c,
    )
    write_file(path.with_suffix(".truth.npz"), content.getvalue())
    return truth


def read_truth(path: Path) -> Truth:
    """The truth beside a generated file."""
    beside = path.with_suffix(".truth.npz")
    try:
        with np.load(beside) as stored:
            programme = Programme(stored["start_s"], stored["c"])
            return Truth(stored["time_s"], stored["ppm"], stored["theta"], programme)
    except (OSError, KeyError, ValueError) as error:
        raise ConfigError(
            f"no truth beside the recording ({error})", where=str(beside), remedy="Generate the recording again"
        ) from None


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Consecutive solver steps: times (n,), chamber mean [ppm] (n, 2), coverage (n, 16, 2), ln G over air (n, 16)."""

    time_s: np.ndarray
    ppm: np.ndarray
    theta: np.ndarray
    y: np.ndarray

    def each_second(self) -> "_Chunk":
        every = round(1 / STEP_S)
        return _Chunk(
            *(getattr(self, k)[every - 1 :: every].astype(np.float32) for k in ("time_s", "ppm", "theta", "y"))
        )


def _solve(rig: Rig, programme: Programme, chunks: int) -> Iterator[_Chunk]:
    """Chunks of solver steps in order; the state of the last step starts the next chunk."""
    import jax
    import jax.numpy as jnp

    from unmixnet.physics.state import Status, clean_air

    steps = round(CHUNK_S / STEP_S)
    with jax.enable_x64(False):
        chamber, run = rig_chamber(), _runner(steps)
        process = rig_process(rig, chamber)
        state: State = clean_air(process, chamber.geometry())
    for n in range(chunks):
        time_s = CHUNK_S * n + STEP_S * np.arange(1, steps + 1)
        inlet = 1e-6 * arriving_ppm(rig, programme, np.append(CHUNK_S * n, time_s))
        with jax.enable_x64(False):
            state, saved, status = run(process, state, jnp.asarray(inlet, jnp.float32))
        if Status(int(status)) is not Status.OK:
            raise SolveError(Status(int(status)).text, where=f"second {CHUNK_S * n:g}", remedy="Change the seed")
        N, theta, y = (np.asarray(part, float) for part in saved)
        moles = N.sum(axis=2)
        covered = theta[:, 1:].swapaxes(1, 2)
        yield _Chunk(time_s, 1e6 * moles[:, 1:] / moles.sum(axis=1, keepdims=True), covered, y)


@cache
def _runner(steps: int) -> Any:
    """The compiled solver of one chunk, in single precision, for any rig."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from unmixnet.physics.rollout import Policy, rollout
    from unmixnet.physics.state import Schedule

    chamber = rig_chamber()
    geometry = chamber.geometry()
    times = STEP_S * jnp.arange(steps + 1, dtype=jnp.float32)
    cells = len(chamber.cells)

    @jax.jit
    def run(process, state, inlet):
        gases = jnp.concatenate([1 - inlet.sum(axis=1, keepdims=True), inlet], axis=1)
        schedule = Schedule(times, jnp.broadcast_to(gases[..., None], (steps + 1, 3, cells)))
        this = eqx.tree_at(lambda p: p.inlet, process, schedule, is_leaf=lambda leaf: leaf is None)
        start = eqx.tree_at(lambda s: s.t, state, jnp.zeros((), jnp.float32))
        policy = Policy(checkpoint="none", order=1)
        done = rollout(this, geometry, start, jnp.asarray(STEP_S), steps, save=("N", "theta", "y"), policy=policy)
        return done.final, (done.saved.N, done.saved.theta, done.saved.y), done.status

    return run


def _rows(rig: Rig, programme: Programme, chunk: _Chunk, n: int, rate_Hz: float) -> tuple[np.ndarray, ...]:
    """Times, set points and readings of one chunk as they stand in the file."""
    rng = np.random.default_rng([rig.seed, 4, n])
    begin = chunk.time_s[0] - STEP_S
    t = begin + np.arange(round(CHUNK_S * rate_Hz)) / rate_Hz
    t = t[rng.random(len(t)) >= MISSING_SHARE]
    grid, y = chunk.time_s, chunk.y
    at = np.stack([np.interp(t, grid, column) for column in y.T], axis=1)
    at += air_log_conductance(rig) + WARMING[0] * np.exp(-t / WARMING[1])[:, None]
    G = np.exp(at)
    readings = G + rng.normal(size=G.shape) * (NOISE[0] + NOISE[1] * G)
    set_points = programme.c[np.searchsorted(programme.start_s, t + 1e-9, side="right") - 1]
    return t, set_points, _spoilt(rng, readings, rate_Hz)


def _spoilt(rng: np.random.Generator, readings: np.ndarray, rate_Hz: float) -> np.ndarray:
    """Runs of bad readings in single sensors."""
    length = max(int(_RUN_S * rate_Hz), 1)
    starts = rng.random(readings.shape) < BAD_SHARE / length
    bad = np.zeros(readings.shape, bool)
    for row, sensor in zip(*np.nonzero(starts), strict=True):
        bad[row : row + length, sensor] = True
    return np.where(bad, -np.abs(rng.normal(20, 15, readings.shape)), readings)


def _text(time_s: np.ndarray, set_points: np.ndarray, readings: np.ndarray) -> bytes:
    """Lines of numbers with two decimals, columns parted by spaces."""
    values = np.round(np.column_stack([time_s, set_points, readings]), 2)
    form = "    ".join(["%.2f"] * values.shape[1])
    return ("\n".join([form % tuple(row) for row in values.tolist()]) + "\n").encode()
