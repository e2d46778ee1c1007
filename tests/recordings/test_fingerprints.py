"""Fingerprints are medians of aligned pure recordings."""

import numpy as np
import pytest

from unmixnet.errors import ConfigError
from unmixnet.recordings.audit.computed_files import is_white_noise
from unmixnet.recordings.coherence import coherence
from unmixnet.recordings.datasets import load_dataset
from unmixnet.recordings.fingerprints import fingerprints
from unmixnet.recordings.labels import COMPONENTS, parse_recipe
from unmixnet.recordings.preprocessing import Preprocessing
from unmixnet.recordings.recording import ChannelHealth, Recording

SHAPE = {"almond": np.array([1.0, 0.2]), "clove": np.array([0.3, 1.0])}


def _recording(name: str, start_s: float, seed: int, spike: bool = False) -> Recording:
    rng = np.random.default_rng(seed)
    time_s = np.arange(600) / 10
    rise = 1 - np.exp(-np.maximum(time_s - start_s, 0) / 4)
    readings = rise[:, None] * SHAPE.get(name.split("_")[0], np.ones(2)) + rng.normal(0, 0.003, (600, 2))
    if spike:
        readings[300:420] += 5
    return Recording(
        time_s,
        readings,
        ("a", "b"),
        ("counts",) * 2,
        10.0,
        "nose",
        name,
        parse_recipe(name),
        (ChannelHealth.OK,) * 2,
    )


def _signal(recording: Recording) -> np.ndarray:
    return recording.readings


RECORDINGS = [_recording(name, 10 + 3 * i, i, spike=i == 0) for i in range(5) for name in SHAPE]


def test_alignment_recovers_the_response_whatever_the_start_and_one_bad_recording():
    prints = fingerprints(RECORDINGS, _signal, bins=30)
    for name, H in zip(prints.components, prints.H, strict=True):
        truth = (1 - np.exp(-prints.time_s / 4))[:, None] * SHAPE[name]
        assert np.abs(H - truth).max() < 0.15
    twin = fingerprints(RECORDINGS, _signal, bins=30, align=False)
    truth = (1 - np.exp(-twin.time_s / 4))[:, None] * SHAPE["almond"]
    assert np.abs(twin.H[0] - truth).max() > 0.5


def test_mixtures_are_left_out_and_absent_components_are_an_error():
    mixed = _recording("almond_50_clove_50", 10, 9)
    prints = fingerprints([*RECORDINGS, mixed], _signal)
    assert prints.counts == (5, 5)
    with pytest.raises(ConfigError, match="pear"):
        fingerprints(RECORDINGS, _signal, components=("almond", "pear"))


def test_smellnet_fingerprints_are_nearly_parallel_so_that_theorem_1_promises_no_pair(smellnet):
    data = load_dataset("smellnet-mixture", smellnet.parent)
    pure = [entry for entry in data.of("training_new") if entry.label and len(entry.label.support) == 1]
    recordings = [recording for recording in map(data.read, pure) if not is_white_noise(recording.readings)]
    ready = Preprocessing(recordings[0].channels, standardise=False, first_rows=600)
    prints = fingerprints(recordings, ready.signal, align=False, components=COMPONENTS)
    result = coherence(prints)
    assert result.mu_raw > 0.99
    assert result.mu_whitened > 1 / 3
    assert result.guaranteed <= 1
