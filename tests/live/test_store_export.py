"""Exports say what the store says, appear complete or not at all, and need little memory."""

import math
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unmixnet.errors import UnmixError
from unmixnet.live.sample import Sample
from unmixnet.live.store import Store
from unmixnet.live.store_export import csv_chunks, export_parquet, recording_osmell
from unmixnet.recordings.formats.osmell import read_osmell
from unmixnet.recordings.reader import read_recording
from unmixnet.recordings.recording import Mixture

CHANNELS = ("MOX1", "MOX2")


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store.db") as opened:
        yield opened


def filled(store: Store, rows: int) -> int:
    session = store.start_session("board", CHANNELS, "counts")
    rng = np.random.default_rng(0)
    readings = np.round(300 + 10 * rng.normal(size=(rows, 2)), 2)
    readings[3, 1] = math.nan
    store.append(session, [Sample(row / 10, tuple(values)) for row, values in enumerate(readings.tolist())])
    return session


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def count_csv(store: Store, _: Path, session: int) -> int:
    """Bytes of the CSV, as the server sends it: piece by piece."""
    return sum(map(len, csv_chunks(store, session)))


def test_the_csv_is_read_as_the_recording_it_was(store, tmp_path):
    session = filled(store, 500)
    again = read_recording(written(tmp_path / "out.csv", b"".join(csv_chunks(store, session))))
    known = store.recording(store.add_recording(session, 0.0, 50.0, "x"))
    np.testing.assert_array_equal(again.readings, known.readings)
    np.testing.assert_array_equal(again.time_s, known.time_s)
    assert again.channels == CHANNELS and again.units == ("counts", "counts")


def test_the_parquet_holds_the_same_numbers(store, tmp_path):
    session = filled(store, 500)
    table = pd.read_parquet(export_parquet(store, tmp_path / "out.parquet", session, 1.0, 2.0))
    samples = list(store.samples(session, 1.0, 2.0))
    assert list(table.columns) == ["time_s", *CHANNELS] and len(table) == 11
    np.testing.assert_array_equal(table.to_numpy(), [[s.time_s, *s.values] for s in samples])


def test_an_empty_span_is_an_empty_table(store, tmp_path):
    session = filled(store, 10)
    assert b"".join(csv_chunks(store, session, 5.0, 6.0)) == b"time_s,MOX1 [counts],MOX2 [counts]\n"
    assert len(pd.read_parquet(export_parquet(store, tmp_path / "out.parquet", session, 5.0, 6.0))) == 0


def test_the_osmell_holds_recording_label_and_events(store, tmp_path):
    session = filled(store, 500)
    store.add_event(session, 12.0, "mark", "jar opened")
    store.add_event(session, 45.0, "mark", "too late")
    label = Mixture.from_parts(["mango", "strawberry"], [20, 80])
    number = store.add_recording(session, 10.0, 40.0, "first try", label)
    read = read_osmell(written(tmp_path / "out.osmell", recording_osmell(store, number)))
    np.testing.assert_array_equal(read.recording.readings, store.recording(number).readings)
    assert read.recording.label == label
    assert [(event.label, event.start_s, event.note) for event in read.events] == [("mark", 2.0, "jar opened")]


def test_names_with_commas_cannot_break_the_table(store):
    session = store.start_session("board", ("a,b", 'say "no"'), "counts")
    store.append(session, [Sample(0.0, (1.0, 2.0))])
    head, row, _ = b"".join(csv_chunks(store, session)).split(b"\n")
    assert head == b'time_s,"a,b [counts]","say ""no"" [counts]"' and row == b"0,1,2"


def test_an_export_that_fails_leaves_the_old_file_and_no_other(store, tmp_path, monkeypatch):
    session, target = filled(store, 9000), tmp_path / "out" / "table"
    target.parent.mkdir()
    target.write_text("old")
    samples = store.samples

    def breaks(*given):
        for i, sample in enumerate(samples(*given)):
            if i == 6000:
                raise UnmixError("the disk is gone")
            yield sample

    monkeypatch.setattr(store, "samples", breaks)
    with pytest.raises(UnmixError, match="disk is gone"):
        export_parquet(store, target, session)
    assert [path.name for path in target.parent.iterdir()] == ["table"] and target.read_text() == "old"


def test_a_place_that_cannot_be_written_is_an_error_with_its_name(store, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UnmixError, match=r"out\.parquet"):
        export_parquet(store, tmp_path / "file" / "out.parquet", filled(store, 10))


def peaks(store: Store, monkeypatch, read) -> list[int]:
    """Most memory that reading a short and a long session needs, in pages of a few rows."""
    monkeypatch.setattr("unmixnet.live.store._ROWS_AT_ONCE", 128)
    monkeypatch.setattr("unmixnet.live.store_export._ROWS_AT_ONCE", 128)
    sessions, most = [filled(store, rows) for rows in (1000, 5000)], []
    for session in [sessions[0], *sessions]:  # the first time imports what is needed
        tracemalloc.start()
        read(session)
        most.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return most[1:]


@pytest.mark.parametrize("export", [count_csv, export_parquet])
def test_a_longer_session_needs_no_more_memory(store, tmp_path, monkeypatch, export):
    short, long = peaks(store, monkeypatch, lambda session: export(store, tmp_path / "out", session))
    assert long < 1.2 * short


def test_twin_a_list_of_all_samples_needs_more(store, monkeypatch):
    short, long = peaks(store, monkeypatch, lambda session: list(store.samples(session)))
    assert long > 2 * short
