"""Gathering the recordings of a folder, with the split that each path names."""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath

import numpy as np

from unmixnet.errors import UnmixError
from unmixnet.recordings.audit.report import Refusal
from unmixnet.recordings.datasets import Dataset, Entry, load_dataset
from unmixnet.recordings.formats.text import open_recording
from unmixnet.recordings.manifest import MANIFEST
from unmixnet.recordings.reader import RECORDING_SUFFIXES, read_recording, recording_files
from unmixnet.recordings.recording import Mixture, Recording

__all__ = [
    "AuditedFile",
    "audited_entry",
    "audited_files",
    "gather",
    "is_test",
    "is_training",
    "recipe_name",
    "split_of",
]


@dataclass(frozen=True, eq=False)
class AuditedFile:
    """A recording at its place, with the SHA-256 of its bytes and the session that a manifest names."""

    file: str
    split: str
    digest: str
    recording: Recording
    session: str | None = None

    @cached_property
    def level(self) -> np.ndarray:
        """Mean of each channel, shape (M,); 0 where a channel has no reading."""
        readings = self.recording.readings
        count = np.sum(np.isfinite(readings), axis=0)
        return np.nansum(readings, axis=0) / np.maximum(count, 1)


def audited_files(folder: Path) -> list[Path]:
    """Every file that may be a recording, in order of path; an error if there is none."""
    if not folder.is_dir():
        raise UnmixError(
            f"{'a file' if folder.exists() else 'nothing'} is there, a folder of recordings was expected",
            where=str(folder),
            remedy="Give the folder; to look at one file, use `unmixnet check FILE`",
        )
    files = recording_files(folder)
    if not files:
        raise UnmixError(
            f"no {', '.join(RECORDING_SUFFIXES)} file in this folder or below it",
            where=str(folder),
            remedy="Check the path, or fetch a data set with `unmixnet data fetch`",
        )
    return files


def gather(
    folder: Path, *, tick: Callable[[], None] = lambda: None
) -> tuple[tuple[AuditedFile, ...], tuple[Refusal, ...]]:
    """Read every recording below a folder; what the reader refuses is returned with the reason."""
    recordings: list[AuditedFile] = []
    refusals: list[Refusal] = []
    files = audited_files(folder)
    data = _listed(folder) if (folder / MANIFEST).is_file() else _unlisted(folder, files)
    for entry in data.entries:
        try:
            recordings.append(audited_entry(data, entry))
        except UnmixError as error:
            refusals.append(Refusal(entry.path, str(error)))
        tick()
    return tuple(recordings), tuple(refusals)


def _listed(folder: Path) -> Dataset:
    """The recordings that a manifest lists; where it names no split, the path does."""
    data = load_dataset("folder", folder)
    entries = (replace(entry, split=split_of(entry.path)) if entry.split == "all" else entry for entry in data.entries)
    return replace(data, entries=tuple(entries))


def _unlisted(folder: Path, files: Sequence[Path]) -> Dataset:
    """Every file that may be a recording."""
    places = [path.relative_to(folder).as_posix() for path in files]
    entries = tuple(Entry(place, split_of(place)) for place in places)
    return Dataset("folder", folder, entries, (), lambda data, entry: _read(data.root, entry))


def _read(root: Path, entry: Entry) -> Recording:
    return read_recording(root / entry.path, place=entry.path)


def audited_entry(data: Dataset, entry: Entry) -> AuditedFile:
    """An entry of a data set, read, with the digest of its bytes."""
    recording = data.read(entry)
    with open_recording(data.root / entry.path) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return AuditedFile(entry.path, entry.split, digest, recording, entry.session)


def split_of(file: str) -> str:
    """The first folder of the path whose name contains training, test or validation; else "all"."""
    for part in PurePosixPath(file).parts[:-1]:
        if re.search(r"train|test|valid|(^|_)val($|_)", part.lower()):
            return part
    return "all"


def is_training(split: str) -> bool:
    """Whether a split is for training."""
    return "train" in split.lower()


def is_test(split: str) -> bool:
    """Whether a split is for testing or validation."""
    return split != "all" and not is_training(split)


def recipe_name(label: Mixture | None) -> str | None:
    """The recipe with its components in alphabetical order, in per cent as written: `almond20+clove80`."""
    if label is None:
        return None
    total = label.raw_sum if label.raw_sum > 1.5 else 100.0
    parts = sorted(zip(label.names, label.ratios, strict=True))
    return "+".join(f"{name}{ratio * total:.4g}" for name, ratio in parts)
