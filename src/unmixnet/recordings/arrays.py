"""Recordings of a data set as arrays, the way scikit-learn estimators take them."""

from typing import NamedTuple

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.recordings.datasets import Dataset
from unmixnet.recordings.response import Response, respond
from unmixnet.recordings.temporal import resampled

__all__ = ["Traces", "arrays_of"]


class Traces(NamedTuple):
    """X (recordings, time, sensors), y (recordings, substances), and the session of each recording."""

    X: np.ndarray
    y: np.ndarray
    sessions: np.ndarray


def arrays_of(
    data: Dataset, *splits: str, rate_Hz: float = 1.0, response: str = "log-conductance", rows: int | None = None
) -> Traces:
    """Labelled recordings of the splits, all of one length: the shortest one's, or `rows` at the new rate."""
    series, labels, sessions = [], [], []
    for entry, recording in data.recordings(*splits):
        if entry.label is None:
            continue
        level = respond(recording.readings, None, Response(response))
        series.append(resampled(level, recording.sample_rate_Hz, rate_Hz)[:rows])
        labels.append(entry.label.vector(data.components))
        sessions.append(entry.session or recording.path)
    if not series:
        raise ConfigError(f"{data.name} has no labelled recording in {splits}", remedy=f"Use one of {data.splits}")
    shortest = min(map(len, series))
    return Traces(np.stack([one[:shortest] for one in series]), np.array(labels), np.array(sessions))
