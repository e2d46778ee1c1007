"""Columns get one spelling, and nothing that only looks like a sensor or a unit is taken for it."""

import pytest

from unmixnet.recordings.channels import canonical_name, name_columns, unit_spelling
from unmixnet.recordings.codes import Code


def names(*written: str) -> list[str]:
    columns, _ = name_columns(written, file="run.csv", line=1)
    return [column.name for column in columns]


@pytest.mark.parametrize(
    ("written", "name"), [("C2H50H", "C2H5OH"), ("c2h5ch", "C2H5OH"), ("N02", "NO2"), ("co", "CO")]
)
def test_misspelt_sensors_are_known(written, name):
    columns, findings = name_columns((written,), file="run.csv", line=1)
    assert columns[0].name == name and findings[0].code is Code.HEADER_SPELLING


@pytest.mark.parametrize("written", ["c0", "C0", "c1", "C02", "CO2", "VOC0"])
def test_a_number_is_no_letter(written):
    assert canonical_name(written) == written


def test_numbered_columns_are_no_gases():
    assert names("c0", "c1", "CO") == ["c0", "c1", "CO"]
    assert names("n01", "n02", "n03") == ["n01", "n02", "n03"]


@pytest.mark.parametrize(
    ("unit", "name", "spelled"),
    [
        ("kΩ", "R", "kOhm"),
        ("MOhm", "R", "MOhm"),
        ("MΩ", "R", "MOhm"),
        ("mΩ", "R", "mOhm"),
        ("mOhm", "R", "mOhm"),
        ("%", "Humidity", "%RH"),
        ("%", "RH", "%RH"),
        ("%", "battery", "%"),
        ("°C", "T", "degC"),
    ],
)
def test_units_have_one_spelling_and_keep_their_size(unit, name, spelled):
    assert unit_spelling(unit, name) == spelled
