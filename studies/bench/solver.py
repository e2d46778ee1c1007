"""The solver benchmark: default path, plain path and SciPy Radau on one problem, in one run.

The plain path is the paper's formulas taken literally (bordered KKT system by `jnp.linalg.solve`, `expm` per sensor)
inside the same jitted scan. BLAS gets one thread per call, with which the plain path is fastest; Radau is credited with
one process per core.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unmixnet.files.provenance import provenance

__all__ = ["draw_work_precision", "run_solver"]

STEPS = 100
EDGES = 14
_TIMEOUT_S = 900
# Products of R with a vector per edge and step at the odorant fraction of the benchmark. Forward: R x̄, R J₀ and one
# iteration of conjugate gradients. With the backward pass: the forward twice (checkpoint), two iterations of the
# transposed solve, and the four products of the operator's derivatives.
_PRODUCTS = {"forward": 3, "forward+backward": 12}


def run_solver(*, quick: bool = False, progress: Callable[[str], None] = lambda _: None) -> dict:
    """Measure everything; one dictionary, ready for JSON."""
    sizes = (12,) if quick else (12, 50)
    batches = (1, 32) if quick else (1, 32, 256)
    progress("measuring the rate of a large matrix product")
    gemm = _in_fresh_process(kind="gemm")
    rows = []
    for K in sizes:
        for batch in batches:
            for path in ("default", "plain"):
                progress(f"{path} path, {K} odorants, batch {batch}")
                rows += _measured(path, K, batch)
    precision = [_precision(K, quick, progress) for K in sizes]
    for entry in precision:
        rows.append(_radau_row(entry))
    return {
        **provenance("python -m studies bench solver" + " --quick" * quick, load=round(os.getloadavg()[0], 2)),
        "quick": quick,
        "problem": {"chamber": "portable_enose", "cells": 8, "edges": EDGES, "sensors": 4, "steps": STEPS, "float": 32},
        "memory": "XLA: temporary and output buffers of the compiled program; Radau: peak of Python's own allocations",
        "gemm": gemm,
        "rows": rows,
        "ratios": list(_ratios(rows)),
        "gemm_fraction": list(_fractions(rows, gemm["gflop_per_s"])),
        "bound": (
            "The default path is bound by launching and streaming small elementwise kernels, not by arithmetic: each "
            "step is some 150 of them forward (450 with the backward pass) on arrays that fit the second-level cache, "
            "and the flux products are the smaller part of its time."
        ),
        "work_precision": precision,
    }


def _in_fresh_process(**request: object) -> Any:
    """Measure in a process of its own; raises `TimeoutExpired` if it does not answer."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "studies.bench.case", json.dumps(request)]
    result = subprocess.run(command, env=environment, timeout=_TIMEOUT_S, stdout=subprocess.PIPE, check=True)
    return json.loads(result.stdout)


def _measured(path: str, K: int, batch: int) -> list[dict]:
    """Rows of one case; one that does not finish is extrapolated from a tenth of the steps, and says so."""
    try:
        rows = _in_fresh_process(kind="measure", path=path, n_odorants=K, batch=batch, n_steps=STEPS)
        return [{**row, "extrapolated": False} for row in rows]
    except subprocess.TimeoutExpired:
        rows = _in_fresh_process(kind="measure", path=path, n_odorants=K, batch=batch, n_steps=STEPS // 10)
        return [_stretched(row) for row in rows]


def _stretched(row: dict) -> dict:
    longer = {key: row[key] * 10 for key in ("seconds", "seconds_per_sample", "steps")}
    return {**row, **longer, "samples_per_second": row["samples_per_second"] / 10, "extrapolated": True}


def _ratios(rows: list[dict]) -> Iterator[dict]:
    """How many times faster the default path is, at equal size, batch and pass."""
    jax_rows = {(r["path"], r["odorants"], r["batch"], r["pass"]): r for r in rows if r["path"] != "radau"}
    for (path, K, batch, name), row in jax_rows.items():
        if path == "default":
            plain = jax_rows["plain", K, batch, name]
            yield {
                "odorants": K,
                "batch": batch,
                "pass": name,
                "plain_over_default": plain["seconds"] / row["seconds"],
                "memory_plain_over_default": plain["memory_bytes"] / row["memory_bytes"],
            }


def _fractions(rows: list[dict], gflop_per_s: float) -> Iterator[dict]:
    """Share of the measured matrix-product rate that the flux products of the default path reach."""
    for row in rows:
        if row["path"] == "default":
            products = _PRODUCTS[row["pass"]] * EDGES * STEPS * row["batch"]
            rate = products * 2 * (row["odorants"] + 1) ** 2 / row["seconds"] / 1e9
            share = {key: row[key] for key in ("odorants", "batch", "pass")}
            yield {**share, "gflop_per_s": rate, "fraction": rate / gflop_per_s}


def _radau_row(entry: dict) -> dict:
    radau = next(point for point in entry["radau"] if point["rtol"] == 1e-3)
    return {
        "path": "radau",
        "odorants": entry["odorants"],
        "batch": 1,
        "pass": "forward",
        "rtol": radau["rtol"],
        "seconds": radau["seconds_per_sample"],
        "seconds_per_sample": radau["seconds_per_sample"],
        "samples_per_second": radau["samples_per_second"],
        "memory_bytes": radau["memory_bytes"],
    }


def _precision(K: int, quick: bool, progress: Callable[[str], None]) -> dict:
    """Error at the end against a strict Radau, beside time per sample: default path (batch 32) and Radau."""
    progress(f"reference solution, {K} odorants")
    exact = _in_fresh_process(kind="reference", n_odorants=K, rtol=1e-8 if quick else 1e-10, repetitions=1)
    default, radau = [], []
    for steps in (50, 100, 200) if quick else (25, 50, 100, 200, 400, 800, 1600, 3200):
        progress(f"work and precision, {K} odorants, {steps} steps")
        default.append(
            _scored(_in_fresh_process(kind="precision", n_odorants=K, batch=32, n_steps=steps), exact, cores=1)
        )
    for rtol in (1e-2, 1e-3) if quick else (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8):
        progress(f"work and precision, {K} odorants, Radau at {rtol:g}")
        point = _in_fresh_process(kind="reference", n_odorants=K, rtol=rtol, repetitions=3)
        radau.append(_scored(point, exact, cores=os.cpu_count() or 1))
    return {
        "odorants": K,
        "duration_s": 50.0,
        "error": "largest relative error of the readout and of the odorants' moles at the end",
        "default": default,
        "radau": radau,
        "equal_error": [line for e in (3e-2, 1e-2, 3e-3, 1e-3) if (line := _at_error(e, default, radau))],
    }


def _scored(point: dict, exact: dict, cores: int) -> dict:
    errors = {}
    for name, species in (("y", slice(None)), ("N", (slice(None), slice(1, None)))):
        value, true = (np.asarray(p.pop(name) if p is point else p[name])[species] for p in (point, exact))
        errors[name] = float(np.max(np.abs(value - true) / np.abs(true)))
    return {
        **point,
        "error_y": errors["y"],
        "error_N": errors["N"],
        "error": max(errors.values()),
        "samples_per_second": cores / point["seconds_per_sample"],
    }


def _at_error(error: float, default: list[dict], radau: list[dict]) -> dict | None:
    """Samples per second at one error: default path interpolated log–log, Radau by its fastest run that is as good."""
    sound = sorted((p["error"], p["seconds_per_sample"]) for p in default if p["status"] <= 1)
    good = [p for p in radau if p["error"] <= error]
    if not good or not sound[0][0] <= error <= sound[-1][0]:
        return None
    x, y = np.log(np.array(sound)).T
    ours = float(np.exp(-np.interp(np.log(error), x, y)))
    theirs = max(p["samples_per_second"] for p in good)
    return {
        "error": error,
        "default_samples_per_second": ours,
        "radau_samples_per_second": theirs,
        "default_over_radau": ours / theirs,
    }


def draw_work_precision(result: dict, path: Path) -> None:
    """One panel per number of odorants; lower left is better."""
    from matplotlib.figure import Figure

    entries = result["work_precision"]
    figure = Figure(figsize=(5.2 * len(entries) + 0.6, 4.4), layout="constrained")
    axes = figure.subplots(1, len(entries), squeeze=False, sharey=True)[0]
    for ax, entry in zip(axes, entries, strict=True):
        _curve(ax, entry["default"], "o-", "#0b6e99", "unmixnet, batch 32, float32", lambda p: str(p["steps"]))
        _curve(ax, entry["radau"], "s--", "#c4500c", "SciPy Radau, one thread", lambda p: f"{p['rtol']:.0e}")
        ax.set(xscale="log", yscale="log", title=f"{entry['odorants']} odorants, 8 cells, 4 sensors, 50 s")
        ax.set_xlabel("largest relative error at the end (readout, moles)")
        ax.grid(True, which="major", alpha=0.3)
        ax.margins(0.12)
    axes[0].set_ylabel("wall time per sample [s]")
    axes[0].legend(frameon=False, loc="lower left")
    figure.suptitle("Numbers at the points: time steps, and Radau's rtol", fontsize=9, color="0.35")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)


def _curve(ax, points: list[dict], style: str, colour: str, label: str, text) -> None:
    ax.plot([p["error"] for p in points], [p["seconds_per_sample"] for p in points], style, color=colour, label=label)
    for p in points:
        place = (p["error"], p["seconds_per_sample"])
        ax.annotate(text(p), place, (4, 5), textcoords="offset points", fontsize=7, color=colour)
