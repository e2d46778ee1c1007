"""The clock on the wall may jump by years while a board prints: no row is lost, none comes twice, times go on."""

import asyncio
import time
from types import SimpleNamespace

import numpy as np
import pytest

from tests.live.boards import Board, lines
from tests.live.streams import until
from unmixnet.live.recorder import Recorder
from unmixnet.live.sample import Sample
from unmixnet.live.sources import serial_port
from unmixnet.live.sources.serial_port import SerialSource
from unmixnet.live.store import Store

EACH = 20
JUMPS = (4e9, 0.0, 1e9)
"""Dates [s since 1970] to which the clock is set before each third of the rows."""


@pytest.fixture
def board(tmp_path):
    with Board(tmp_path) as plugged:
        yield plugged


def plain(first: int, last: int) -> bytes:
    """Lines without the board's count: they are timed by their arrival."""
    return b"".join(b"MOX1:%d,MOX2:7\n" % number for number in range(first, last))


def stored_rows(board: Board, store: Store, monkeypatch, say) -> list[Sample]:
    """What the store has of a board that talks while somebody sets the clock."""

    async def listen() -> int:
        source = SerialSource(str(board.port))
        stream, recorder = source.stream(), Recorder(store, "board", "counts")
        await until(stream, "connected")
        board.print(b"MOX1:9,MOX2:7\n")  # channels are believed when two lines name the same
        for turn, moment in enumerate(JUMPS):
            monkeypatch.setattr(time, "time", lambda moment=moment: moment)
            board.print(say(turn * EACH, (turn + 1) * EACH))
            recorder.receive([await until(stream, Sample) for _ in range(EACH)], source.channels)
        await stream.aclose()
        assert recorder.session is not None
        return recorder.session

    return list(store.samples(asyncio.run(listen())))


@pytest.mark.parametrize("say", [lines, plain], ids=["with a count", "without"])
def test_a_jump_of_the_wall_clock_loses_no_row_and_repeats_none(board, tmp_path, monkeypatch, say):
    with Store.open(tmp_path / "store.db") as store:
        rows = stored_rows(board, store, monkeypatch, say)
        number = store.add_recording(store.sessions()[-1].id, rows[0].time_s, rows[-1].time_s + 1, "across")
        assert len(store.recording(number)) == len(rows), "a recording across the jumps has them all"
    assert [int(row.values[0]) for row in rows] == list(range(EACH * len(JUMPS)))
    steps = np.diff([row.time_s for row in rows])
    assert steps.min() >= 0 and steps.max() < 600, "time goes on by what passed, whatever the date"


def test_twin_rows_timed_by_the_wall_clock_would_jump_with_it(board, tmp_path, monkeypatch):
    monkeypatch.setattr(serial_port, "time", SimpleNamespace(monotonic=lambda: time.time()))
    with Store.open(tmp_path / "store.db") as store:
        rows = stored_rows(board, store, monkeypatch, plain)
    assert np.diff([row.time_s for row in rows]).max() > 1e8
