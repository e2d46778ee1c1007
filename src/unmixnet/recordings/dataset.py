"""A data set: the recordings that it holds, the split of each, and how they are read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.recordings.location import DataError
from unmixnet.recordings.preprocessing import Response, respond
from unmixnet.recordings.recording import Finding, Mixture, Recording
from unmixnet.recordings.temporal import resampled

__all__ = ["Dataset", "Entry", "Traces"]


@dataclass(frozen=True)
class Entry:
    """A recording of a data set: its place, its split, and what is known of it without reading it."""

    path: str
    split: str
    label: Mixture | None = None
    session: str | None = None


@dataclass(frozen=True)
class Dataset:
    """A named collection of recordings.

    Arguments:
        name: e.g. "smellnet-mixture".
        root: folder that the places of the entries are relative to.
        entries: the recordings, sorted by split and place.
        components: substances that labels are made of, in their fixed order.
        reader: turns an entry into a recording.
        findings: what was noticed about the data set without reading its recordings.
    """

    name: str
    root: Path
    entries: tuple[Entry, ...]
    components: tuple[str, ...]
    reader: Callable[["Dataset", Entry], Recording]
    findings: tuple[Finding, ...] = ()

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits, in order of appearance."""
        return tuple(dict.fromkeys(entry.split for entry in self.entries))

    def of(self, *splits: str) -> tuple[Entry, ...]:
        """Entries of some splits; an unknown split is an error."""
        for split in splits:
            if split not in self.splits:
                raise DataError(f"{self.name} has no split {split!r}", remedy=f"Choose among {', '.join(self.splits)}")
        return tuple(entry for entry in self.entries if entry.split in splits)

    def read(self, entry: Entry) -> Recording:
        """Read one recording; its path is its place in the data set."""
        return self.reader(self, entry)

    def recordings(self, *splits: str) -> Iterator[tuple[Entry, Recording]]:
        """Read the recordings of some splits (of all, if none is named), one after the other."""
        for entry in self.of(*splits) if splits else self.entries:
            yield entry, self.read(entry)

    def arrays(
        self, *splits: str, rate_Hz: float = 1.0, response: str = "log-conductance", rows: int | None = None
    ) -> "Traces":
        """Labelled recordings of some splits as arrays, all of one length.

        Arguments:
            rate_Hz: sample rate of the arrays.
            response: what is computed from the readings; see `Response`.
            rows: length in samples; None takes that of the shortest recording.
        """
        series, labels, sessions = [], [], []
        for entry, recording in self.recordings(*splits):
            if entry.label is None:
                continue
            _check_rate(recording, rate_Hz)
            level = respond(recording.readings, None, Response(response))
            series.append(resampled(level, recording.sample_rate_Hz, rate_Hz)[:rows])
            labels.append(entry.label.vector(self.components))
            sessions.append(entry.session or recording.path)
        if not series:
            raise ConfigError(f"{self.name} has no labelled recording in {splits}", remedy=f"Use one of {self.splits}")
        shortest = min(map(len, series))
        return Traces(np.stack([trace[:shortest] for trace in series]), np.array(labels), np.array(sessions))


def _check_rate(recording: Recording, rate_Hz: float) -> None:
    """Refuse a recording that has fewer rows per second than are wanted: they cannot be made up."""
    if not 0 < rate_Hz <= 1.05 * recording.sample_rate_Hz:
        raise ConfigError(
            f"the recording has {recording.sample_rate_Hz:g} rows per second, arrays of {rate_Hz:g} were wanted",
            where=recording.path,
            remedy=f"Use a rate_Hz of at most {recording.sample_rate_Hz:g}",
        )


class Traces(NamedTuple):
    """X (recordings, time, sensors), y (recordings, substances), and the session of each recording."""

    X: np.ndarray
    y: np.ndarray
    sessions: np.ndarray
