"""JSON with one spelling (sorted keys, no spaces, finite numbers), and the error of a file that fails its checks."""

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unmixnet.errors import UnmixError

__all__ = ["DEEPEST", "ArtefactError", "decode", "decode_canonical", "encode", "quoted", "refused", "refusing"]

_LONGEST_QUOTE = 80
_COPY = "Copy the artefact again from where it came, or write it again"


class ArtefactError(UnmixError):
    """An artefact that cannot be written, or that is damaged, incomplete or hostile; names the file."""


def refused(problem: str, where: Path | str, remedy: str = _COPY) -> ArtefactError:
    """The error for one file; raise it."""
    return ArtefactError(problem, where=_printable(str(where)), remedy=remedy)


def quoted(seen: object) -> str:
    """What stands in a file, on one printable line that fits a terminal."""
    text = repr(seen)
    return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"


@contextmanager
def refusing(where: Path | str, remedy: str = _COPY) -> Iterator[None]:
    """Turn what the system, the decoders and the allocator raise into an `ArtefactError` for one file."""
    try:
        yield
    except (OSError, ValueError, MemoryError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise refused(_printable(reason) or type(error).__name__, where, remedy) from None


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


DEEPEST = 64
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")


def encode(value: Any, where: Path | str) -> bytes:
    """The canonical bytes of a JSON value; tuples become lists, and nothing else changes on the way."""
    plain = _plain(value, where, 0)
    with refusing(where, "Keep to text without lone surrogates and to numbers of fewer than 4,300 digits"):
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode("utf-8") + b"\n"


def decode(raw: bytes, where: Path | str) -> Any:
    """A JSON value from untrusted bytes.

    The depth is counted before the parser sees the text: a parser that descends for every bracket can be made to
    overflow its stack.
    """
    with refusing(where):
        text = raw.decode("utf-8")
        if _is_too_deep(text):
            raise refused(f"the JSON is nested more than {DEEPEST} deep", where)
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)


def decode_canonical(raw: bytes, where: Path | str) -> Any:
    """A JSON value whose bytes are exactly those that `encode` writes for it."""
    value = decode(raw, where)
    if encode(value, where) != raw:
        raise refused("the JSON is not in canonical form (sorted keys, no spaces, one newline at the end)", where)
    return value


def _plain(value: Any, where: Path | str, depth: int) -> Any:
    """The value in JSON's own types; what JSON would change or drop in silence is refused."""
    if depth > DEEPEST:
        raise refused(f"a value is nested more than {DEEPEST} deep", where, "Write a flatter value")
    if isinstance(value, dict):
        if odd := [key for key in value if not isinstance(key, str)]:
            raise refused(f"the key {quoted(odd[0])} is not text", where, "Write the keys as text")
        return {key: _plain(item, where, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, where, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise refused(f"the number {value} has no JSON form", where, "Write null, or a finite number")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    kind = type(value).__name__
    raise refused(f"a {kind} has no JSON form", where, "Convert it with float(), int() or .tolist()")


def _is_too_deep(text: str) -> bool:
    """Whether brackets outside strings are nested more than `DEEPEST` deep, in one pass without recursion."""
    depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub("", text)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > DEEPEST:
            return True
    return False


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of two equal keys one would win in silence, and readers disagree which."""
    value: dict[str, Any] = {}
    for key, item in pairs:
        if key in value:
            raise ValueError(f"the key {quoted(key)} occurs twice")
        value[key] = item
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")
