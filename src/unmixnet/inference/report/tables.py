"""Traces and states as CSV, one row per time, one column per quantity, for whoever wants to compute with them."""

import csv
import io

import numpy as np

from unmixnet.inference.answer import Answer
from unmixnet.inference.report.safe import encodable

__all__ = ["states_csv", "traces_csv"]


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
