"""Streams for the engine: clean air, the packaged recording, and made-up problem."""

import numpy as np

from unmixnet.examples import example_recording
from unmixnet.inference.bundle import Bundle, load_model
from unmixnet.live.engine import Engine, EngineState
from unmixnet.live.estimate import Estimate
from unmixnet.live.sample import Sample
from unmixnet.recordings.reader import read_recording
from unmixnet.recordings.recording import ChannelHealth, Recording

RATE = 10.0
AIR_S = 15


def shipped() -> Bundle:
    return load_model("simulated")


def odour() -> np.ndarray:
    """The packaged recording: 60 s that start in clean air, (600, 4) counts."""
    return read_recording(example_recording()).readings


def air(seconds: float, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = np.repeat(odour()[:1], round(seconds * RATE), axis=0)
    return np.round(rows + rng.normal(0, 0.4, rows.shape))


def stream() -> np.ndarray:
    """Clean air, the odour, and its end for ten seconds more."""
    return np.concatenate([air(AIR_S), odour(), np.repeat(odour()[-1:], 100, axis=0)])


def samples(rows: np.ndarray, start_s: float = 0.0, rate: float = RATE) -> list[Sample]:
    return [Sample(start_s + i / rate, tuple(row)) for i, row in enumerate(rows.tolist())]


def estimates_of(
    engine: Engine, stream: list[Sample], state: EngineState | None = None
) -> tuple[list[Estimate], EngineState]:
    state = engine.start() if state is None else state
    estimates = []
    for sample in stream:
        estimate, state = engine.step(sample, state)
        if estimate is not None:
            estimates.append(estimate)
    return estimates, state


def recording(bundle: Bundle, rows: np.ndarray, rate: float = RATE, label=None) -> Recording:
    M = rows.shape[1]
    return Recording(
        np.arange(len(rows)) / rate,
        np.array(rows, float),
        bundle.preprocessing.channels,
        ("counts",) * M,
        rate,
        "simulated",
        "made up",
        label,
        (ChannelHealth.OK,) * M,
    )
