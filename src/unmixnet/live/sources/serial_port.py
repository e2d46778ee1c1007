"""A board on a serial port: it may print noise at first, be unplugged, and come back."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from unmixnet.live.lines import Framing, LineParser
from unmixnet.live.sample import Item, SourceError, SourceEvent, live_library

__all__ = ["Port", "SerialSource", "list_ports"]

_MOST_WAITING = 256 * 1024
"""Bytes that wait to be parsed before the port is no longer read: memory is bounded, the system's buffer takes over."""


class SerialSource:
    """Lines from a serial port.

    Arguments:
        port: its name, such as /dev/ttyUSB0, /dev/serial/by-id/… or COM3; `unmixnet devices` lists them.
        baud: symbols per second; a board on USB ignores it.
        retry_s: time between attempts to find a board again that was unplugged [s].
    """

    def __init__(self, port: str, baud: int = 115200, *, retry_s: float = 0.5) -> None:
        self.port, self.baud, self.retry_s = port, baud, retry_s
        self.name, self.unit = f"serial port {port}", "counts"
        self.parser = LineParser()

    @property
    def channels(self) -> tuple[str, ...] | None:
        """Channels that the lines name; None before the first of them."""
        return self.parser.channels

    async def stream(self) -> AsyncIterator[Item]:
        """Samples for as long as the process lives; a port that cannot be opened at first is an error."""
        kind = "connected"
        while True:
            inbox = await self._open(first=kind == "connected")
            yield SourceEvent(kind, f"Listening to {self.port}.")
            self.parser.connected()
            framing = Framing()
            try:
                async for arrived_s, data in inbox:
                    for line in framing.feed(data):
                        item = self.parser.parse(line, arrived_s)
                        if item is not None:
                            yield item
            finally:
                inbox.close()
            kind = "reconnected"
            yield SourceEvent("lost", f"{self.port} is gone; waiting for it to come back.")

    async def _open(self, *, first: bool) -> "_Inbox":
        """The open port; waits for one that was there before."""
        serialx, loop = live_library("serialx"), asyncio.get_running_loop()
        while True:
            inbox = _Inbox()
            try:
                await serialx.create_serial_connection(loop, lambda: inbox, self.port, baudrate=self.baud)  # noqa: B023
                return inbox
            except (OSError, serialx.SerialException, ValueError) as error:
                if first:
                    raise self._refused(error) from None
            await asyncio.sleep(self.retry_s)

    def _refused(self, error: Exception) -> SourceError:
        remedy = "Plug the board in and run `unmixnet devices` for the names of the ports"
        if isinstance(error, PermissionError):
            remedy = (
                "Add yourself to the group of serial ports (on Debian: sudo adduser $USER dialout) and log in again"
            )
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return SourceError(f"the port cannot be opened ({why})", where=self.port, remedy=remedy)


class _Inbox(asyncio.Protocol):
    """Bytes of an open port with the time of their arrival; what came before a disconnect is not lost."""

    def __init__(self) -> None:
        self._transport: Any = None
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._size, self._paused, self._lost = 0, False, False
        self._news = asyncio.Event()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._waiting.append((time.monotonic(), data))
        self._size += len(data)
        if self._size > _MOST_WAITING and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._news.set()

    def close(self) -> None:
        """Let go of the port."""
        if self._transport is not None and not self._lost:
            self._transport.abort()

    def __aiter__(self) -> "_Inbox":
        return self

    async def __anext__(self) -> tuple[float, bytes]:
        while not self._waiting:
            if self._lost:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        arrived = self._waiting.popleft()
        self._size -= len(arrived[1])
        if self._paused and self._size <= _MOST_WAITING // 2 and not self._lost:
            self._paused = False
            self._transport.resume_reading()
        return arrived


_LONGEST_TEXT = 80


@dataclass(frozen=True)
class Port:
    """A serial port.

    Arguments:
        port: the name to use; one that stays the same when the board is plugged in elsewhere, if the system has it.
        device: the device file behind it.
        board: maker and product, as the board reports them; "" if it reports none.
        serial_number: of the board, "" if it has none.
        vid, pid: USB identifiers of maker and product; None if it is not a USB device.
    """

    port: str
    device: str
    board: str
    serial_number: str
    vid: int | None
    pid: int | None


def list_ports(*, everything: bool = False) -> list[Port]:
    """Ports that a board is plugged into; `everything` adds the sockets at the back of the machine."""
    serialx = live_library("serialx")
    try:
        listed = serialx.list_serial_ports()
    except (OSError, serialx.SerialException) as error:
        raise SourceError(
            f"the ports cannot be listed ({error})", remedy="Name the port yourself: unmixnet live --serial PORT"
        ) from None
    ports = sorted((_port(info) for info in listed), key=lambda port: port.port)
    return [port for port in ports if everything or port.vid is not None]


def _port(info: Any) -> Port:
    board = " ".join(part for part in (info.manufacturer, info.product) if part)
    return Port(
        str(info.device),
        str(info.resolved_device),
        _printable(board),
        _printable(info.serial_number or ""),
        info.vid,
        info.pid,
    )


def _printable(text: str) -> str:
    """A text from the board, on one line and visible: a board can name itself anything."""
    return "".join(char for char in text if char.isprintable())[:_LONGEST_TEXT]
