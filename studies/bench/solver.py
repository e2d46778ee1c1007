"""The solver benchmark, in one run: the symmetric step, the first-order step before it, the paper's formulas taken
literally ("plain"), SciPy's Radau and diffrax, all on one problem.

The plain path is a bordered KKT system by `jnp.linalg.solve` and `expm` per sensor inside the same jitted scan.
"""

import os
from collections.abc import Callable, Iterator
from importlib.metadata import version

from studies.bench.processes import answers
from studies.bench.work_precision import BATCH, ERRORS, work_precision
from unmixnet.files.provenance import provenance

__all__ = ["run_solver"]

STEPS = 100
_TIMEOUT_S = 300.0
_DIFFRAX = {"solver": "Tsit5", "rtol": 1e-3}
_PATHS = ("ours", "before", "plain")
_KERNELS = (
    "Instructions of the compiled scan's body (forward, and backward) that do work of their own: fusions, library "
    "calls, products, reductions, copies. A loop inside counts as often as it runs if the compiler knows that, else "
    "once; one of unknown length that calls LAPACK is a fallback that does not run, and is not counted."
)


def run_solver(*, quick: bool = False, progress: Callable[[str], None] = lambda _: None) -> dict:
    """Measure everything; one dictionary, ready for JSON."""
    sizes = (12,) if quick else (12, 50)
    progress("measuring the rate of a large matrix product")
    (gemm,), _ = answers(kind="gemm")
    load = round(os.getloadavg()[0], 2)
    rows = [row for K in sizes for row in _rows(K, quick, progress)]
    precision = [work_precision(K, quick=quick, progress=progress) for K in sizes]
    rows += [_radau_row(entry) for entry in precision]
    fractions = list(_fractions(rows, gemm["gflop_per_s"]))
    return {
        **provenance("python -m studies bench solver" + " --quick" * quick, load=load),
        "peers": {"diffrax": version("diffrax")},
        "quick": quick,
        "problem": {"chamber": "portable_enose", "cells": 8, "edges": 14, "sensors": 4, "steps": STEPS, "float": 32},
        "memory": "XLA: temporary and output buffers of the compiled program; Radau: peak of Python's own allocations",
        "kernels": _KERNELS,
        "gemm": gemm,
        "rows": rows,
        "ratios": list(_ratios(rows)),
        "gemm_fraction": fractions,
        "bound": bound(rows, fractions),
        "errors": ERRORS,
        "duration_s": 50.0,
        "work_precision": precision,
    }


def _rows(K: int, quick: bool, progress: Callable[[str], None]) -> list[dict]:
    """Time, memory and kernels of a number of odorants, by path, batch and pass."""
    rows = []
    for batch in (BATCH,) if quick else (1, BATCH, 256):
        for path in _PATHS:
            progress(f"{path}, {K} odorants, batch {batch}")
            rows += _measured(path, K, batch)
        progress(f"diffrax, {K} odorants, batch {batch}")
        if not quick:
            rows += answers(kind="measure_diffrax", n_odorants=K, samples=batch, **_DIFFRAX)[0]
    return rows


def _measured(path: str, K: int, batch: int) -> list[dict]:
    """Rows of one case; passes that do not finish are extrapolated from a tenth of the steps, and say so."""
    request = {"kind": "measure", "path": path, "n_odorants": K, "samples": batch}
    rows, ended = answers(limit_s=_TIMEOUT_S, **request, n_steps=STEPS)
    rows = [{**row, "extrapolated": False} for row in rows]
    if ended:
        return rows
    there = {row["pass"] for row in rows}
    shorter, _ = answers(limit_s=_TIMEOUT_S, **request, n_steps=STEPS // 10)
    return rows + [_stretched(row) for row in shorter if row["pass"] not in there]


def _stretched(row: dict) -> dict:
    longer = {key: row[key] * 10 for key in ("seconds", "seconds_per_sample", "steps")}
    return {**row, **longer, "samples_per_second": row["samples_per_second"] / 10, "extrapolated": True}


def _ratios(rows: list[dict]) -> Iterator[dict]:
    """How many times faster ours is than before and than plain, at equal size, batch, pass and number of steps."""
    by_key = {(row["path"], row["odorants"], row["batch"], row["pass"]): row for row in rows}
    for (path, *key), row in by_key.items():
        if path != "ours":
            continue
        ratio = {"odorants": key[0], "batch": key[1], "pass": key[2]}
        for other in ("before", "plain"):
            if theirs := by_key.get((other, *key)):
                ratio[f"{other}_over_ours"] = theirs["seconds"] / row["seconds"]
                ratio[f"memory_{other}_over_ours"] = theirs["memory_bytes"] / row["memory_bytes"]
        yield ratio


def _fractions(rows: list[dict], gflop_per_s: float) -> Iterator[dict]:
    """Share of the measured matrix-product rate that the matrix products of our step reach."""
    for row in rows:
        if row["path"] == "ours":
            rate = row["product_flop_per_step"] * row["steps"] / row["seconds"] / 1e9
            share = {key: row[key] for key in ("odorants", "batch", "pass")}
            yield {**share, "gflop_per_s": rate, "fraction": rate / gflop_per_s}


def bound(rows: list[dict], fractions: list[dict]) -> str:
    """What limits our step, from the kernels counted and the share of the product rate."""
    best = max(fractions, key=lambda line: line["fraction"])
    parts = []
    for row in rows:
        if (row["path"], row["odorants"], row["batch"]) == ("ours", 12, BATCH):
            kernels = row["kernels_per_step"]
            each = 1e6 * row["seconds"] / row["steps"] / kernels
            parts.append(f"{kernels:,} kernels {row['pass']} ({each:.2g} µs each)")
    limit = (
        "by launching and streaming small kernels, not by the products"
        if best["fraction"] < 0.5
        else "by its matrix products where these are largest"
    )
    return f"A step with 12 odorants and batch {BATCH} is {' and '.join(parts)}: it is bound {limit}."


def _radau_row(entry: dict) -> dict:
    """Radau at a usual tolerance, beside the others; its time is that of one core for one sample over the cores."""
    (series,) = (series for series in entry["series"] if series["group"] == "radau")
    point = next(point for point in series["points"] if point["setting"] == 1e-3)
    return {
        "path": "radau",
        "odorants": entry["odorants"],
        "batch": 1,
        "pass": "forward",
        "rtol": point["setting"],
        "seconds": point["seconds_per_sample"],
        "seconds_per_sample": point["seconds_per_sample"],
        "samples_per_second": 1 / point["seconds_per_sample"],
        "memory_bytes": point["memory_bytes"],
    }
