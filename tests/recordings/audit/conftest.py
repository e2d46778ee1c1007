"""Takes made up for a law, and the shared SmellNet recordings where they are at hand."""

import os
from pathlib import Path

import numpy as np
import pytest

from unmixnet.recordings.audit import AuditedFile, AuditReport, audit_folder
from unmixnet.recordings.audit.files import split_of
from unmixnet.recordings.labels import parse_recipe
from unmixnet.recordings.recording import ChannelHealth, Recording


def sensor_like(rng: np.random.Generator, rows: int = 600, channels: int = 4) -> np.ndarray:
    """Integer counts of a slow sensor with a little noise, as a 10-bit converter would write them."""
    slow = np.cumsum(rng.normal(size=(rows, channels)), axis=0)
    fast = rng.normal(size=(rows, channels))
    return np.round(500 + 3 * slow + fast)


def make_audited(file: str, readings: np.ndarray, *, rate_Hz: float = 10.0) -> AuditedFile:
    """A item as if `file` had been read."""
    M = readings.shape[1]
    recording = Recording(
        time_s=np.arange(len(readings)) / rate_Hz,
        readings=readings.astype(float),
        channels=tuple(f"S{m}" for m in range(M)),
        units=("counts",) * M,
        sample_rate_Hz=rate_Hz,
        device="made up",
        path=file,
        label=parse_recipe(file.rsplit("/", 1)[-1].split(".")[0]),
        health=(ChannelHealth.OK,) * M,
    )
    return AuditedFile(file, split_of(file), str(hash(readings.tobytes())), recording)


@pytest.fixture(scope="session")
def smellnet() -> Path:
    """The folder of SmellNet."""
    root = os.environ.get("UNMIXNET_DATA", "")
    folder = Path(root) / "smellnet"
    if not root or not folder.is_dir():
        pytest.skip("needs SmellNet: set UNMIXNET_DATA to a folder that holds smellnet/")
    return folder


@pytest.fixture(scope="session")
def mixture_report(smellnet: Path) -> AuditReport:
    """The audit of every mixture recording (about 15 s)."""
    return audit_folder(smellnet / "mixture_data")


@pytest.fixture(scope="session")
def base_report(smellnet: Path) -> AuditReport:
    """The audit of every base recording."""
    return audit_folder(smellnet / "base_data")
