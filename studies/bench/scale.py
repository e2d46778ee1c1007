"""What larger problems cost: the solver against each of its sizes, and an archive per sample.

    python -m studies.bench.scale [--only solver|archive] [--rounds N] [--quick]

Times are processor time of one thread, the best of several rounds: what one core needs, little disturbed by other work
on the machine. Each axis and the archive run in a process of their own. Axes whose curve has a step are measured once
more without the library to which XLA gives sums over more than 4,096 numbers (YNNPACK): its calls are that step.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from studies.bench.scale_archive import archive
from studies.tables.markdown import RESULTS

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
STEPPED = ("cells", "sensors")
PLAIN_SUMS = "--xla_cpu_experimental_ynn_fusion_type=LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"
"""A flag of XLA: matrix products as before, sums by the loops that XLA writes itself."""
_SHAPES = {1: None, 2: (2, 1, 1), 10_000: (25, 20, 20)}
_ROOM_M = (5.0, 4.0, 3.0)


def room(cells: int, sensors: int):
    """A room of 5 × 4 × 3 m in so many cells; one cell is a jar without edges."""
    from unmixnet.simulation.builders import box
    from unmixnet.simulation.chamber import Cell, Chamber, Sensor

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

    from studies.bench.case import start as in_background
    from unmixnet.physics.rollout import Policy, rollout
    from unmixnet.physics.state import clean_air, with_samples
    from unmixnet.simulation.validation.synthetic_problem import made_up_process

    chamber = room(size["cells"], size["sensors"])
    process, geometry = made_up_process(chamber, size["odorants"]), chamber.geometry()
    # as arguments: the compiler would spend its time on folding such large constants
    first = (clean_air if clean else in_background)(process, geometry)
    shared, static = eqx.partition(with_samples((process, geometry, first)), eqx.is_array)

    def solved(shared, amounts):
        process, geometry, start = eqx.combine(shared, static)
        p = eqx.tree_at(lambda p: p.source.amount, process, amounts)
        done = rollout(p, geometry, start, jnp.asarray(1.0), size["steps"], policy=Policy(order=1))
        return done.saved.y, done.status, done.direct_solves

    factor = np.random.default_rng(0).uniform(0.5, 1.5, size["batch"])
    amounts = process.source.amount[:, None] * jnp.asarray(factor, jnp.float32)
    run = jax.jit(solved).lower(shared, amounts).compile()
    seconds = best(lambda: jax.block_until_ready(run(shared, amounts)), rounds)
    memory = run.memory_analysis()
    assert memory is not None
    _, status, direct = run(shared, amounts)
    facts = {"status": int(jnp.max(status)), "direct_solves": int(jnp.max(direct)), "edges": len(chamber.edges)}
    return {**size, "seconds": seconds, **facts, "bytes": memory.temp_size_in_bytes}


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
    solution = least_squares(lambda v: np.log(model(v) / t), first, loss="soft_l1", f_scale=0.1).x
    a, b, p = float(np.exp(solution[0])), float(np.exp(solution[1])), float(solution[2])
    off = float(np.max(np.abs(np.log(model(solution) / t))))
    return {"a": a, "b": b, "exponent": p, "bend": (a / b) ** (1 / p), "largest_misfit": float(np.expm1(off))}


def axis(name: str, rounds: int, quick: bool = False) -> dict:
    """One axis of the solver; a quick one leaves the largest two sizes out."""
    rows = []
    for value in AXES[name][: -2 if quick else None]:
        rows.append(solve(BASE | {name: value}, rounds))
        print(f"{name} {value}: {rows[-1]['seconds']:.4g} s, status {rows[-1]['status']}", file=sys.stderr, flush=True)
    return {"rows": rows, "fit": fitted([(row[name], row["seconds"]) for row in rows])}


def front(rounds: int) -> dict:
    """The base problem from clean air, beside the same in air with a background."""
    return {name: solve(BASE, rounds, clean=name == "clean") for name in ("clean", "background")}


# ---------------------------------------------------------------- the whole


def _in_fresh_process(kind: str, *, plain_sums: bool = False, **request) -> dict:
    """One part in a process of its own, with one thread."""
    from unmixnet.inference.archive.workers import ONE_THREAD

    flags = f"{os.environ.get('XLA_FLAGS', '')} {PLAIN_SUMS}" if plain_sums else os.environ.get("XLA_FLAGS", "")
    command = [sys.executable, "-m", "studies.bench.scale", "--part", json.dumps({"kind": kind, **request})]
    environment = os.environ | ONE_THREAD | {"XLA_FLAGS": flags.strip()}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def measured(rounds: int, quick: bool, only: str | None, kept: dict) -> dict:
    """The solver and the archive; a part that is not measured keeps its stored values."""
    parts = {name: kept.get(name, {}) for name in ("solver", "plain_sums", "front", "archive")}
    how = {"rounds": rounds, "quick": quick}
    if only != "archive":
        parts["solver"] = {name: _in_fresh_process("axis", name=name, **how) for name in AXES}
        parts["plain_sums"] = {name: _in_fresh_process("axis", name=name, plain_sums=True, **how) for name in STEPPED}
        parts["front"] = _in_fresh_process("front", rounds=rounds)
    if only != "solver":
        parts["archive"] = _in_fresh_process("archive", hours=1 if quick else 8)
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=("solver", "archive"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small sizes only, stored nowhere: a try")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        request = json.loads(options.part)
        print(json.dumps({"axis": axis, "front": front, "archive": archive}[request.pop("kind")](**request)))
        return
    from unmixnet.files.provenance import provenance

    path = RESULTS / "scale.json"
    kept = json.loads(path.read_text()) if path.is_file() else {}
    load = round(os.getloadavg()[0], 1)
    parts = measured(options.rounds, options.quick, options.only, kept)
    command = f"python -m studies.bench.scale --rounds {options.rounds}"
    result = provenance(command, load=load, rounds=options.rounds, base=BASE, **parts)
    if options.quick:
        print(json.dumps(result))
        return
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    from studies.bench.scale_page import draw, write_page

    if result["solver"] and result["archive"]:
        draw(result)
        write_page(result)


if __name__ == "__main__":
    main()
