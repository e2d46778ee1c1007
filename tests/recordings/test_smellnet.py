"""All SmellNet recordings at hand are read, and their known defects are found."""

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from unmixnet.recordings.codes import ChannelHealth, Code
from unmixnet.recordings.datasets import load_dataset
from unmixnet.recordings.recording import Recording


@pytest.fixture(scope="module")
def base(data_folder: Path) -> dict[str, Recording]:
    dataset = load_dataset("smellnet-base", data_folder)
    return {Path(entry.path).stem: recording for entry, recording in dataset.recordings()}


@pytest.fixture(scope="module")
def audited(smellnet: Path) -> dict[str, dict[str, str]]:
    with (smellnet / "base_audit.csv").open() as table:
        return {row["recording_id"]: row for row in csv.DictReader(table)}


def test_the_dead_bme680_are_those_of_the_published_audit(base, audited):
    dead = {name for name, r in base.items() if r.health[r.channels.index("Pressure")] is ChannelHealth.DEAD}
    assert dead == {name for name, row in audited.items() if row["bme680_dead"] == "True"}
    assert len(dead) == 59


def test_the_share_of_sentinels_is_that_of_the_published_audit(base, audited):
    for name, recording in base.items():
        found = [f.count for f in recording.found(Code.SENTINEL) if f.channel == "Benzene"]
        share = (found[0] if found else 0) / len(recording)
        assert share == pytest.approx(float(audited[name]["benzene_overflow_frac"]), abs=1e-3)
        assert len(recording) == int(audited[name]["rows"])


def test_no_sentinel_survives_in_the_readings(base):
    assert all(not np.any(recording.readings == 4294967295) for recording in base.values())


def test_every_mixture_recording_is_read_at_ten_hertz_with_four_channels(data_folder: Path):
    codes: Counter = Counter()
    for entry, recording in load_dataset("smellnet-mixture", data_folder).recordings("test_seen", "test_unseen"):
        assert recording.channels == ("NO2", "C2H5OH", "VOC", "CO")
        assert recording.sample_rate_Hz == pytest.approx(10.0)
        assert len(recording) in (600, 900) and recording.label == entry.label
        codes.update({finding.code for finding in recording.warnings})
    assert codes[Code.LABEL_CONFLICT] == 1
    assert codes[Code.RATIO_SUM] > 0
