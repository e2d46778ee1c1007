"""What a format of recordings is to the reader: a name, how its files are recognised, and how they are read."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from unmixnet.recordings.formats.sidecar import Sidecar, find_sidecar, read_sidecar
from unmixnet.recordings.formats.table import Header, find_header
from unmixnet.recordings.formats.text import SourceText, decode, read_head, read_text_bytes
from unmixnet.recordings.recording import Recording

__all__ = ["FileContent", "Format"]


@dataclass(frozen=True, eq=False)
class FileContent:
    """A file as formats look at it: its first bytes at once; text, header and sidecar when they are needed.

    Arguments:
        path: the file.
        place: what to store as `Recording.path`.
    """

    path: Path
    place: str

    @cached_property
    def head(self) -> bytes:
        """The first bytes of the file."""
        return read_head(self.path)

    @cached_property
    def text(self) -> SourceText:
        """The lines of the file; what is not text is refused."""
        return decode(read_text_bytes(self.path), str(self.path))

    @cached_property
    def header(self) -> Header | None:
        """The line that names the columns, if there is one."""
        return find_header(self.text)

    @cached_property
    def sidecar(self) -> Sidecar:
        """What the TOML file beside the recording states; empty if there is none."""
        beside = find_sidecar(self.path)
        return read_sidecar(beside) if beside else Sidecar()


@dataclass(frozen=True)
class Format:
    """A format that `read_recording` knows.

    Arguments:
        name: as `--format` takes it.
        suffixes: endings under which a folder is searched for such files; the format itself is known by content.
        recognises: whether the content of a file is of this format.
        read: the recording in a file of this format, or a `ReadError`.
    """

    name: str
    suffixes: tuple[str, ...]
    recognises: Callable[[FileContent], bool]
    read: Callable[[FileContent], Recording]
