"""Named data sets: which recordings they hold, in which split, and how each is read."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.recordings.codes import Code
from unmixnet.recordings.labels import COMPONENTS, SUBSTANCES, label_of_file, sum_findings
from unmixnet.recordings.location import DataError, data_root
from unmixnet.recordings.manifest import MANIFEST, Listed, read_manifest
from unmixnet.recordings.preprocessing import Response, respond
from unmixnet.recordings.reader import read_recording, recording_files
from unmixnet.recordings.recording import Finding, Mixture, Recording
from unmixnet.recordings.temporal import resampled

__all__ = ["NAMES", "Dataset", "Entry", "Traces", "load_dataset"]

_EXCERPTS = {
    "ethylene_co_s01_100hz.parquet": "excerpt",
    "ethylene_methane_digitised_1_25hz.parquet": "digitised",
}
_ABOUT_LABEL = (Code.NO_LABEL, Code.RATIO_SUM)
"""Findings about the label in a file, which the label in a manifest makes void."""
_UCI_TEXTS = ("ethylene_CO.txt", "ethylene_methane.txt")


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


def load_dataset(name: str, root: str | Path | None = None) -> Dataset:
    """A named data set.

    Arguments:
        name: one of `NAMES`.
        root: the data folder, or for "folder" the folder itself; None takes UNMIXNET_DATA.

    >>> import unmixnet as um
    >>> data = um.load_dataset("simulated")
    >>> data.splits, len(data.entries)
    (('training', 'test_seen', 'test_unseen'), 240)
    """
    make = NAMES.get(name) if isinstance(name, str) else None
    if make is None:
        raise DataError(f"no data set {name!r}", remedy=f"Choose one of {', '.join(NAMES)}")
    return make(root)


def _smellnet_base(root: str | Path | None) -> Dataset:
    home = _home(root, "smellnet", "base_data", "smellnet-base")
    entries = _csv_entries(home, ("base_data/training", "base_data/testing"), SUBSTANCES)
    return Dataset("smellnet-base", home, entries, SUBSTANCES, _read_file)


def _smellnet_mixture(root: str | Path | None) -> Dataset:
    home = _home(root, "smellnet", "mixture_data", "smellnet-mixture")
    folders = ("training_new", "training_seen", "test_seen", "test_unseen")
    entries = _csv_entries(home, tuple(f"mixture_data/{folder}" for folder in folders), COMPONENTS)
    return Dataset("smellnet-mixture", home, entries, COMPONENTS, _read_file)


def _uci_dynamic(root: str | Path | None) -> Dataset:
    home = _home(root, "uci322", "", "uci-dynamic")
    texts = [Entry(name, "full") for name in _UCI_TEXTS if (home / name).is_file()]
    pieces = [Entry(name, split) for name, split in _EXCERPTS.items() if (home / name).is_file()]
    if not texts and not pieces:
        raise _absent("uci-dynamic", home)
    return Dataset("uci-dynamic", home, (*texts, *pieces), ("CO", "methane", "ethylene"), _read_uci)


def _uci_plateaus(root: str | Path | None) -> Dataset:
    home = _home(root, "uci322", "", "uci-dynamic")
    tables = tuple(Entry(path.name, "plateaus") for path in sorted(home.glob("*_plateaus.csv")))
    if not tables:
        raise _absent("uci-plateaus", home)
    return Dataset("uci-plateaus", home, tables, ("methane", "ethylene"), _read_file)


def _folder(root: str | Path | None) -> Dataset:
    """Anybody's recordings: those of the manifest, or without one every file that may be a recording."""
    home = data_root(root)
    findings: tuple[Finding, ...] = ()
    if os.path.lexists(home / MANIFEST):
        rows = read_manifest(home / MANIFEST)
        entries = tuple(_listed(row) for row in rows)
        findings = tuple(f for row in rows for f in sum_findings(row.label, f"{row.file} in {MANIFEST}", row.line))
    else:
        entries = tuple(Entry(path.relative_to(home).as_posix(), "all") for path in recording_files(home))
    if not entries:
        raise DataError("no recording in this folder", where=str(home), remedy=f"Write a {MANIFEST}")
    names = dict.fromkeys(name for entry in entries if entry.label for name in entry.label.names)
    return Dataset("folder", home, entries, tuple(sorted(names)), _read_file, findings)


def _simulated(root: str | Path | None, sensors: int = 4) -> Dataset:
    """Recordings made by the solver; needs no files."""
    from unmixnet.recordings.simulated import simulated_dataset

    return simulated_dataset(sensors=sensors)


def _high_coupling(root: str | Path | None) -> Dataset:
    """Gases at a tenth to a half of the air, made by the solver; needs no files."""
    from unmixnet.recordings.simulated import high_coupling_dataset

    return high_coupling_dataset()


NAMES: dict[str, Callable[[str | Path | None], Dataset]] = {
    "smellnet-base": _smellnet_base,
    "smellnet-mixture": _smellnet_mixture,
    "uci-dynamic": _uci_dynamic,
    "uci-plateaus": _uci_plateaus,
    "simulated": _simulated,
    "simulated-8": lambda root: _simulated(root, sensors=8),
    "high-coupling": _high_coupling,
    "folder": _folder,
}
"""Data sets by name, each with the function that finds it under a data folder."""


def _home(root: str | Path | None, folder: str, inside: str, name: str) -> Path:
    """The folder of a data set: under the data folder, or the data folder itself."""
    top = data_root(root)
    for home in (top / folder, top):
        if home.is_dir() and (home / inside).is_dir() and (inside or home.name == folder):
            return home
    raise _absent(name, top / folder / inside)


def _absent(name: str, where: Path) -> DataError:
    remedy = f"Run `unmixnet data fetch {name}`, or point UNMIXNET_DATA or --data at a folder that has it"
    return DataError(f"the data set {name} is not here", where=str(where), remedy=remedy)


def _csv_entries(home: Path, folders: tuple[str, ...], known: tuple[str, ...]) -> tuple[Entry, ...]:
    """All CSV files under some folders; the split is the name of the folder, the label that of the file."""
    entries = []
    for folder in folders:
        split = folder.rpartition("/")[2]
        for path in sorted((home / folder).rglob("*.csv")):
            place = path.relative_to(home).as_posix()
            entries.append(Entry(place, split, label_of_file(place, known)[0]))
    return tuple(entries)


def _listed(row: Listed) -> Entry:
    return Entry(row.file, row.split or "all", row.label, row.session)


def _read_file(dataset: Dataset, entry: Entry) -> Recording:
    recording = read_recording(dataset.root / entry.path, place=entry.path)
    if entry.label is None or entry.label == recording.label:
        return recording
    kept = tuple(finding for finding in recording.warnings if finding.code not in _ABOUT_LABEL)
    return replace(recording, label=entry.label, warnings=kept + sum_findings(entry.label, "the label in the manifest"))


def _read_uci(dataset: Dataset, entry: Entry) -> Recording:
    """Text through its cached 10 Hz view, tables as they are."""
    from unmixnet.recordings.formats.uci_cache import open_view

    path = dataset.root / entry.path
    return open_view(path, 10, place=entry.path) if path.suffix == ".txt" else _read_file(dataset, entry)


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
