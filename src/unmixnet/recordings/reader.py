"""Reading one recording from one file: the format is recognised by what the file says, not by its name."""

from pathlib import Path

from unmixnet.errors import ConfigError
from unmixnet.recordings.channels import BASE_CHANNELS, MIXTURE_CHANNELS, canonical_name
from unmixnet.recordings.codes import Code
from unmixnet.recordings.formats import smellnet
from unmixnet.recordings.formats.plain_csv import read_plain
from unmixnet.recordings.formats.plotter import plotter_share, read_plotter
from unmixnet.recordings.formats.sidecar import Sidecar, find_sidecar, read_sidecar
from unmixnet.recordings.formats.table import Header, find_header
from unmixnet.recordings.formats.text import SourceText, decode
from unmixnet.recordings.formats.uci_parquet import read_uci_parquet
from unmixnet.recordings.formats.uci_recording import read_uci_text
from unmixnet.recordings.formats.uci_text import looks_like_uci
from unmixnet.recordings.recording import Recording
from unmixnet.recordings.refusal import ReadError

__all__ = ["FORMATS", "RECORDING_SUFFIXES", "ReadError", "read_recording"]

FORMATS = ("smellnet-base", "smellnet-mixture", "uci-text", "uci-parquet", "plain-csv", "plotter")
"""Formats that `read_recording` knows."""

RECORDING_SUFFIXES = (".csv", ".txt", ".tsv", ".log", ".parquet")
"""Endings of files that may be recordings, for looking through folders."""

_HEAD_BYTES = 4096
_BASE = frozenset(BASE_CHANNELS)
_MIXTURE = frozenset([smellnet.TIME_COLUMN, *MIXTURE_CHANNELS])


def read_recording(path: str | Path, *, format: str | None = None, place: str | None = None) -> Recording:
    """Read a recording, or refuse it with a `ReadError`.

    Arguments:
        path: the file.
        format: one of `FORMATS`; None recognises it by content.
        place: what to store as `Recording.path` (the place in a data set); None stores `path`.
    """
    if format is not None and format not in FORMATS:
        raise ConfigError(f"no format {format!r}", remedy=f"Choose one of {', '.join(FORMATS)}")
    path = Path(path)
    place = place if place is not None else path.as_posix()
    head = _bytes(path, _HEAD_BYTES)
    if format == "uci-parquet" or (format is None and head.startswith(b"PAR1")):
        return read_uci_parquet(path, place)
    if format == "uci-text" or (format is None and looks_like_uci(head)):
        return read_uci_text(path, place)
    source = decode(_bytes(path), str(path))
    header = find_header(source)
    format = format or _recognise(source, header)
    if format == "plotter":
        if plotter_share(source) == 0:
            raise _unknown_format(source)
        return read_plotter(source, place, _sidecar(path))
    if header is None:
        raise _no_header(source)
    if format == "smellnet-base":
        return smellnet.read_base(source, header, place)
    if format == "smellnet-mixture":
        return smellnet.read_mixture(source, header, place)
    return read_plain(source, header, place, _sidecar(path))


def _recognise(source: SourceText, header: Header | None) -> str:
    """Name of the format, from the header or from the look of the lines."""
    share = plotter_share(source)
    if share > 0.5 or (share > 0 and (header is None or len(header.names) == 1)):
        return "plotter"
    if header is None:
        raise _no_header(source)
    names = frozenset(canonical_name(name) for name in header.names)
    if names == _BASE:
        return "smellnet-base"
    if names == _MIXTURE:
        return "smellnet-mixture"
    return "plain-csv"


def _bytes(path: Path, most: int = -1) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise ReadError(
            Code.NO_FILE,
            file=str(path),
            seen=error.strerror or type(error).__name__,
            expected="a readable file",
            remedy="Check the path and the permissions",
        ) from None


def _sidecar(path: Path) -> Sidecar:
    beside = find_sidecar(path)
    return read_sidecar(beside) if beside else Sidecar()


def _no_header(source: SourceText) -> ReadError:
    """What to say of a file without a header: rows of bare numbers, or something else altogether."""
    first = next((i for i, line in enumerate(source.lines) if line.strip()), 0)
    line = source.lines[first]
    if line.strip()[:1].isdigit() or line.strip()[:2].lstrip("+-.")[:1].isdigit():
        return ReadError(
            Code.NO_HEADER,
            file=source.file,
            line=first + 1,
            seen=repr(line[:60]),
            expected="a line that names the columns",
            remedy="Write the channel names, separated by commas, as the first line",
        )
    return _unknown_format(source)


def _unknown_format(source: SourceText) -> ReadError:
    first = next((i for i, line in enumerate(source.lines) if line.strip()), 0)
    return ReadError(
        Code.UNKNOWN_FORMAT,
        file=source.file,
        line=first + 1,
        seen=repr(source.lines[first][:60]),
        expected="a CSV header followed by rows, UCI columns, or plotter lines such as NO2:27,CO:31",
        remedy="Export the recording as CSV with one named column for each sensor",
    )
