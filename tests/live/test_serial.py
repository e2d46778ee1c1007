"""A board may be unplugged at any moment and come back; what it printed before is not lost."""

import asyncio
import errno

import pytest

from tests.live.boards import Board, lines, replugged
from tests.live.streams import until
from unmixnet.live.sample import Rejected, Sample, SourceError
from unmixnet.live.sources.serial_port import SerialSource


@pytest.fixture
def plugged(tmp_path):
    with Board(tmp_path) as board:
        yield board


def test_a_board_that_was_unplugged_is_found_again(plugged):
    first, second, last = asyncio.run(replugged(plugged, 2))
    assert first == list(range(20)) and second == list(range(100, 120)) and last == [9000]


def test_what_came_before_a_disconnect_is_not_lost(plugged):
    async def listen():
        stream = SerialSource(str(plugged.port), retry_s=0.02).stream()
        await until(stream, "connected")
        plugged.print(lines(0, 30))
        await asyncio.sleep(0.2)
        plugged.unplug()
        await asyncio.sleep(0.2)
        items = []
        async for item in stream:
            if not isinstance(item, Sample):
                break
            items.append(item)
        await stream.aclose()
        plugged.plug()
        return items

    assert [int(item.values[0]) for item in asyncio.run(listen())] == list(range(30))


def test_the_first_garbage_is_counted_and_the_rest_is_read(plugged):
    async def listen():
        stream = SerialSource(str(plugged.port)).stream()
        await until(stream, "connected")
        plugged.print(b"\xff\xfe\x00=12,MOX4=3*12\r\n" + lines(5, 7))
        items = [await anext(stream) for _ in range(3)]
        await stream.aclose()
        return items

    garbage, *sound = asyncio.run(listen())
    assert isinstance(garbage, Rejected) and [item.values[0] for item in sound] == [5, 6]


def test_millis_may_wrap_on_the_wire(plugged):
    from tests.live.faults import protocol_line

    async def listen():
        stream = SerialSource(str(plugged.port)).stream()
        await until(stream, "connected")
        for i, millis in enumerate((2**32 - 100, 0, 100)):
            plugged.print(protocol_line(i, millis, {"A": 1.0}).encode() + b"\n")
        items = [await until(stream, Sample) for _ in range(3)]
        await stream.aclose()
        return [item.time_s for item in items]

    assert asyncio.run(listen()) == [0.0, 0.1, 0.2]


def test_a_port_that_is_not_there_is_an_error_at_the_start(tmp_path):
    async def listen():
        await anext(SerialSource(str(tmp_path / "nowhere")).stream())

    with pytest.raises(SourceError, match="unmixnet devices"):
        asyncio.run(listen())


def test_a_port_that_may_not_be_opened_says_what_to_do(plugged, monkeypatch):
    import serialx

    async def refused(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(serialx, "create_serial_connection", refused)

    async def listen():
        await anext(SerialSource(str(plugged.port)).stream())

    with pytest.raises(SourceError, match="dialout"):
        asyncio.run(listen())


def test_a_recorder_that_is_slow_makes_the_port_wait_and_loses_nothing(plugged, monkeypatch):
    """Backpressure: the source holds a bounded number of bytes, the rest waits in the system."""
    import threading

    from unmixnet.live.sources import serial_port

    monkeypatch.setattr(serial_port, "_MOST_WAITING", 2000)
    writer = threading.Thread(target=plugged.print, args=(lines(0, 2000),))

    async def listen():
        stream = SerialSource(str(plugged.port)).stream()
        await until(stream, "connected")
        writer.start()
        await asyncio.sleep(0.3)
        assert writer.is_alive()
        numbers = [int((await until(stream, Sample)).values[0]) for _ in range(2000)]
        await stream.aclose()
        return numbers

    assert asyncio.run(listen()) == list(range(2000))
    writer.join()
