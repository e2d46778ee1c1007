"""From bytes to lines: sizes, encoding, NUL bytes, Git LFS pointers, and the line that power loss cut."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from unmixnet.files.reading import open_file
from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.recording import Finding

__all__ = ["LONGEST_LINE", "SourceText", "decode", "open_recording", "read_head", "read_text_bytes"]

_HEAD_BYTES = 4096
_CHUNK = 1 << 20
LONGEST_LINE = 1 << 20
"""Most bytes of a line of text: no table has so many columns."""
LARGEST_TEXT = 512 << 20
"""Most bytes of a text that is held in memory as a whole."""

_LFS = b"version https://git-lfs"
_UTF16 = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_BINARY = (
    (b"PK\x03\x04", "a zip archive or Excel workbook"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"%PDF", "a PDF"),
    (b"SQLite format 3\0", "an SQLite database"),
)
_STRUCTURED = (
    (re.compile(r'\{\s*["}]|\[\s*["\[{]|\[\s*-?[\d.]+\s*,'), "JSON"),
    (re.compile(r"<(\?xml|!doctype|html|svg)", re.IGNORECASE), "XML or HTML"),
)
"""How text begins that is not a table, whatever its lines look like."""


@dataclass(frozen=True)
class SourceText:
    """Complete lines of a file, without their ends; `lines[i]` is line i + 1."""

    file: str
    lines: tuple[str, ...]
    findings: tuple[Finding, ...] = ()


def read_head(path: Path) -> bytes:
    """The first bytes of a file, enough to recognise its format."""
    with open_recording(path) as file:
        return file.read(_HEAD_BYTES)


def read_text_bytes(path: Path) -> bytes:
    """All bytes of a text file; one that turns out not to be text, or has an endless line, is not read to its end."""
    chunks: list[bytes] = []
    size = line = 0
    with open_recording(path) as file:
        while chunk := file.read(_CHUNK):
            if not chunks:
                _refuse_stand_ins(chunk, str(path))
                _refuse_structured(chunk[:_HEAD_BYTES].decode("latin-1").removeprefix("ï»¿"), str(path))
            chunks.append(chunk)
            size += len(chunk)
            body = chunk.rstrip(b"\0")  # NUL bytes after the last row, from a power loss, are not a line
            if not body and size == len(chunk):
                raise _empty(str(path), f"{size:,} NUL bytes")
            line = _unfinished(body, line)
            if line > LONGEST_LINE:
                raise _not_text(str(path), f"a line of more than {LONGEST_LINE:,} bytes")
            if size > LARGEST_TEXT:
                raise _too_large(str(path))
    return b"".join(chunks)


@contextmanager
def open_recording(path: Path) -> Iterator[BufferedReader]:
    """Open a plain file; what the system refuses, also while it is read, becomes a `ReadError`."""
    try:
        with open_file(path) as file:
            yield file
    except OSError as error:
        raise ReadError(
            Code.NO_FILE,
            file=str(path),
            seen=error.strerror or type(error).__name__,
            expected="a readable file",
            remedy="Check the path and the permissions",
        ) from None


def _unfinished(chunk: bytes, before: int) -> int:
    """Length of the line that a chunk leaves unfinished, if it began with `before` bytes of one."""
    end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
    return len(chunk) - end if end else before + len(chunk)


def decode(raw: bytes, file: str) -> SourceText:
    """Lines of a text file; refuses what is not text."""
    _refuse_stand_ins(raw, file)
    text, findings = _decoded(raw, file)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise _empty(file, f"{len(raw)} bytes of blank lines")
    _refuse_control_characters(text, file)
    _refuse_structured(text, file)
    *lines, last = text.split("\n")
    if last and not lines:  # One line only: the header search reports what is missing.
        return SourceText(file, (last,), findings)
    if last.strip():
        findings += (_cut(last, len(lines) + 1),)
    return SourceText(file, tuple(lines), findings)


def _refuse_stand_ins(raw: bytes, file: str) -> None:
    """Refuse an empty file, a Git LFS pointer and well-known binary formats."""
    if not raw:
        raise _empty(file, "0 bytes")
    if raw.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(_LFS):
        raise ReadError(
            Code.LFS_POINTER,
            file=file,
            line=1,
            seen="a Git LFS pointer",
            expected="the recording itself",
            remedy="Run `git lfs pull` in the data set, or fetch it with `unmixnet data fetch`",
        )
    for magic, kind in _BINARY:
        if raw.startswith(magic):
            raise _not_text(file, kind)


def _decoded(raw: bytes, file: str) -> tuple[str, tuple[Finding, ...]]:
    """Text of the bytes, with a finding where it is not UTF-8 or where its tail is NUL."""
    encoding = _utf16(raw)
    if encoding:
        whole = raw[: len(raw) // 2 * 2]
        return whole.decode(encoding, errors="replace"), (_encoded(encoding.upper()),)
    body = raw.rstrip(b"\0")
    findings: tuple[Finding, ...] = ()
    if len(body) < len(raw):
        tail = len(raw) - len(body)
        line = body.count(b"\n") + 1
        findings = (Finding(Code.NUL_TAIL, f"{tail} NUL bytes after the text were set aside", line, count=tail),)
    if not body.strip():
        raise _empty(file, f"{len(raw)} NUL bytes")
    if b"\0" in body:
        raise _nul(body, file)
    try:
        return body.decode("utf-8"), findings
    except UnicodeDecodeError:
        return body.decode("latin-1"), (*findings, _encoded("Latin-1"))


def _utf16(raw: bytes) -> str | None:
    """UTF-16 by its mark, or by NUL in nearly every second byte of the first 2,000."""
    for mark, encoding in _UTF16:
        if raw.startswith(mark):
            return encoding
    head = raw[:2000]
    half = len(head) // 2
    if half >= 4 and head[1::2].count(0) > 0.8 * half and head[::2].count(0) == 0:
        return "utf-16-le"
    if half >= 4 and head[::2].count(0) > 0.8 * half and head[1::2].count(0) == 0:
        return "utf-16-be"
    return None


def _refuse_control_characters(text: str, file: str) -> None:
    """Refuse text with control characters, naming the first."""
    match = _CONTROL.search(text)
    if match:
        line = text.count("\n", 0, match.start()) + 1
        raise _not_text(file, f"the control character 0x{ord(match.group()):02x}", line)


def _refuse_structured(text: str, file: str) -> None:
    """Refuse JSON and markup: a line of it may look like a header, and the next like a row."""
    start = text[:_HEAD_BYTES].lstrip()
    for pattern, kind in _STRUCTURED:
        if pattern.match(start):
            raise ReadError(
                Code.UNKNOWN_FORMAT,
                file=file,
                line=1,
                seen=f"{kind} ({start[:40]!r})",
                expected="a CSV header followed by rows, UCI columns, or plotter lines such as NO2:27,CO:31",
                remedy="Export the recording as CSV with one named column for each sensor",
            )


def _encoded(name: str) -> Finding:
    return Finding(Code.ENCODING, f"the file is not UTF-8; it was decoded from {name}")


def _cut(last: str, line: int) -> Finding:
    shown = last if len(last) <= 40 else last[:39] + "…"
    return Finding(
        Code.CUT_LINE,
        f"line {line} ({shown!r}) has no line end, so its last number may be cut: it was set aside, "
        f"the {line - 1} lines before it are complete",
        line,
    )


def _empty(file: str, seen: str) -> ReadError:
    return ReadError(
        Code.EMPTY,
        file=file,
        seen=seen,
        expected="a header and rows of readings",
        remedy="Copy the file from the device again",
    )


def _nul(body: bytes, file: str) -> ReadError:
    at = body.index(b"\0")
    return ReadError(
        Code.NUL_BYTES,
        file=file,
        line=body.count(b"\n", 0, at) + 1,
        seen=f"{body.count(bytes(1))} NUL bytes, the first at byte {at + 1}",
        expected="text",
        remedy="Copy the file from the card again; if it stays, cut the file before this line",
    )


def _too_large(file: str) -> ReadError:
    return ReadError(
        Code.TOO_LARGE,
        file=file,
        seen=f"more than {LARGEST_TEXT:,} bytes of text",
        expected="a recording that fits into memory",
        remedy="Split the file into shorter recordings",
    )


def _not_text(file: str, kind: str, line: int | None = None) -> ReadError:
    return ReadError(
        Code.NOT_TEXT,
        file=file,
        line=line,
        seen=kind,
        expected="CSV, plotter lines, UCI columns or an .osmell file",
        remedy="Export the recording as CSV",
    )
