"""The Parquet cache: causal means, whatever the blocks; made once, remade when the text changes."""

import os
from pathlib import Path

import numpy as np
import pytest

from unmixnet.recordings.codes import Code
from unmixnet.recordings.formats import uci_cache
from unmixnet.recordings.formats.uci_cache import Downsampler, open_view
from unmixnet.recordings.formats.uci_text import UciBlock
from unmixnet.recordings.reader import ReadError, read_recording

from .valid_text import uci


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "ethylene_CO.txt"
    path.write_text(uci(4321))
    return path


@pytest.mark.parametrize("rate_Hz", [10, 1])
def test_a_row_of_a_view_is_the_mean_of_its_interval_and_never_looks_ahead(text: Path, tmp_path: Path, rate_Hz: int):
    full = read_recording(text)
    view = open_view(text, rate_Hz, folder=tmp_path / "cache")
    per = 100 // rate_Hz
    for k in (0, 1, 7, len(view) - 1):
        rows = slice(k * per, (k + 1) * per)
        np.testing.assert_allclose(view.readings[k], full.readings[rows].mean(axis=0), rtol=1e-12)
        assert view.time_s[k] == pytest.approx((k + 1) / rate_Hz)
        assert full.time_s[rows].max() < view.time_s[k] + 1e-9
        np.testing.assert_array_equal(view.exposure_ppm[k], full.exposure_ppm[rows][-1])
    assert len(view) == -(-4321 // per)
    assert view.sample_rate_Hz == rate_Hz and view.gases == full.gases


@pytest.mark.parametrize("size", [1, 3, 10, 11, 99, 500])
def test_the_size_of_blocks_does_not_change_the_means(size: int):
    rng = np.random.default_rng(0)
    time_s = np.cumsum(rng.choice([0.01, 0.02, 0.3], 500, p=[0.8, 0.15, 0.05]))
    whole = UciBlock(time_s, rng.normal(size=(500, 2)), rng.normal(size=(500, 16)))

    def sampled(step: int) -> np.ndarray:
        sampler, parts = Downsampler(10.0), []
        for at in range(0, 500, step):
            span = slice(at, at + step)
            parts.append(sampler.push(UciBlock(time_s[span], whole.exposure_ppm[span], whole.readings[span])))
        parts.append(sampler.flush())
        return np.concatenate([np.column_stack([p.time_s, p.exposure_ppm, p.readings]) for p in parts])

    np.testing.assert_allclose(sampled(size), sampled(500), rtol=1e-12)


def test_an_absent_reading_does_not_spoil_the_mean_of_its_interval():
    readings = np.ones((20, 16))
    readings[3, 0] = np.nan
    readings[10:, 1] = np.nan
    sampler = Downsampler(10.0)
    sampler.push(UciBlock(np.arange(20) / 100, np.zeros((20, 2)), readings))
    mean = sampler.flush()
    assert mean is not None
    assert np.isnan(mean.readings[-1, 1]) and mean.readings[-1, 0] == 1.0


def test_the_text_is_parsed_once_and_again_only_when_it_changed(text: Path, tmp_path: Path, monkeypatch):
    made = []
    true_make = uci_cache._make_views
    monkeypatch.setattr(uci_cache, "_make_views", lambda *a: (made.append(1), true_make(*a)))
    for rate_Hz in (10, 1, 10):
        open_view(text, rate_Hz, folder=tmp_path / "cache")
    assert len(made) == 1
    text.write_text(uci(500, seed=9))
    os.utime(text, ns=(1, 1))
    assert len(open_view(text, 10, folder=tmp_path / "cache")) == 50
    assert len(made) == 2


def test_findings_of_the_text_survive_in_the_cache(text: Path, tmp_path: Path):
    text.write_bytes(text.read_bytes()[:-10])
    for _ in range(2):
        assert open_view(text, 1, folder=tmp_path / "cache").found(Code.CUT_LINE)


@pytest.mark.parametrize("junk", [b"", b"PAR1", b"not parquet at all"])
def test_a_damaged_cache_is_made_again(text: Path, tmp_path: Path, junk: bytes):
    expected = open_view(text, 10, folder=tmp_path / "cache").readings
    for view in (tmp_path / "cache").rglob("*.parquet"):
        view.write_bytes(junk)
    np.testing.assert_array_equal(open_view(text, 10, folder=tmp_path / "cache").readings, expected)


def test_a_refused_text_leaves_nothing_in_the_cache(text: Path, tmp_path: Path):
    text.write_text(text.read_text() + "1 2 3\n")
    with pytest.raises(ReadError):
        open_view(text, 10, folder=tmp_path / "cache")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
