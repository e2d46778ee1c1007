"""The page needs nothing but itself, and says what the report says."""

import re

import numpy as np
import pytest

from unmixnet.recordings.audit import Kind, audit_recordings
from unmixnet.recordings.audit.page import render_page
from unmixnet.recordings.audit.statements import headline, statements

from .conftest import make_audited, sensor_like

DIGITS = "0123456789abcdefghijklmnopqrstuv"


def _name(split: str, label: str, i: int) -> str:
    return f"{split}/{label}.61qk{DIGITS[i // 32 % 32]}{DIGITS[i % 32]}00.csv"


@pytest.fixture(scope="module")
def recordings():
    """A hundred real recordings, a white-noise file, an altered copy, an exact copy, a label conflict."""
    rng = np.random.default_rng(0)
    labels = ("almond", "clove20_almond80")
    real = [
        make_audited(_name("test" if i % 4 == 0 else "train", labels[i % 2], i), sensor_like(rng)) for i in range(100)
    ]
    parent = real[2].recording.readings
    noise = make_audited("train/almond.zzzz0000.csv", parent.mean(0) + rng.normal(0, 4, parent.shape))
    altered = make_audited("test/almond.zzzz0001.csv", 0.9 * parent + rng.normal(0, 0.5, parent.shape))
    copy = make_audited("train/clove20_almond80.61qkz000 (1).csv", real[5].recording.readings)
    wrong = make_audited("train/clove/almond.61qk0v01.csv", sensor_like(rng))
    return [*real, noise, altered, copy, wrong]


@pytest.fixture(scope="module")
def report(recordings):
    return audit_recordings(recordings, folder="/somewhere/nose & co")


def test_each_planted_defect_is_found_and_nothing_else(report):
    odd = {v.file: v.kind for v in report.verdicts if not v.clean}
    assert odd == {
        "train/almond.zzzz0000.csv": Kind.WHITE_NOISE,
        "test/almond.zzzz0001.csv": Kind.ALTERED_COPY,
        "train/clove20_almond80.61qkz000 (1).csv": Kind.REAL,
    }
    assert [v.file for v in report.verdicts if v.conflicts] == ["train/clove/almond.61qk0v01.csv"]


def test_the_page_needs_no_network_and_escapes_names(report, recordings):
    by_file = {item.file: item.recording for item in recordings}
    page = render_page(report, by_file.__getitem__)
    assert "nose &amp; co" in page and "nose & co" not in page
    assert not re.search(r"""(src|href)=["']http|@import|url\(http|<script""", page)
    assert page.count("<svg") >= 4
    for item in statements(report):
        assert item.title.split(":")[0] in page
    assert headline(report) in page


def test_a_flawless_folder_is_told_so(recordings):
    fine = audit_recordings(
        [item for item in recordings if "61qk" in item.file and "(" not in item.file and "clove/" not in item.file]
    )
    assert headline(fine) == "All 100 recordings look measured, and none is there twice."
    assert not any("computed, not measured" in item.title for item in statements(fine))
