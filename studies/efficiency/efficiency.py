"""`python -m studies efficiency`: what a model costs, all in one run, as ratios beside the absolute values."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from studies.efficiency.case import BATCH, RECIPE, Case
from studies.harness.variants import BASELINES
from unmixnet.errors import UnmixError
from unmixnet.files.provenance import provenance

__all__ = ["MEANINGS", "cases", "errors_of", "run_efficiency", "with_ratios"]

Progress = Callable[[str, int], Callable[[], None]]
REPEATS, RECORDINGS, WINDOWS = 200, 323, 32
"""Timed answers; recordings of an epoch (clean training without validation); windows of the direct inverse."""
_RATIOS = ("epoch_s", "latency_ms", "throughput", "buffers_MB")
_TIMEOUT_S = 900
MEANINGS = {
    "answer": "the ratios: UnMixNet's encoder alone, which is all that `unmix` needs for them",
    "answer and states": "the ratios, then the solver: fractions, fluxes, coverages and the reconstructed trace",
    "direct inverse": "no encoder: Levenberg–Marquardt through the same solver for every window",
    "epoch_s": "seconds for an epoch of 323 recordings, from two steps of 32; for a peer, the whole fit",
    "latency_ms": "median of an answer to one window, after a warm-up",
    "throughput": "windows a second in batches of 32",
    "buffers_MB": "XLA's arguments, temporaries and outputs of the program that answers a batch",
    "resident_MB": "growth of the peak resident size of a process of its own, compilation included",
}


def cases(*, quick: bool = False, windows: str = "") -> list[tuple[str, Case]]:
    """Every row of the table with its name; a quick run has one size and few repetitions."""
    repeats = 10 if quick else REPEATS
    sizes = ("small",) if quick else ("small", "paper")
    names = ("mlp", "adr-gnn") if quick else tuple(variant.name for variant in BASELINES)
    rows = []
    for size in sizes:
        rows += [(name, Case("network", name, size, repeats, RECORDINGS)) for name in names]
        rows.append(("unmixnet, answer", Case("network", "unmixnet", size, repeats, RECORDINGS)))
        rows.append(("unmixnet, answer and states", Case("states", "unmixnet", size, repeats, RECORDINGS)))
    for name in ("ridge",) if quick else ("1-NN", "ridge", "extra-trees"):
        rows.append((name, Case("peer", name, "", repeats, RECORDINGS // 8 if quick else RECORDINGS)))
    return [*rows, ("direct inverse", Case("inverse", "direct inverse", "small", repeats, 0, windows))]


def run_efficiency(
    root: str | Path | None,
    stored: Path,
    *,
    quick: bool = False,
    progress: Progress = lambda name, steps: lambda: None,
) -> dict[str, Any]:
    """Measure every model, one after the other, each in a process of its own.

    Arguments:
        stored: result file of `reproduce smellnet`, whose errors stand beside the costs.
    """
    load = round(os.getloadavg()[0], 2)
    with tempfile.TemporaryDirectory() as folder:
        wanted = cases(quick=quick, windows="" if quick else _recorded(root, Path(folder) / "windows.npy"))
        tick = progress("efficiency", len(wanted))
        rows = []
        for name, case in wanted:
            rows.append(
                {"name": name, "model": case.model, "size": case.size, "kind": case.kind, **_in_fresh_process(case)}
            )
            tick()
    return provenance(
        "python -m studies efficiency" + (" --quick" if quick else ""),
        quick=quick,
        load_before=load,
        batch=BATCH,
        meanings=MEANINGS,
        errors=errors_of(stored),
        rows=with_ratios(rows),
    )


def with_ratios(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Beside every number its ratio to the answer of the small UnMixNet, and to ADR-GNN of the same size."""
    known = {(row["name"], row["size"]): row for row in rows}
    ours = known["unmixnet, answer", "small"]

    def over(row: dict[str, Any], other: dict[str, Any] | None) -> dict[str, float | None]:
        pairs = {key: (row[key], None if other is None else other[key]) for key in _RATIOS}
        return {key: None if a is None or not b else a / b for key, (a, b) in pairs.items()}

    def same(row: dict[str, Any]) -> dict[str, Any] | None:
        return known.get(("adr-gnn", row["size"] or "small"))

    return [{**row, "over_unmixnet": over(row, ours), "over_adr_gnn": over(row, same(row))} for row in rows]


def errors_of(stored: Path) -> dict[str, dict[str, float]]:
    """MAE per recording of each model where mixtures are new, from an earlier run of `reproduce smellnet`."""
    if not stored.is_file():
        return {}
    errors: dict[str, dict[str, float]] = {}
    for row in json.loads(stored.read_text())["rows"]:
        if (row["metric"], row["level"]) == ("MAE", "recording") and row["protocol"].endswith((":unseen", "out")):
            errors.setdefault(row["model"], {})[row["protocol"]] = row["mean"]
    return errors


def _in_fresh_process(case: Case) -> dict[str, Any]:
    """Measure in a fresh process."""
    command = [sys.executable, "-m", "studies.efficiency.case", json.dumps(asdict(case))]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "0"}
    try:
        done = subprocess.run(command, env=environment, timeout=_TIMEOUT_S, capture_output=True, text=True, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        last = str(error.stderr or "").strip().splitlines()[-1:] or [f"no answer within {_TIMEOUT_S} s"]
        raise UnmixError(
            f"{case.model} ({case.size}) could not be measured: {last[0][:200]}",
            where="reproduce efficiency",
            remedy="Is memory short, or the machine busy? Close other programs and run again",
        ) from None
    return json.loads(done.stdout)


def _recorded(root: str | Path | None, target: Path) -> str:
    """Windows of unseen SmellNet recordings in a file, as the shipped model sees them; "" where there are none."""
    from unmixnet.inference.bundle.storage import load_model
    from unmixnet.recordings.datasets import load_dataset
    from unmixnet.recordings.location import DataError
    from unmixnet.training.examples import gather_examples, windows_of

    try:
        data = load_dataset(RECIPE, root)
    except DataError:
        return ""
    bundle = load_model(RECIPE)
    spec, entries = bundle.spec, data.of("test_unseen")
    chosen = [data.read(entry) for entry in entries[:: max(1, len(entries) // WINDOWS)]]
    examples = gather_examples(chosen, bundle.preprocessing, bundle.components, spec.rate_Hz, spec.window)
    cut, owner = windows_of(examples, spec.window, spec.stride)
    np.save(target, cut[np.unique(owner, return_index=True)[1]][:WINDOWS])
    return str(target)
