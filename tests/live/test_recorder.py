"""The recorder accounts for everything that came: received = stored + rejected + waiting, whatever the disk does."""

import logging
import math

import pytest

from tests.live.full_disk import full_disk
from unmixnet.live import recorder as module
from unmixnet.live.recorder import OVERFLOW, Backlog, Recorder
from unmixnet.live.sample import Rejected, Sample, SourceEvent
from unmixnet.live.store import Store

CHANNELS = ("A", "B")
BAD = Rejected("it is not understood", "rubbish")


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def recorder(store, monkeypatch) -> Recorder:
    monkeypatch.setattr(module, "RETRY_S", 0.0)
    return Recorder(store, "board", "counts")


def rows(first: int, last: int) -> list[Sample]:
    return [Sample(number / 10, (float(number), 7.0)) for number in range(first, last)]


def heard_in_batches(recorder: Recorder, first: int, last: int, batch: int = 50) -> None:
    """Rows with a bad line after each batch."""
    for start in range(first, last, batch):
        recorder.receive([*rows(start, min(start + batch, last)), BAD], CHANNELS)


def kept(recorder: Recorder) -> tuple[list[int], int]:
    """Numbers of the rows and the count of rejected lines, as the disk has them."""
    assert recorder.session is not None
    numbers = [int(sample.values[0]) for sample in recorder.store.samples(recorder.session)]
    return numbers, sum(recorder.store.rejected(recorder.session).values())


def accounted(recorder: Recorder, sent: int) -> bool:
    """Whether the counts add up to what was sent, and the disk has what they say."""
    now, (numbers, rejected) = recorder.counts, kept(recorder)
    adds_up = now.received == sent == now.stored + now.rejected + now.waiting
    return adds_up and len(numbers) == now.stored and (rejected == now.rejected or bool(recorder.problem))


def test_rows_wait_while_the_disk_is_full_and_are_stored_once_it_is_not(recorder, store, caplog):
    heard_in_batches(recorder, 0, 1000)
    assert accounted(recorder, 1020) and recorder.counts.waiting == 0
    with full_disk(store), caplog.at_level(logging.WARNING, "unmixnet.live"):
        heard_in_batches(recorder, 1000, 3000)
        assert recorder.counts.waiting >= 1900 and accounted(recorder, 1020 + 2040)
        assert "disk is full" in recorder.problem and "Check the space" in recorder.problem
    recorder.receive([], CHANNELS)
    assert recorder.problem == "" and kept(recorder) == (list(range(3000)), 60)
    assert accounted(recorder, 3060) and recorder.counts.waiting == 0
    first, last = [record.getMessage() for record in caplog.records]  # one note for forty failures
    assert "not being stored" in first and "disk is full" in first and "can be written again" in last


class Forgetful(Backlog):
    """A defect: what the store refuses is gone."""

    def write(self, session: int) -> None:
        try:
            super().write(session)
        except Exception:
            self._rows.clear()
            raise


def test_twin_a_backlog_that_forgets_is_noticed(recorder, store):
    recorder.backlog = Forgetful(store)
    heard_in_batches(recorder, 0, 1000)
    with full_disk(store):
        heard_in_batches(recorder, 1000, 3000)
    recorder.receive([], CHANNELS)
    assert not accounted(recorder, 3060) and len(kept(recorder)[0]) < 3000


def test_rows_that_find_no_room_to_wait_are_rejected_and_counted(recorder, store, caplog):
    recorder.backlog = Backlog(store, most=200)
    heard_in_batches(recorder, 0, 100)
    with full_disk(store):
        heard_in_batches(recorder, 100, 2000)
        assert recorder.counts.waiting == 200 and accounted(recorder, 2040)
        assert caplog.text.count("readings are lost from now on") == 1
    recorder.receive(rows(2000, 2010), CHANNELS)
    numbers, _ = kept(recorder)
    gap = numbers.index(2000)
    assert numbers[:gap] == list(range(gap)) and numbers[gap:] == list(range(2000, 2010))
    assert store.rejected(recorder.session)[OVERFLOW] == 2000 - gap and accounted(recorder, 2050)


def test_a_session_that_cannot_begin_begins_when_the_disk_has_room(recorder, store, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(store, "start_session", _raising(OSError("no space left")))
        heard_in_batches(recorder, 0, 100)
        assert recorder.session is None and recorder.counts.waiting == 100 and "terminal" in recorder.problem
    heard_in_batches(recorder, 100, 200)
    assert kept(recorder) == (list(range(200)), 4) and accounted(recorder, 204)


def test_lines_that_were_rejected_before_the_session_are_in_its_totals(recorder, store):
    recorder.receive([BAD, BAD, Rejected("it is too long", "7777")], None)
    assert recorder.session is None and recorder.counts.rejected == 3  # the page says so at once
    heard_in_batches(recorder, 0, 10)
    assert store.rejected(recorder.session) == {BAD.reason: 3, "it is too long": 1} and accounted(recorder, 14)
    path, session = store.path, recorder.session
    store.close()
    with Store.open(path) as again:
        assert again.count(session) + sum(again.rejected(session).values()) == 14


def test_a_row_that_is_none_of_the_session_holds_up_no_other(recorder):
    sound = rows(0, 5)
    stray = [Sample(0.1, (1.0, 2.0)), Sample(9.0, (1.0,)), Sample(math.nan, (1.0, 2.0)), Sample(math.inf, (1.0, 2.0))]
    recorder.receive([*sound, *stray, *rows(5, 10)], CHANNELS)
    assert kept(recorder) == (list(range(10)), 4) and accounted(recorder, 14) and not recorder.problem


def test_an_event_on_a_full_disk_is_shown_at_once_and_stored_later(recorder, store, monkeypatch):
    recorder.receive(rows(0, 10), CHANNELS)
    with monkeypatch.context() as broken:
        broken.setattr(store, "add_event", _raising(OSError("no space left")))
        recorder.mark("mark", "lid opened")
        recorder.receive([SourceEvent("lost", "The board is gone.")], CHANNELS)
        assert recorder.marks[-2]["text"] == "lid opened" and store.events(recorder.session) == []
    recorder.receive([], CHANNELS)
    assert [event.text for event in store.events(recorder.session)] == ["lid opened", "The board is gone."]


def test_the_store_is_left_alone_for_a_while_after_it_failed(recorder, store, monkeypatch):
    monkeypatch.setattr(module, "RETRY_S", 3600.0)
    recorder.receive(rows(0, 10), CHANNELS)
    with monkeypatch.context() as broken:
        broken.setattr(store, "append", _raising(OSError("no space left")))
        recorder.receive(rows(10, 20), CHANNELS)
    recorder.receive(rows(20, 30), CHANNELS)
    assert recorder.counts.waiting == 20
    recorder.flush(at_once=True)
    assert recorder.counts.waiting == 0 and kept(recorder)[0] == list(range(30))


def _raising(error: Exception):
    def raising(*_: object):
        raise error

    return raising
