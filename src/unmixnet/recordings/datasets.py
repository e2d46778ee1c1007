"""Named data sets: which recordings they hold, in which split, and how each is read."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from unmixnet.recordings.codes import Code
from unmixnet.recordings.dataset import Dataset, Entry, Traces
from unmixnet.recordings.labels import COMPONENTS, SUBSTANCES, label_of_file, sum_findings
from unmixnet.recordings.location import DataError, data_root
from unmixnet.recordings.manifest import MANIFEST, Listed, read_manifest
from unmixnet.recordings.reader import read_recording, recording_files
from unmixnet.recordings.recording import Finding, Recording

__all__ = ["NAMES", "Dataset", "Entry", "Traces", "load_dataset"]

_EXCERPTS = {
    "ethylene_co_s01_100hz.parquet": "excerpt",
    "ethylene_methane_digitised_1_25hz.parquet": "digitised",
}
_ABOUT_LABEL = (Code.NO_LABEL, Code.RATIO_SUM)
"""Findings about the label in a file, which the label in a manifest makes void."""
_UCI_TEXTS = ("ethylene_CO.txt", "ethylene_methane.txt")


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
    """A folder of recordings: those of the manifest, or without one every file that may be a recording."""
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
