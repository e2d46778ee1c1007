"""A small calibration with the truth known, and a data set of such recordings; programs are compiled in a hurry."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import equinox as eqx
import numpy as np
import pytest

from studies.simulator.calibrate import KnownProcess, known_process
from tests.model.tiny import QUICK
from unmixnet.model.predict import single_precision
from unmixnet.recordings.datasets import Dataset, Entry
from unmixnet.recordings.pieces import Piece, Recall
from unmixnet.recordings.recording import ChannelHealth, Mixture, Recording
from unmixnet.training.calibration import forward as blocks
from unmixnet.training.calibration.setup import ProtocolFold

FOODS, SENSORS = ("mango", "pear", "clove"), ("left", "right")
SECONDS, STEP_S, RATE_HZ = 40.0, 2.0, 10.0


def hurried(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Compile without optimisation, which does not pay for few recordings, and work in small batches."""
    monkeypatch.setattr(blocks, "_BATCH", 8)
    for name in names or ("_traces", "_slopes"):
        quick = eqx.filter_jit(getattr(blocks, name).__wrapped__, compiler_options=QUICK)
        monkeypatch.setattr(blocks, name, quick)


@cache
def truth(seed: int = 0) -> KnownProcess:
    """Three substances, two sensors, two sessions, from clean air."""
    with single_precision():
        return known_process(
            FOODS, SENSORS, sessions=2, seconds=SECONDS, step_s=STEP_S, noise=3e-4, spread=0.3, seed=seed
        )


def dataset(made: KnownProcess) -> Dataset:
    """The recordings as files of a data set named as one that has a recipe; the signal is a log-conductance."""
    told = made.setup.train
    entries = tuple(
        Entry(f"{i}.csv", "training", _label(ratios), told.sessions[session])
        for i, (ratios, session) in enumerate(zip(told.ratios, told.session, strict=True))
    )

    def read(data: Dataset, entry: Entry) -> Recording:
        Y = told.Y[int(Path(entry.path).stem)]
        y, ends = np.concatenate([Y[:1], Y]), STEP_S * np.arange(len(Y) + 1)
        time_s = np.arange(int(SECONDS * RATE_HZ) + 1) / RATE_HZ
        level = np.stack([np.interp(time_s, ends, column) for column in y.T], axis=1)
        return Recording(
            time_s=time_s,
            readings=1023 / (1 + np.exp(-level)),
            channels=SENSORS,
            units=("counts",) * len(SENSORS),
            sample_rate_Hz=RATE_HZ,
            device="made up",
            path=entry.path,
            label=entry.label,
            health=(ChannelHealth.OK,) * len(SENSORS),
        )

    return Dataset("small", Path("small"), entries, FOODS, read)


def turn(made: KnownProcess, *, permuted: bool = False) -> ProtocolFold:
    """Every third recording is tested; on request with the labels of the others."""
    data = dataset(made)
    pieces = [Piece(entry.path, entry.label, entry.session) for entry in data.entries]
    test = pieces[::3]
    if permuted:
        labels = [piece.label for piece in test]
        test = [replace(piece, label=label) for piece, label in zip(test, labels[1:] + labels[:1], strict=True)]
    kept = tuple(piece for i, piece in enumerate(pieces) if i % 3)
    return ProtocolFold("small", data, kept, tuple(test), Recall(None))


def _label(ratios: np.ndarray) -> Mixture:
    there = np.flatnonzero(ratios)
    return Mixture.from_parts([FOODS[i] for i in there], [100 * ratios[i] / ratios.sum() for i in there])
