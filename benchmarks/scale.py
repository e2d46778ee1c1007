"""What larger problems cost: the solver against each of its sizes, and an archive per sample.

    python -m benchmarks.scale [--only solver|archive] [--rounds N]

Times are processor time of one thread, the best of several rounds: what one core needs, little disturbed by other work
on the machine. Each axis and the archive run in a process of their own.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from benchmarks.provenance import RESULTS

__all__ = ["AXES", "BASE", "fitted", "main"]

BASE = {"cells": 64, "odorants": 12, "sensors": 4, "steps": 50, "batch": 1}
AXES = {
    "cells": (1, 2, 8, 27, 64, 216, 1000, 10_000),
    "odorants": (1, 4, 12, 48, 192),
    "sensors": (1, 16, 256, 1024, 4096),
    "steps": (1, 5, 50, 500, 3000),
    "batch": (1, 2, 8, 64, 512),
}
"""One is varied, the others stay as in BASE; the air has a background of all odorants."""
_SHAPES = {1: None, 2: (2, 1, 1), 10_000: (25, 20, 20)}
_ROOM_M = (5.0, 4.0, 3.0)
_HOUR_ROWS = 36_000
MODEL = "smellnet-mixture"


def room(cells: int, sensors: int):
    """A room of 5 × 4 × 3 m in so many cells; one cell is a jar without edges."""
    from unmixnet.builders import box
    from unmixnet.chamber import Cell, Chamber, Sensor

    shape = _SHAPES.get(cells, (round(cells ** (1 / 3)),) * 3)
    if shape is None:
        seats = tuple(Sensor(f"s{m}", "room") for m in range(sensors))
        return Chamber((Cell("room", float(np.prod(_ROOM_M)), "source"),), (), seats)
    return box(*shape, size_m=_ROOM_M, sensors=sensors)


def solve(size: dict[str, int], rounds: int, *, clean: bool = False) -> dict:
    """Forward rollouts of one size: processor seconds, direct solves, and the bytes of XLA's buffers.

    Arguments:
        clean: start in clean air, where the odorants' front passes from nothing at all to something.
    """
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from unmixnet.bench.case import start as in_background
    from unmixnet.bench.problem import made_up_process
    from unmixnet.physics.rollout import rollout
    from unmixnet.physics.state import clean_air

    chamber = room(size["cells"], size["sensors"])
    process, geometry = made_up_process(chamber, size["odorants"]), chamber.geometry()
    # as arguments: the compiler would spend its time on folding such large constants
    first = (clean_air if clean else in_background)(process, geometry)
    shared, static = eqx.partition((process, geometry, first), eqx.is_array)

    def one(shared, amount):
        process, geometry, start = eqx.combine(shared, static)
        p = eqx.tree_at(lambda p: p.source.amount, process, amount)
        done = rollout(p, geometry, start, jnp.asarray(1.0), size["steps"])
        return done.saved.y, done.status, done.direct_solves

    factor = np.random.default_rng(0).uniform(0.5, 1.5, (size["batch"], 1))
    amounts = process.source.amount * jnp.asarray(factor, jnp.float32)
    run = jax.jit(jax.vmap(one, in_axes=(None, 0))).lower(shared, amounts).compile()
    seconds = best(lambda: jax.block_until_ready(run(shared, amounts)), rounds)
    memory = run.memory_analysis()
    _, status, direct = run(shared, amounts)
    told = {"status": int(jnp.max(status)), "direct_solves": int(jnp.max(direct)), "edges": len(chamber.edges)}
    return {**size, "seconds": seconds, **told, "bytes": memory.temp_size_in_bytes}


def best(run: Callable[[], object], rounds: int) -> float:
    """Least processor time of a call; short calls are repeated within a round."""
    began = time.process_time()
    run()
    once = max(time.process_time() - began, 1e-6)
    repeat = int(np.clip(0.05 / once, 1, 200))
    times = []
    # a short call is disturbed most and costs least: more rounds
    for _ in range(1 if once > 5 else rounds if once > 0.05 else 5 * rounds):
        began = time.process_time()
        for _ in range(repeat):
            run()
        times.append((time.process_time() - began) / repeat)
    return min(times)


def fitted(points: list[tuple[float, float]]) -> dict[str, float]:
    """t = a + b nᵖ through (n, t), least squares of ln t: the exponent, and the n at which both parts are equal."""
    from scipy.optimize import least_squares

    n, t = np.array(points, float).T

    def model(v: np.ndarray) -> np.ndarray:
        return np.exp(v[0]) + np.exp(v[1]) * n ** v[2]

    first = np.array([np.log(t.min()), np.log(t.max() / n.max()), 1.0])
    found = least_squares(lambda v: np.log(model(v) / t), first, loss="soft_l1", f_scale=0.1).x
    a, b, p = float(np.exp(found[0])), float(np.exp(found[1])), float(found[2])
    off = float(np.max(np.abs(np.log(model(found) / t))))
    return {"a": a, "b": b, "exponent": p, "bend": (a / b) ** (1 / p), "largest_misfit": float(np.expm1(off))}


def axis(name: str, rounds: int) -> dict:
    """One axis of the solver."""
    rows = []
    for value in AXES[name]:
        rows.append(solve(BASE | {name: value}, rounds))
        print(f"{name} {value}: {rows[-1]['seconds']:.4g} s, status {rows[-1]['status']}", file=sys.stderr, flush=True)
    return {"rows": rows, "fit": fitted([(row[name], row["seconds"]) for row in rows])}


def front(rounds: int) -> dict:
    """The base problem from clean air, beside the same in air with a background."""
    return {name: solve(BASE, rounds, clean=name == "clean") for name in ("clean", "background")}


# ---------------------------------------------------------------- the archive


def archive(hours: int) -> dict:
    """Continuous recordings at 10 Hz as Parquet: seconds per window in all and by stage, bytes in and out."""
    import cProfile
    import pstats

    from unmixnet.archive.run import unmix_archive
    from unmixnet.bundle import find_bundle, load_bundle

    place = find_bundle(MODEL)
    bundle = load_bundle(place)
    with tempfile.TemporaryDirectory() as home:
        work = Path(home)
        rows, sizes = _recordings(work / "in", hours, bundle.ready.channels)
        _recordings(work / "first", 1, bundle.ready.channels, rows=1200)
        unmix_archive(work / "first", work / "warm", bundle, place)
        profile, began, wall = cProfile.Profile(), time.process_time(), time.monotonic()
        report = unmix_archive(work / "in", work / "out", bundle, place)
        seconds, wall = time.process_time() - began, time.monotonic() - wall
        profile.runcall(unmix_archive, work / "in", work / "again", bundle, place)
        out = sum(path.stat().st_size for path in (work / "out" / "windows").iterdir())
        stages = _stages(pstats.Stats(profile))
        peak = _peak_MB()
    windows = report.fresh_windows
    return {
        "model": MODEL,
        "rate_Hz": 10.0,
        "channels": len(bundle.ready.channels),
        "stride_s": bundle.config.data.stride_s,
        "rows": rows,
        "windows": windows,
        "seconds": seconds,
        "wall_seconds": wall,
        "windows_per_second": windows / seconds,
        "samples_per_second": rows / seconds,
        "bytes_per_sample": {name: size / rows for name, size in sizes.items()},
        "bytes_per_window": out / windows,
        "stages": stages,
        "peak_MB": peak,
    }


def _recordings(folder: Path, hours: int, channels: tuple[str, ...], rows: int = _HOUR_ROWS) -> tuple[int, dict]:
    """Hours of slow changes and noise in counts, one Parquet file each; the same as text, to know its size."""
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir()
    sizes = {"parquet": 0, "csv": 0}
    for hour in range(hours):
        rng = np.random.default_rng(hour)
        walk = np.cumsum(rng.normal(0, 1, (rows, len(channels))), axis=0)
        counts = np.round(np.clip(450 + 3 * walk + rng.normal(0, 1, walk.shape), 20, 1000))
        time_s = np.arange(rows) / 10
        table = pa.table({"time_s": time_s} | dict(zip(channels, counts.astype(np.int16).T, strict=True)))
        path = folder / f"hour{hour:03d}.parquet"
        parquet.write_table(table, path, compression="zstd", row_group_size=rows // 2)
        sizes["parquet"] += path.stat().st_size
        lines = (f"{t:.1f}," + ",".join(f"{value:.0f}" for value in row) for t, row in zip(time_s, counts, strict=True))
        sizes["csv"] += sum(len(line) + 1 for line in lines)
    return hours * rows, sizes


def _stages(stats) -> dict[str, float]:
    """Share of the time of each stage."""
    wanted = {
        "reading": ("blocks.py", "_table"),
        "encoder": ("windows.py", "encode"),
        "solver": ("windows.py", "reconstruct"),
        "judging": ("answering.py", "_judged"),
        "writing": ("task.py", "__call__"),
    }
    total = stats.total_tt
    found = dict.fromkeys(wanted, 0.0)
    for (file, _, function), (_, _, _, cumulative, _) in stats.stats.items():
        for name, (end, called) in wanted.items():
            if file.endswith(end) and function == called:
                found[name] += cumulative / total
    return found | {"cutting and the rest": max(1 - sum(found.values()), 0.0)}


def _peak_MB() -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


# ---------------------------------------------------------------- the whole


def _ask(request: dict) -> dict:
    """One part in a process of its own, with one thread."""
    from unmixnet.scale.places import ONE_THREAD

    command = [sys.executable, "-m", "benchmarks.scale", "--part", json.dumps(request)]
    done = subprocess.run(command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("solver", "archive"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part:
        request = json.loads(asked.part)
        kind = request.pop("kind")
        print(json.dumps({"axis": axis, "front": front, "archive": archive}[kind](**request)))
        return
    from unmixnet.provenance import provenance

    path = RESULTS / "scale.json"
    kept = json.loads(path.read_text()) if path.is_file() else {}
    result = provenance(
        f"python -m benchmarks.scale --rounds {asked.rounds}",
        load=round(os.getloadavg()[0], 1),
        rounds=asked.rounds,
        base=BASE,
        solver=kept.get("solver", {}),
        front=kept.get("front", {}),
        archive=kept.get("archive", {}),
    )
    if asked.only != "archive":
        result["solver"] = {name: _ask({"kind": "axis", "name": name, "rounds": asked.rounds}) for name in AXES}
        result["front"] = _ask({"kind": "front", "rounds": asked.rounds})
    if asked.only != "solver":
        result["archive"] = _ask({"kind": "archive", "hours": 8})
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    from benchmarks.scale_page import draw, write_page

    if result["solver"] and result["archive"]:
        draw(result)
        write_page(result)


if __name__ == "__main__":
    main()
