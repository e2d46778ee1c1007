"""The answer as files: one JSON object, tables of traces and states, and the folder of a report.

JSON holds no NaN, sensible digits, and names as they were given.
"""

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from unmixnet.errors import UnmixError
from unmixnet.files.replacement import write_file
from unmixnet.inference.answer import Answer, AnswerError
from unmixnet.inference.report.formatting import encodable
from unmixnet.inference.report.page import render_page
from unmixnet.inference.report.words import caution, explained, headline

__all__ = ["states_csv", "to_json", "traces_csv", "write_report"]

_DIGITS = 6


def to_json(answer: Answer, *, states: bool = False) -> dict[str, Any]:
    """Everything that is known, JSON-safe: a number that does not exist is null.

    The inferred states are large and only included on request.
    """
    whole = {
        "recording": encodable(answer.recording),
        "model": {"name": encodable(answer.model), "digest": encodable(answer.model_digest)},
        "headline": headline(answer),
        "verdict": str(answer.verdict),
        "trusted": answer.trusted,
        "caution": caution(answer),
        "components": [_component(answer, k) for k in answer.ranking.tolist()],
        "strength": _number(answer.strength),
        "background": _number(answer.background),
        "novelty": _number(answer.novelty),
        "fit": _number(answer.fit),
        "explained": _number(explained(answer)[0]),
        "closure": {name: _number(value) for name, value in vars(answer.closure).items()},
        "findings": [encodable(finding) for finding in answer.findings],
        "confidence_note": encodable(answer.confidence_note),
        "windows": _windows(answer),
        "traces": _traces(answer),
    }
    return whole | {"states": _states(answer)} if states else whole


def _component(answer: Answer, k: int) -> dict[str, Any]:
    shares = {"share": answer.ratios, "low": answer.low, "high": answer.high, "presence": answer.presence}
    return {"name": encodable(answer.components[k]), **{name: _share(values[k]) for name, values in shares.items()}}


def _windows(answer: Answer) -> dict[str, Any]:
    names = [encodable(name) for name in answer.components]
    return {
        "time_s": _numbers(answer.window_time_s),
        "components": names,
        "ratios": [[_share(value) for value in row] for row in answer.window_ratios],
    }


def _traces(answer: Answer) -> dict[str, Any]:
    return {
        "unit": encodable(answer.unit),
        "channels": [encodable(name) for name in answer.channels],
        "time_s": [_time(value) for value in answer.time_s],
        "measured": _numbers(answer.measured),
        "reconstructed": _numbers(answer.reconstructed),
    }


def _states(answer: Answer) -> dict[str, Any]:
    states = answer.states
    return {
        "note": "implied by the model, not measured",
        "cells": [encodable(name) for name in states.cells],
        "edges": [encodable(name) for name in states.edges],
        "sensors": [encodable(name) for name in answer.channels],
        "components": [encodable(name) for name in answer.components],
        "time_s": [_time(value) for value in states.time_s],
        "concentration_ppm": _numbers(states.concentration_ppm),
        "flux_mol_m2_s": _numbers(states.flux_mol_m2_s),
        "coverage": _numbers(states.coverage),
    }


def _share(value: float) -> float | None:
    return round(float(value), 4) if math.isfinite(value) else None


def _time(value: float) -> float | None:
    """To the microsecond, however long the recording."""
    return round(float(value), 6) if math.isfinite(value) else None


def _number(value: float) -> float | None:
    return float(f"{float(value):.{_DIGITS}g}") if math.isfinite(value) else None


def _numbers(values: np.ndarray) -> list[Any]:
    """Nested lists with six significant digits."""
    return [_number(value) if np.ndim(value) == 0 else _numbers(value) for value in values]


# ---------------------------------------------------------------- the folder of a report


def write_report(answer: Answer, folder: str | Path) -> Path:
    """Write `answer.json`, `traces.csv`, `states.csv`, then `index.html`; returns the page.

    Each file appears whole or not at all, and the page last: where it is, the numbers are.
    """
    folder = Path(folder)
    files = {
        "answer.json": json.dumps(to_json(answer), indent=1, allow_nan=False) + "\n",
        "traces.csv": traces_csv(answer),
        "states.csv": states_csv(answer),
        "index.html": render_page(answer),
    }
    try:
        for name, text in files.items():
            write_file(folder / name, text)
    except UnmixError as error:
        raise AnswerError(
            f"the report cannot be written: {error.problem}",
            where=str(folder),
            remedy="Give --report a folder that you may write to",
        ) from None
    return folder / "index.html"


def traces_csv(answer: Answer) -> str:
    """Columns `time_s`, `measured/CHANNEL`, `reconstructed/CHANNEL`."""
    names: list[str] = ["time_s"]
    blocks: list[np.ndarray] = [answer.time_s[:, None]]
    for kind, values in (("measured", answer.measured), ("reconstructed", answer.reconstructed)):
        names += [f"{kind}/{channel}" for channel in answer.channels]
        blocks.append(values)
    return _csv(names, np.hstack(blocks))


def states_csv(answer: Answer) -> str:
    """Columns `time_s`, `concentration_ppm/CELL/COMPONENT`, `flux_mol_m2_s/EDGE/COMPONENT`, `coverage/SENSOR/…`."""
    states = answer.states
    rows = len(states.time_s)
    parts = (
        ("concentration_ppm", states.cells, states.concentration_ppm),
        ("flux_mol_m2_s", states.edges, states.flux_mol_m2_s),
        ("coverage", answer.channels, states.coverage),
    )
    names: list[str] = ["time_s"]
    blocks: list[np.ndarray] = [states.time_s[:, None]]
    for kind, places, values in parts:
        names += [f"{kind}/{place}/{component}" for place in places for component in answer.components]
        blocks.append(values.reshape(rows, len(places) * len(answer.components)))
    return _csv(names, np.hstack(blocks))


def _csv(names: list[str], values: np.ndarray) -> str:
    """A missing number is an empty field; no header begins with a sign that a spreadsheet would compute."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(encodable(name) for name in names)
    for row in values:
        out.write(",".join(f"{value:.7g}" if np.isfinite(value) else "" for value in row))
        out.write("\n")
    return out.getvalue()
