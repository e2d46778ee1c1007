"""A board at the other end of a pseudo-terminal: it can be unplugged and plugged in again."""

import os
import pty
import tty
from pathlib import Path


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
