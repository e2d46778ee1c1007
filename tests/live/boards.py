"""A board at the other end of a pseudo-terminal: it can be unplugged and plugged in again."""

import os
import pty
import tty
from pathlib import Path

from tests.live.faults import sound_line
from tests.live.streams import until
from unmixnet.live.sample import Sample
from unmixnet.live.sources.serial_port import SerialSource


class Board:
    """Something that prints lines; `port` is the name that a source opens.

    The name is a link, as those under /dev/serial/by-id are: it leads to another device after every replug.
    """

    def __init__(self, folder: Path) -> None:
        self.port = folder / "board"
        self._master, self._slave = -1, -1
        self.plug()

    def plug(self) -> None:
        self._master, self._slave = pty.openpty()
        # no echo and no line discipline, from before the source has opened it
        tty.setraw(self._slave)
        self.port.symlink_to(os.ttyname(self._slave))

    def unplug(self) -> None:
        """Both ends go away, and the name with them."""
        self.port.unlink()
        os.close(self._slave)
        os.close(self._master)

    def print(self, data: bytes) -> None:
        """Send bytes; waits while the computer does not read."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._master, view) :]

    def __enter__(self) -> "Board":
        return self

    def __exit__(self, *_: object) -> None:
        self.unplug()


def lines(first: int, last: int) -> bytes:
    """Sound lines of a board, from one number to before another."""
    return b"".join(sound_line(number) + b"\n" for number in range(first, last))


async def replugged(plugged: Board, times: int) -> list[list[int]]:
    """Numbers of the samples between unplugging and plugging in, so often."""
    source, numbers = SerialSource(str(plugged.port), retry_s=0.02), []
    stream = source.stream()
    await until(stream, "connected")
    for turn in range(times):
        plugged.print(lines(100 * turn, 100 * turn + 20) + b"U1,half a li")
        numbers.append([int((await until(stream, Sample)).values[0]) for _ in range(20)])
        plugged.unplug()
        await until(stream, "lost")
        plugged.plug()
        await until(stream, "reconnected")
    plugged.print(lines(9000, 9001))
    numbers.append([int((await until(stream, Sample)).values[0])])
    await stream.aclose()
    return numbers
