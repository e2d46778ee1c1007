"""TOML files that are checked key by key: every mistake is answered with its line and a remedy."""

import difflib
import re
import tomllib
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from unmixnet.errors import ConfigError

__all__ = ["Section", "check_values", "line_of", "parse_toml", "read_toml"]

Model = TypeVar("Model", bound=BaseModel)
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
"""How pydantic calls an unknown key, of a model and of a data class."""
_DEEPEST = 32
"""More nested tables or lists than this are a mistake."""


class Section(BaseModel):
    """A table of a file; an unknown key is an error, the strings below the fields become the key reference."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)


def parse_toml(text: str, model: type[Model], *, name: str) -> Model:
    """Parse and check the text of a file."""
    return check_values(read_toml(text, name=name), model, name=name, text=text)


def read_toml(text: str, *, name: str) -> dict[str, Any]:
    """The plain values of a file."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"line (\d+), column (\d+)", str(error))
        where = f"{name}:{place[1]}:{place[2]}" if place else name
        problem = re.sub(r" \(at .*\)", "", str(error))
        raise ConfigError(f"not valid TOML: {problem}", where=where, remedy="Correct this line") from None
    except RecursionError:
        raise _too_deep(text, name) from None
    except ValueError as error:  # a whole number of thousands of digits, a date that does not exist
        longest = max(enumerate(text.splitlines(), 1), key=lambda line: len(line[1]), default=(1, ""))[0]
        raise ConfigError(f"not valid TOML: {error}", where=f"{name}:{longest}", remedy="Correct this line") from None
    if _is_deep(values):
        raise _too_deep(text, name)
    return values


def _too_deep(text: str, name: str) -> ConfigError:
    problem = f"tables or lists are nested more than {_DEEPEST} deep"
    where = f"{name}:{_deepest_line(text)}"
    return ConfigError(problem, where=where, remedy="Remove brackets; no key needs so many")


def _is_deep(values: Any) -> bool:
    """Whether tables and lists are nested deeper than any file of ours; found without recursion."""
    level = [values]
    for _ in range(_DEEPEST):
        level = [
            part
            for parts in level
            for part in (parts.values() if isinstance(parts, dict) else parts)
            if isinstance(part, dict | list)
        ]
    return bool(level)


def _deepest_line(text: str) -> int:
    """Line on which brackets, or the dots of a key, are first as deep as they become."""
    depth, deepest = 0, (0, 1)
    for number, line in enumerate(text.splitlines(), 1):
        opened = line.count("[") + line.count("{")
        reached = depth + opened + line.partition("=")[0].count(".")
        if reached > deepest[0]:
            deepest = reached, number
        depth += opened - line.count("]") - line.count("}")
    return deepest[1]


def check_values(values: Any, model: type[Model], *, name: str, text: str = "") -> Model:
    """Check plain values; with the `text` that they were read from, a mistake is answered with its line."""

    def place(location: tuple[str, ...]) -> str:
        line = f"{name}:{line_of(text, location)}" if text else name
        return f"{line}: {'.'.join(location)}"

    try:
        return model.model_validate(values)
    except ConfigError as error:  # a data class refuses its own values and names the key
        where = place(tuple(error.where.split("."))) if error.where else name
        raise ConfigError(error.problem, where=where, remedy=error.remedy) from None
    except ValidationError as error:
        # a misspelt key shows up twice, as unknown and as missing; the first of the two has the remedy
        first = min(error.errors(), key=lambda e: e["type"] not in _UNKNOWN)
        location = tuple(str(part) for part in first["loc"])
        raise ConfigError(_problem(first), where=place(location), remedy=_remedy(first, location, model)) from None


def _problem(first: Any) -> str:
    if first["type"] in _UNKNOWN:
        return "unknown key"
    if first["type"] == "missing":
        return "this key is missing"
    seen = repr(first["input"])
    return f"{first['msg'][0].lower()}{first['msg'][1:]}, but found {seen if len(seen) < 60 else seen[:57] + '…'}"


def _remedy(first: Any, location: tuple[str, ...], model: type[BaseModel]) -> str:
    if first["type"] == "missing":
        return f"Add {location[-1]}"
    if first["type"] in _UNKNOWN:
        known = _keys_at(model, location[:-1])
        close = difflib.get_close_matches(location[-1], known, n=1)
        return f"Did you mean {close[0]!r}?" if close else f"Use one of {', '.join(known)}"
    return "Correct the value"


def _keys_at(root: type[BaseModel], location: tuple[str, ...]) -> list[str]:
    """Keys that the section at this place accepts."""
    section: Any = root
    for part in location:
        kind = _kinds(section).get(part)
        inner = [a for a in (kind, *getattr(kind, "__args__", ())) if hasattr(a, "model_fields") or is_dataclass(a)]
        if inner:
            section = inner[0]
    return list(_kinds(section))


def _kinds(section: Any) -> dict[str, Any]:
    """The type of every key of a section, which is a pydantic model or a data class."""
    if is_dataclass(section):
        return {item.name: item.type for item in fields(section)}
    return {name: field.annotation for name, field in section.model_fields.items()}


def line_of(text: str, location: tuple[str, ...]) -> int:
    """Line of the deepest part of a location that the file mentions; entries of arrays of tables are counted."""
    lines, at = text.splitlines(), 0
    for depth, part in enumerate(location):
        if part.isdigit():
            continue
        repeat = int(location[depth + 1]) if depth + 1 < len(location) and location[depth + 1].isdigit() else 0
        word = re.escape(part)
        pattern = re.compile(rf"^\s*(\[+[\w.\"' ]*\b{word}[\"']?\s*\]+|[\"']?{word}[\"']?\s*=|[\"']?{word}[\"']?\.)")
        hits = [i for i in range(at, len(lines)) if pattern.match(lines[i])]
        if hits and lines[hits[0]].lstrip().startswith("[["):
            at = hits[min(repeat, len(hits) - 1)]
        elif hits:
            at = hits[0]
            if location[depth + 1 :] and location[depth + 1].isdigit():
                return at + 1 + _lines_to_entry(lines[at:], repeat)
    return at + 1


def _lines_to_entry(lines: list[str], index: int) -> int:
    """Lines between `key = [` and the entry of that index, if they are written one to a line."""
    depth, entry = 0, -1
    for number, line in enumerate(lines):
        bare = re.sub(r"\"[^\"]*\"|'[^']*'|#.*", "", line if number else line.partition("=")[2])
        for sign in re.findall(r"[\[{}\]]", bare):
            entry += depth == 1 and sign in "[{"
            if entry == index:
                return number
            depth += 1 if sign in "[{" else -1
        if depth <= 0:
            return 0
    return 0
