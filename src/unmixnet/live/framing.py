"""From bytes to lines, in bounded memory: a board may send rubbish for ever without a line end."""

__all__ = ["LONGEST_LINE", "Framing"]

LONGEST_LINE = 1024
"""Bytes of a line; a longer one is given as far as that and marked as too long."""


class Framing:
    """Cuts a stream of bytes at `\\n`; what follows the last one waits for the next bytes."""

    def __init__(self) -> None:
        self._rest = b""
        self._too_long = False

    def feed(self, data: bytes) -> list[bytes]:
        """Complete lines without their ends; of a line that is too long, `LONGEST_LINE` + 1 bytes."""
        *lines, rest = (self._rest + data).split(b"\n")
        if self._too_long and lines:
            # its beginning was given already
            lines, self._too_long = lines[1:], False
        complete = [line[: LONGEST_LINE + 1] for line in lines]
        if self._too_long:
            rest = b""
        elif len(rest) > LONGEST_LINE:
            complete.append(rest[: LONGEST_LINE + 1])
            rest, self._too_long = b"", True
        self._rest = rest
        return complete

    def clear(self) -> None:
        """Forget the beginning of a line: the connection was lost, its end will never come."""
        self._rest, self._too_long = b"", False
