"""The report folder: a page that needs nothing but itself, and the numbers behind it for download."""

import csv
import io
import json
from pathlib import Path

import numpy as np

from unmixnet.errors import UnmixError
from unmixnet.files.replacement import write_file
from unmixnet.inference.answer import Answer, AnswerError
from unmixnet.inference.report.formatting import encodable
from unmixnet.inference.report.json import to_json
from unmixnet.inference.report.page import render_page

__all__ = ["states_csv", "traces_csv", "write_report"]


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
