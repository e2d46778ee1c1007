"""Malformed input: each family and variant gives its documented code, and says where."""

import time
from pathlib import Path

import pytest

from unmixnet.recordings.codes import Code
from unmixnet.recordings.reader import ReadError, read_recording

from .malformed import CASES, FAMILIES, Case
from .valid_text import base, mixture, text


def codes_of(path: Path) -> set[Code]:
    try:
        return {finding.code for finding in read_recording(path).warnings}
    except ReadError as error:
        return {error.code}


def test_there_are_twenty_families_of_five_variants():
    assert len(FAMILIES) == 20
    assert all(len(variants) == 5 for variants in FAMILIES.values())


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.family}: {case.variant}")
def test_each_malformed_file_gives_its_code(case: Case, tmp_path: Path):
    path = tmp_path / case.name
    path.write_bytes(case.raw)
    assert case.code in codes_of(path)


@pytest.mark.parametrize("lines", [mixture(), base()], ids=["mixture", "base"])
def test_the_sound_twin_of_the_malformed_files_gives_no_code(lines: list[str], tmp_path: Path):
    path = tmp_path / "almond.61aaaaaa.csv"
    path.write_bytes(text(lines))
    assert codes_of(path) == set()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.family}: {case.variant}")
def test_a_refusal_says_where_what_was_seen_what_was_expected_and_what_to_try(case: Case, tmp_path: Path):
    path = tmp_path / case.name
    path.write_bytes(case.raw)
    start = time.perf_counter()
    try:
        recording = read_recording(path)
    except ReadError as error:
        assert error.file == str(path)
        assert error.seen and error.expected and error.remedy
        assert error.code.severity == "refusal"
        assert "\n" not in str(error) and str(error).isprintable()
        whole_file = {Code.EMPTY}
        assert error.line is not None or error.code in whole_file
    else:
        assert all(finding.code.severity != "refusal" for finding in recording.warnings)
        assert all(finding.message for finding in recording.warnings)
    assert time.perf_counter() - start < 0.5


@pytest.mark.parametrize(("at", "column", "value", "line"), [(12, 3, "4x", 13), (1, 0, "zero", 2), (40, 4, "--", 41)])
def test_a_bad_number_is_named_by_line_and_column(at, column, value, line, tmp_path: Path):
    lines = mixture()
    fields = lines[at].split(",")
    fields[column] = value
    lines[at] = ",".join(fields)
    path = tmp_path / "almond.csv"
    path.write_bytes(text(lines))
    with pytest.raises(ReadError) as caught:
        read_recording(path)
    assert (caught.value.line, caught.value.column) == (line, column + 1)
    assert value in caught.value.seen
