"""Times and sessions come from names, and a random id is no time."""

import random

import pytest

from unmixnet.recordings.audit.file_names import counter_ms, date_ms, id_of, recording_times_h, sessions

DIGITS = "0123456789abcdefghijklmnopqrstuv"


def base32(ms: int) -> str:
    text = ""
    for _ in range(8):
        ms, digit = divmod(ms, 32)
        text = DIGITS[digit] + text
    return text


@pytest.mark.parametrize(
    ("name", "identity"),
    [
        ("x/almond.61vro157.ingestion-864f766795-r7wvh.csv", "61vro157"),
        ("banana80_mango20.banana80_peach20.61nov657.ingestion-8-r7.csv", "61nov657"),
        ("almond80_clove20.60hnsqdh (12).csv", "60hnsqdh"),
        ("allspice.31403b058a64.csv", None),
        ("espresso.csv", None),
    ],
)
def test_the_id_is_found_in_the_name(name, identity):
    assert id_of(name) == identity


def test_a_base_32_counter_counts_milliseconds():
    ms = 209_876_543_210
    assert counter_ms(base32(ms)) == ms
    assert counter_ms(base32(ms + 1)) == ms + 1
    assert counter_ms("wxyz0123") is None


def test_hours_are_relative_and_random_ids_get_none():
    start = 209_876_543_210
    files = [f"a.{base32(start + i * 1_800_000)}.csv" for i in range(10)]
    rng = random.Random(0)
    strange = [f"b.{base32(rng.randrange(32**8))}.csv" for _ in range(5)] + ["b.zzzz1234.csv"]
    times = recording_times_h(files + strange)
    assert [times[file] for file in files] == pytest.approx([i / 2 for i in range(10)])
    assert not set(strange) & set(times)


def test_a_pause_of_more_than_six_hours_starts_a_session():
    hours = {"a": 0.0, "b": 5.9, "c": 11.8, "d": 17.9, "e": 18.0}
    assert sessions(hours) == {"a": 0, "b": 0, "c": 0, "d": 1, "e": 1}


@pytest.mark.parametrize("name", ["air_20240115_103000.csv", "air-2024-01-15T10-30.csv", "2024-01-15 10:30:00.csv"])
def test_a_date_in_the_name_is_a_time_too(name):
    assert date_ms(name) == 1_705_314_600_000
    assert date_ms("air_20241315_103000.csv") is None
