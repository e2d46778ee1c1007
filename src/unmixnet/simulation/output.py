"""Simulated trajectories as tables and Parquet files, and their summary."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from unmixnet.files.replacement import replacing
from unmixnet.simulation.simulate import Simulated

__all__ = ["closure_rows", "columns", "summary", "write_parquet"]


def columns(result: Simulated) -> dict[str, np.ndarray]:
    """One column per quantity: `readout/SENSOR`, `mole_fraction/CELL/SPECIES`, `coverage/SENSOR/SPECIES`, …"""
    out: dict[str, np.ndarray] = {"time_s": result.time_s}
    for m, sensor in enumerate(result.chamber.sensors):
        out[f"readout/{sensor.name}"] = result.readout[:, m]
    for v, cell in enumerate(result.chamber.cells):
        for i, name in enumerate(result.species):
            out[f"mole_fraction/{cell.name}/{name}"] = result.mole_fraction[:, v, i]
    for e, edge in enumerate(result.chamber.edges):
        for i, name in enumerate(result.species):
            out[f"flux_mol_m2_s/{edge.tail}>{edge.head}/{name}"] = result.flux_mol_m2_s[:, e, i]
    for m, sensor in enumerate(result.chamber.sensors):
        for i, name in enumerate(("empty", *result.species[1:])):
            out[f"coverage/{sensor.name}/{name}"] = result.coverage[:, m, i]
    for place, moles in result.reservoirs_mol.items():
        for i, name in enumerate(result.species):
            out[f"{place}_mol/{name}"] = moles[:, i]
    for key, values in result.closure.items():
        out[f"closure/{key}"] = values
    return out


def write_parquet(result: Simulated, path: str | Path) -> Path:
    """Write all columns; the schema metadata `unmixnet` holds the summary as JSON."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(path)
    data = pa.table(columns(result))
    data = data.replace_schema_metadata({"unmixnet": json.dumps(summary(result))})
    with replacing(path) as part:
        pq.write_table(data, part, compression="zstd")
    return path


def summary(result: Simulated) -> dict[str, Any]:
    """Status, steps and the worst closure values, JSON-ready."""
    return {
        "status": result.status,
        "steps": result.steps,
        "rejected_steps": result.rejected,
        "rows": len(result.time_s),
        "settled_s": result.settled_s,
        "duration_s": float(result.time_s[-1]),
        "species": list(result.species),
        "cells": [cell.name for cell in result.chamber.cells],
        "sensors": [sensor.name for sensor in result.chamber.sensors],
        "direct_solves": result.direct_solves,
        "closure": {
            "ms_residual": float(result.closure["ms_residual"].max()),
            "mass_error": float(result.closure["mass_error"].max()),
            "carrier_error": float(result.closure["carrier_error"].max()),
            "ledger_error": float(result.ledger.max()),
            "net_flux": _net_flux(result),
            "simplex_error": float(result.closure["simplex_error"].max()),
            "least_entropy_production": float(result.closure["entropy_production"].min()),
            "least_moles": float(result.moles.min()),
        },
    }


def _net_flux(result: Simulated) -> float:
    """Largest |Σ J| / Σ |J| of an edge and step."""
    total = np.abs(result.flux_mol_m2_s).sum(axis=2)
    net = np.abs(result.flux_mol_m2_s.sum(axis=2))
    return float(np.max(net / np.where(total > 0, total, 1), initial=0))


def closure_rows(result: Simulated) -> list[list[str]]:
    """Rows of the closure table for people: law, worst value, what it should be, what it means."""
    worst = summary(result)["closure"]
    return [
        ["Maxwell–Stefan relation", f"{worst['ms_residual']:.1e}", "0", "fluxes obey the law of diffusion"],
        ["no net diffusion", f"{worst['net_flux']:.1e}", "0", "what goes one way comes back as air"],
        ["moles per cell", f"{worst['mass_error']:.1e}", "0", "no odorant appears or vanishes in a cell"],
        ["mole ledger", f"{worst['ledger_error']:.1e}", "0", "released = gas + sensors + walls + vent"],
        ["coverage simplex", f"{worst['simplex_error']:.1e}", "0", "every site is empty or taken once"],
        ["least moles", f"{worst['least_moles']:.1e}", "≥ 0", "no negative amounts"],
        ["entropy production", f"{worst['least_entropy_production']:.1e}", "≥ 0", "mixing never runs backwards"],
    ]
