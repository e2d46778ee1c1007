"""Made-up recordings of two substances and their mixture on two channels."""

import numpy as np

from unmixnet.recordings.codes import ChannelHealth
from unmixnet.recordings.recording import Mixture, Recording

COMPONENTS = ("a", "b", "c")
CHANNELS = ("s1", "s2")


def recording(
    rows: int = 40, *, seed: int = 0, rate_Hz: float = 4.0, parts=(1.0, 0.0, 0.0), channels=CHANNELS, label=True
) -> Recording:
    """A noisy plateau whose height tells the parts."""
    rng = np.random.default_rng(seed)
    gains = np.array([[2.0, 0.5], [0.5, 2.0], [1.0, 1.0]])
    height = np.asarray(parts) / np.sum(parts) @ gains
    rise = 1 - np.exp(-np.arange(rows) / rate_Hz / 2)
    readings = 5 + rise[:, None] * height + 0.05 * rng.normal(size=(rows, 2))
    return Recording(
        time_s=np.arange(rows) / rate_Hz,
        readings=readings[:, : len(channels)],
        channels=tuple(channels),
        units=("counts",) * len(channels),
        sample_rate_Hz=rate_Hz,
        device="nose",
        path=f"made/{seed}.csv",
        label=Mixture.from_parts(COMPONENTS, parts) if label else None,
        health=(ChannelHealth.OK,) * len(channels),
    )


def recordings(n: int = 6, rows: int = 40) -> list[Recording]:
    """Pure and binary recordings in turn."""
    parts = [(1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1), (0, 1, 3)]
    return [recording(rows, seed=i, parts=parts[i % len(parts)]) for i in range(n)]
