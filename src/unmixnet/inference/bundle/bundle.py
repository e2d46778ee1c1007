"""A trained model with its preprocessing and calibration, where to find it, and the recordings used in training."""

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import PyTree

from unmixnet.errors import ConfigError
from unmixnet.files.artefact_format import MANIFEST
from unmixnet.inference.bundle.calibration import Calibration
from unmixnet.model.spec import ModelSpec
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.recordings.preprocessing import Preprocessing
from unmixnet.recordings.recording import Recording
from unmixnet.recordings.trace import Trace, trace_of

__all__ = ["Bundle", "SeenRecording", "find_bundle", "overlap", "packaged", "seen_recording"]


@dataclass(frozen=True)
class SeenRecording:
    """A recording used in training, by path and by hash of its readings; a renamed copy has the same hash."""

    path: str
    sha256: str


def seen_recording(recording: Recording) -> SeenRecording:
    """Path and hash of a recording; independent of the order of its channels."""
    digest = hashlib.sha256()
    for name in sorted(recording.channels):
        digest.update(name.encode("utf-8") + b"\0")
        digest.update(np.ascontiguousarray(recording.column(name), dtype="<f8").tobytes())
    return SeenRecording(recording.path, digest.hexdigest())


def overlap(recordings: Iterable[Recording], known: Iterable[SeenRecording]) -> list[str]:
    """Paths of the recordings whose hash is among the known ones."""
    digests = {recording.sha256 for recording in known}
    return [recording.path for recording in recordings if seen_recording(recording).sha256 in digests]


@dataclass(frozen=True, eq=False)
class Bundle:
    """A trained model, ready for recordings.

    Arguments:
        name: short, e.g. "smellnet-mixture".
        spec: structure of the model and the windows that it takes.
        preprocessing: fitted on its training recordings.
        model: UnMixNet or a baseline, in single precision.
        calibration: chosen on validation recordings.
        card: what it is for, what it was trained on, its scores and limits; Markdown.
        recordings: used for training or for validation.
        training: the training file as plain values, for the record; inference does not read it.
        digest: SHA-256 of the stored bundle; "" before it is stored.
    """

    name: str
    spec: ModelSpec
    preprocessing: Preprocessing
    model: PyTree = field(repr=False)
    calibration: Calibration = field(repr=False)
    card: str = field(repr=False)
    recordings: tuple[SeenRecording, ...] = field(default=(), repr=False)
    training: Mapping[str, Any] = field(default_factory=dict, repr=False)
    digest: str = ""

    def __post_init__(self) -> None:
        K, M, prior = len(self.components), len(self.spec.channels), len(self.calibration.prior)
        levels = {len(self.preprocessing.channels), len(self.preprocessing.mean), len(self.preprocessing.sd)}
        if prior != K or levels != {M}:
            raise ConfigError(
                f"{K} components with {prior} shares, {M} channels with {sorted(levels)} levels",
                where=f"bundle {self.name}",
                remedy="A bundle needs a share for every component and a level for every channel; train anew",
            )

    @property
    def components(self) -> tuple[str, ...]:
        """Substances, in the order of the shares."""
        return self.spec.components

    @property
    def channels(self) -> tuple[str, ...]:
        """Sensors that it needs."""
        return self.spec.channels

    def trace(self, recording: Recording) -> Trace:
        """A recording as the model sees it."""
        return trace_of(recording, self.preprocessing, rate_Hz=self.spec.rate_Hz, window=self.spec.window)

    @property
    def has_solver(self) -> bool:
        """Whether the model has a solver to reconstruct traces with."""
        return isinstance(self.model, UnMixNet) and self.model.settings.closure


def packaged() -> dict[str, Path]:
    """Bundles that ship with the package, by name."""
    home = Path(str(files("unmixnet") / "bundles"))
    folders = sorted(path for path in home.iterdir() if (path / MANIFEST).is_file()) if home.is_dir() else []
    return {path.name: path for path in folders}


def find_bundle(name_or_path: str | Path) -> Path:
    """The folder of a bundle: a packaged name, the folder itself, or the folder of the training that made it."""
    known = packaged()
    if not isinstance(name_or_path, str | os.PathLike):
        raise ConfigError(
            f"a bundle is named by a {type(name_or_path).__name__}, expected a name or a path",
            remedy=f"Name one of {', '.join(known)}, or the folder that `unmixnet train` wrote",
        )
    text = os.fsdecode(name_or_path)
    if text in known:  # first, so that a folder of the same name does not shadow it unnoticed
        return known[text]
    for folder in (Path(text), Path(text) / "bundle"):
        with suppress(OSError):  # a name that no disk can hold, a folder that may not be entered
            if (folder / MANIFEST).is_file():
                return folder
    shipped = f"packaged are {', '.join(known)}" if known else "none are packaged"
    raise ConfigError(
        f"there is no bundle {text[:200]!r}: {shipped}, and there is no such folder with a {MANIFEST}",
        remedy="Name a packaged bundle, or the folder that `unmixnet train` wrote",
    )
