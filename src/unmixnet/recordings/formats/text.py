"""From bytes to lines: encoding, NUL bytes, Git LFS pointers, and the line that power loss cut."""

import re
from dataclasses import dataclass
from pathlib import Path

from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.recording import Finding

__all__ = ["SourceText", "decode", "read_head", "read_text_bytes"]

_HEAD_BYTES = 4096

_LFS = b"version https://git-lfs"
_UTF16 = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_BINARY = (
    (b"PK\x03\x04", "a zip archive or Excel workbook"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"%PDF", "a PDF"),
)


@dataclass(frozen=True)
class SourceText:
    """Complete lines of a file, without their ends; `lines[i]` is line i + 1."""

    file: str
    lines: tuple[str, ...]
    findings: tuple[Finding, ...] = ()


def read_head(path: Path) -> bytes:
    """The first bytes of a file, enough to recognise its format."""
    return _bytes(path, _HEAD_BYTES)


def read_text_bytes(path: Path) -> bytes:
    """All bytes of a text file."""
    return _bytes(path)


def decode(raw: bytes, file: str) -> SourceText:
    """Lines of a text file; refuses what is not text."""
    _refuse_stand_ins(raw, file)
    text, findings = _decoded(raw, file)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise _empty(file, f"{len(raw)} bytes of blank lines")
    _refuse_control_characters(text, file)
    *lines, last = text.split("\n")
    if last and not lines:  # One line only: let the header search say what is missing.
        return SourceText(file, (last,), findings)
    if last.strip():
        findings += (_cut(last, len(lines) + 1),)
    return SourceText(file, tuple(lines), findings)


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


def _not_text(file: str, kind: str, line: int | None = None) -> ReadError:
    return ReadError(
        Code.NOT_TEXT,
        file=file,
        line=line,
        seen=kind,
        expected="CSV, plotter lines, UCI columns or an .osmell file",
        remedy="Export the recording as CSV",
    )
