"""The store keeps all of a batch or none of it, gives back what it was given, and never touches other files."""

import math
import sqlite3
import threading

import numpy as np
import pytest

from unmixnet.live.sample import Rejected, Sample
from unmixnet.live.store import Store, StoreError
from unmixnet.recordings.recording import ChannelHealth, Mixture

LABEL = Mixture.from_parts(["mango", "strawberry"], [20, 80])


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store.db") as opened:
        yield opened


def ramp(rows: int, start_s: float = 0.0) -> list[Sample]:
    return [Sample(start_s + row / 10, (float(row), 0.1 * row)) for row in range(rows)]


@pytest.fixture
def session(store):
    return store.start_session("board", ("MOX1", "MOX2"), "counts")


def test_samples_come_back_exactly_and_in_their_order(store, session):
    samples = [*ramp(9000), Sample(899.9, (math.pi, -0.0)), Sample(899.9, (5e-324, 1e300))]
    assert store.append(session, samples) == len(samples) == store.count(session)
    assert list(store.samples(session)) == samples
    assert list(store.samples(session, 1.0, 1.25)) == samples[10:13]
    assert max(sample.time_s for sample in store.samples(session)) == 899.9


def test_a_missing_reading_stays_missing(store, session):
    store.append(session, [Sample(0.0, (math.nan, 1.0))])
    (sample,) = store.samples(session)
    assert math.isnan(sample.values[0]) and sample.values[1] == 1.0


def test_a_store_is_the_same_after_it_was_closed(tmp_path):
    with Store.open(tmp_path / "s.db") as store:
        session = store.start_session("board", ("A", "B"), "counts")
        store.append(session, ramp(5), [Rejected("cut", "x"), Rejected("cut", "y"), Rejected("long", "z")])
    with Store.open(tmp_path / "s.db") as store:
        store.append(session, ramp(5, start_s=10.0))
        assert store.count(session) == len(list(store.samples(session))) == 10
        assert store.rejected(session) == {"cut": 2, "long": 1}
        assert store.sessions() == [store.session(session)] and store.check() == "ok"


@pytest.mark.parametrize(
    "bad",
    [Sample(5.0, (1.0,)), Sample(5.0, (1.0, 2.0, 3.0)), Sample(math.nan, (1.0, 2.0)), Sample(0.05, (1.0, 2.0))],
    ids=["few", "many", "no-time", "back"],
)
def test_a_batch_with_one_impossible_sample_is_refused_whole(store, session, bad):
    store.append(session, ramp(3))
    with pytest.raises(StoreError):
        store.append(session, [Sample(4.0, (1.0, 2.0)), bad], [Rejected("x", "y")])
    assert store.count(session) == 3 and store.rejected(session) == {}


def test_a_batch_that_fails_half_way_leaves_nothing(store, session, monkeypatch):
    monkeypatch.setattr("unmixnet.live.store._REJECT", "INSERT INTO nowhere VALUES (?, ?, ?)")
    with pytest.raises(StoreError, match="nowhere"):
        store.append(session, ramp(3), [Rejected("x", "y")])
    assert store.count(session) == 0
    assert list(store.samples(session)) == []


@pytest.mark.parametrize("ask", ["count", "session", "samples", "span", "recording"])
def test_what_is_not_there_is_said_so(store, ask):
    with pytest.raises(StoreError, match=r"no (session|recording) 7"):
        answer = getattr(store, ask)(7)
        list(answer)


@pytest.mark.parametrize("channels", [(), ("A", "A")])
def test_a_session_needs_channels_of_different_names(store, channels):
    with pytest.raises(StoreError):
        store.start_session("board", channels, "counts")


def test_threads_wait_for_each_other(store):
    sessions = [store.start_session("board", ("A", "B"), "counts") for _ in range(4)]

    def fill(session: int) -> None:
        for batch in range(10):
            store.append(session, ramp(20, start_s=10.0 * batch))

    threads = [threading.Thread(target=fill, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [store.count(session) for session in sessions] == [200] * 4


def test_another_reader_sees_what_was_acknowledged_while_the_recorder_writes(store, session):
    store.append(session, ramp(7))
    with Store.open(store.path) as other:
        assert other.count(session) == 7
        store.append(session, ramp(7, start_s=5.0))
        assert other.count(session) == 14


# ---------------------------------------------------------------- other files


def test_a_database_of_another_program_is_not_touched(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE precious(x)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        Store.open(path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("my notes, " * 200)
    with pytest.raises(StoreError, match=r"notes\.txt"):
        Store.open(tmp_path / "notes.txt")


def test_a_store_of_a_later_version_is_refused(tmp_path):
    Store.open(tmp_path / "s.db").close()
    with sqlite3.connect(tmp_path / "s.db") as later:
        later.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="version 99"):
        Store.open(tmp_path / "s.db")


def test_commits_are_synced_to_the_disk(store):
    assert store._read("PRAGMA journal_mode") == [("wal",)]
    assert store._read("PRAGMA synchronous") == [(2,)]


# ---------------------------------------------------------------- events, recordings, calibrations


def test_events_come_back_by_time(store, session):
    store.add_event(session, 5.0, "mark", "later")
    store.add_event(session, 1.0, "mark", "<b>earlier</b>")
    assert [event.text for event in store.events(session)] == ["<b>earlier</b>", "later"]
    assert [event.text for event in store.events(session, 4.0, 6.0)] == ["later"]


def test_a_recording_is_what_a_file_would_be(store, session):
    store.append(session, ramp(100))
    number = store.add_recording(session, 2.0, 4.0, "first try", LABEL)
    recording = store.recording(number)
    np.testing.assert_allclose(recording.time_s, np.arange(21) / 10, atol=1e-12)
    np.testing.assert_array_equal(recording.readings[:, 0], np.arange(20, 41))
    assert recording.label == LABEL and recording.channels == ("MOX1", "MOX2")
    assert recording.units == ("counts", "counts") and recording.sample_rate_Hz == pytest.approx(10)
    assert recording.device == "board" and recording.path == "first try"
    assert recording.health == (ChannelHealth.OK, ChannelHealth.OK)


def test_a_dead_channel_of_a_recording_is_found(store, session):
    store.append(session, [Sample(row / 10, (float(row), 0.0)) for row in range(100)])
    recording = store.recording(store.add_recording(session, 0.0, 10.0, "dead"))
    assert recording.health == (ChannelHealth.OK, ChannelHealth.DEAD)


def test_the_airs_temperature_is_not_in_counts(store):
    session = store.start_session("board", ("NO2", "Temperature"), "counts")
    store.append(session, ramp(30))
    assert store.recording(store.add_recording(session, 0.0, 9.0, "x")).units == ("counts", "degC")


def test_a_removed_recording_leaves_its_samples(store, session):
    store.append(session, ramp(10))
    number = store.add_recording(session, 0.0, 1.0, "unknown")
    assert [(span.id, span.label) for span in store.recordings()] == [(number, None)]
    store.remove_recording(number)
    assert store.recordings() == [] and store.count(session) == 10


@pytest.mark.parametrize("span", [(3.0, 2.0), (math.nan, 1.0), (0.0, math.inf)])
def test_a_recording_ends_after_its_start(store, session, span):
    with pytest.raises(StoreError):
        store.add_recording(session, *span, "x")


def test_a_recording_without_samples_says_so(store, session):
    number = store.add_recording(session, 0.0, 1.0, "empty")
    with pytest.raises(StoreError, match="no samples"):
        store.recording(number)


def test_the_newest_calibration_that_was_not_undone_is_active(store):
    assert store.calibration("board") is None and store.undo_calibration("board") is None
    store.add_calibration("board", '{"n": 1}')
    store.add_calibration("other", '{"n": 2}')
    store.add_calibration("board", '{"n": 3}')
    texts = [store.calibration("board"), store.undo_calibration("board"), store.undo_calibration("board")]
    assert [stored and stored.text for stored in texts] == ['{"n": 3}', '{"n": 1}', None]
    assert [stored.undone for stored in store.calibrations()] == [True, False, True]
