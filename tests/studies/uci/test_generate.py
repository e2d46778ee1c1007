"""Generated recordings: the format of the real files, the truth of the solver, bounded memory."""

import tracemalloc

import numpy as np
import pytest

from studies.uci.generate import BAD_SHARE, read_truth, write_recording
from studies.uci.generated_rig import DELAY_S, PURGE_PPM_S, Rig, arriving_ppm, random_programme, rig_chamber
from unmixnet.errors import ConfigError
from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.formats.uci_recording import read_uci_text
from unmixnet.recordings.formats.uci_text import UciStream

RIG = Rig(("methane", "ethylene"), 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generated")
    write_recording(folder / "ethylene_methane.txt", RIG, hours=0.25, rate_Hz=20)
    return folder


@pytest.fixture(scope="module")
def recording(folder):
    return read_uci_text(folder / "ethylene_methane.txt", "generated")


def test_the_reader_of_the_real_files_reads_it(recording):
    assert recording.gases == ("methane", "ethylene")
    assert len(recording.channels) == 16
    assert recording.time_s[-1] > 890
    assert np.all(np.diff(recording.time_s) > 0)


def test_set_points_are_the_commanded_ones(folder, recording):
    programme = read_truth(folder / "ethylene_methane.txt").programme
    now = programme.c[np.searchsorted(programme.start_s, recording.time_s + 1e-6, side="right") - 1]
    np.testing.assert_allclose(recording.exposure_ppm, now, atol=0.006)


def test_about_as_many_readings_are_bad_as_in_the_real_files(recording):
    share = np.mean(np.asarray(recording.readings) <= 0)
    assert share == pytest.approx(BAD_SHARE, rel=0.4)


def test_time_stamps_are_uneven(recording):
    steps = np.round(np.diff(recording.time_s), 3)
    assert {0.05, 0.1} <= set(steps.tolist())


def test_the_chamber_follows_its_set_points_late(folder):
    truth = read_truth(folder / "ethylene_methane.txt")
    start, c = truth.programme.start_s[1], truth.programme.c[1, 0]
    late = DELAY_S + PURGE_PPM_S["methane"] / c
    before, after = (np.searchsorted(truth.time_s, start + t) for t in (late - 2, late + 60))
    assert truth.ppm[before, 0] < 0.01 * c
    assert truth.ppm[after, 0] == pytest.approx(c, rel=0.02)


def test_the_chamber_never_holds_more_than_was_commanded(folder):
    truth = read_truth(folder / "ethylene_methane.txt")
    assert np.all(truth.ppm <= 1.001 * truth.programme.c.max(axis=0) + 1e-3)
    assert np.all(truth.theta >= 0)
    assert np.all(truth.theta.sum(axis=2) <= 1 + 1e-5)
    assert truth.theta.max() > 0.1, "something adsorbed"


def test_the_same_seed_writes_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write_recording(tmp_path / f"{name}.txt", RIG, hours=1 / 60, rate_Hz=5)
    write_recording(tmp_path / "c.txt", Rig(RIG.gases, 4), hours=1 / 60, rate_Hz=5)
    a, b, c = ((tmp_path / f"{name}.txt").read_bytes() for name in "abc")
    assert a == b != c


def test_the_truth_is_finer_than_a_model_of_it():
    assert len(rig_chamber().cells) == 4 * len(rig_chamber(fine=False).cells)
    assert rig_chamber().volume_m3.sum() == pytest.approx(60e-6)


def test_a_programme_has_every_support():
    c = random_programme(RIG, 6.0).c
    assert {tuple(row) for row in (c > 0).tolist()} == {(False, False), (True, False), (False, True), (True, True)}


def test_what_arrives_is_what_was_commanded_but_late():
    programme = random_programme(RIG, 1.0)
    time_s = np.arange(0, 3600, 1.0)
    now = programme.c[np.searchsorted(programme.start_s, time_s, side="right") - 1]
    came = arriving_ppm(RIG, programme, time_s)
    assert set(np.unique(np.round(came, 2))) <= set(np.unique(np.round(programme.c, 2)))
    assert np.mean(came == now) < 0.95


def test_memory_does_not_grow_with_the_length(tmp_path):
    peaks = []
    for minutes in (2, 8):
        tracemalloc.start()
        write_recording(tmp_path / f"{minutes}.txt", RIG, hours=minutes / 60, rate_Hz=20)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def test_a_truncated_file_says_where_it_ends(folder, tmp_path):
    whole = (folder / "ethylene_methane.txt").read_bytes()
    cut = tmp_path / "cut.txt"
    cut.write_bytes(whole[: len(whole) // 2 - 7])
    stream = UciStream(cut)
    rows = sum(len(block.time_s) for block in stream)
    (finding,) = [found for found in stream.findings() if found.code is Code.CUT_LINE]
    assert finding.line == rows + 2
    assert "ends inside line" in finding.message


def test_a_broken_line_is_refused_with_file_and_line(folder, tmp_path):
    lines = (folder / "ethylene_methane.txt").read_text().splitlines()
    lines[99] = lines[99][:20]
    broken = tmp_path / "broken.txt"
    broken.write_text("\n".join(lines) + "\n")
    with pytest.raises(ReadError, match=r"broken\.txt.*100") as refused:
        read_uci_text(broken, "broken")
    assert refused.value.line == 100


def test_an_impossible_order_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="1 to 100 Hz"):
        write_recording(tmp_path / "x.txt", RIG, hours=1, rate_Hz=1000)
    with pytest.raises(ConfigError, match="Choose among"):
        Rig(("methane", "argon"))


def test_a_missing_truth_is_said(tmp_path):
    with pytest.raises(ConfigError, match="no truth"):
        read_truth(tmp_path / "nothing.txt")
