"""The audit of SmellNet from its recordings alone agrees with an independent audit of every file."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from unmixnet.recordings.audit import Kind

COMPUTED = {Kind.WHITE_NOISE, Kind.ALTERED_COPY, Kind.SUSPECT}


@pytest.fixture(scope="module")
def expected(smellnet) -> dict[str, dict[str, str]]:
    with open(smellnet / "mixture_audit.csv", newline="") as file:
        return {row["file"].removeprefix("mixture_data/"): row for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def verdicts(mixture_report) -> dict:
    return {verdict.file: verdict for verdict in mixture_report.verdicts}


def test_all_59_byte_copies_in_training_new_are_found(mixture_report):
    split = {summary.name: summary for summary in mixture_report.splits}
    assert split["training_new"].copies_within == 59
    assert split["training_new"].copies_of_other_splits == split["training_seen"].files == 731
    assert split["test_unseen"].copies_within == 6


def test_every_computed_file_is_found_and_no_real_file_is_called_computed(expected, verdicts):
    seen = Counter((row["kind"] == "real", verdicts[file].kind in COMPUTED) for file, row in expected.items())
    assert seen == {(True, False): 570, (False, True): 536 + 2 + 181}


def test_every_white_noise_training_file_is_called_white_noise(expected, verdicts):
    noise = [verdicts[file] for file, row in expected.items() if row["kind"] == "synthetic_iid_noise"]
    assert len(noise) == 536
    assert all(verdict.kind is Kind.WHITE_NOISE for verdict in noise)


def test_white_noise_is_tied_to_its_parent_wherever_the_parent_was_released(expected, verdicts):
    for file, row in expected.items():
        if row["kind"] == "synthetic_iid_noise":
            source, parent = Path(row["aug_source"]).name, verdicts[file].parent
            assert parent is None if "not released" in source else Path(parent or "").name == source


def test_at_least_160_of_181_altered_test_files_are_tied_and_none_to_a_wrong_parent(expected, verdicts):
    altered = [
        (verdicts[file], row)
        for file, row in expected.items()
        if row["split"] == "test_seen" and row["kind"] == "synthetic_balanced"
    ]
    assert len(altered) == 181
    assert sum(verdict.parent is not None for verdict, _ in altered) >= 160
    for verdict, row in altered:
        if verdict.parent is not None and row["aug_source"]:
            assert Path(verdict.parent).name == Path(row["aug_source"]).name
        if verdict.parent is not None:
            assert verdicts[verdict.parent].label == verdict.label


def test_sessions_and_hours_agree_for_every_file(expected, verdicts, mixture_report):
    for file, row in expected.items():
        verdict = verdicts[file]
        assert (-1 if verdict.session is None else verdict.session) == int(row["session"])
        if row["rel_hours"]:
            assert verdict.time_h == pytest.approx(float(row["rel_hours"]), abs=1e-3)
    assert [session.number for session in mixture_report.sessions] == list(range(13))


def test_every_label_conflict_is_found_and_six_more_that_only_the_folder_betrays(expected, verdicts):
    reference = {file for file, row in expected.items() if row["label_conflict"] == "True"}
    ours = {file for file in expected if verdicts[file].conflicts}
    assert reference <= ours
    # cumin80_peach20/ holds copies of banana80_peach20: the independent audit lists the originals only.
    assert all("cumin80_peach20" in file for file in ours - reference)
    assert len(ours - reference) in (0, 6)


def test_ratios_of_33_are_reported_as_99(verdicts):
    thirds = {file for file in verdicts if Path(file).name.count("33") == 3}
    assert thirds <= {file for file, verdict in verdicts.items() if verdict.ratio_sum == 99}


def test_seen_test_recordings_lie_two_minutes_from_training_and_time_alone_gives_the_label(mixture_report):
    near = {item.split: item for item in mixture_report.proximity}["test_seen"]
    assert near.median_minutes == pytest.approx(1.8, abs=0.05)
    leak = next(x for x in mixture_report.leaks if "nearest in time" in x.source and x.test == "test_seen")
    assert leak.score == pytest.approx(0.006, abs=0.0005)


def test_all_59_dead_bme680_are_found_and_nothing_else_is_called_dead(base_report, smellnet):
    with open(smellnet / "base_audit.csv", newline="") as file:
        rows = {row["recording_id"]: row for row in csv.DictReader(file)}
    dead = {Path(v.file).stem for v in base_report.verdicts if any("dead" in what for what in v.unhealthy)}
    assert dead == {name for name, row in rows.items() if row["bme680_dead"] == "True"}
    assert len(dead) == 59
    assert {Path(v.file).stem: v.rows for v in base_report.verdicts} == {n: int(r["rows"]) for n, r in rows.items()}
    sentinel = {Path(v.file).stem for v in base_report.verdicts if "Benzene: sentinel" in v.unhealthy}
    assert sentinel == {name for name, row in rows.items() if float(row["benzene_overflow_frac"]) > 0}


def test_surroundings_alone_identify_the_substance_of_base_recordings(base_report):
    by_source = {leak.source: leak for leak in base_report.leaks}
    assert by_source["temperature, pressure and humidity alone"].score > 0.5
    assert by_source["the first sample of the gas channels alone"].score > 0.6
    assert all(verdict.kind is Kind.REAL for verdict in base_report.verdicts)
