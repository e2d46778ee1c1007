"""TOML files that are checked key by key: every mistake is answered with its line and a remedy."""

import difflib
import re
import tomllib
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from unmixnet.errors import ConfigError

__all__ = ["Section", "check_values", "parse_toml"]

Model = TypeVar("Model", bound=BaseModel)
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
"""How pydantic calls an unknown key, of a model and of a data class."""


class Section(BaseModel):
    """A table of a file; an unknown key is an error, the strings below the fields become the key reference."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)


def parse_toml(text: str, model: type[Model], *, name: str) -> Model:
    """Parse and check the text of a file."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"line (\d+), column (\d+)", str(error))
        where = f"{name}:{place[1]}:{place[2]}" if place else name
        problem = re.sub(r" \(at .*\)", "", str(error))
        raise ConfigError(f"not valid TOML: {problem}", where=where, remedy="Correct this line") from None
    return check_values(values, model, name=name, text=text)


def check_values(values: Any, model: type[Model], *, name: str, text: str = "") -> Model:
    """Check plain values; with the `text` that they were read from, a mistake is answered with its line."""

    def place(location: tuple[str, ...]) -> str:
        line = f"{name}:{_line_of(text, location)}" if text else name
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


def _line_of(text: str, location: tuple[str, ...]) -> int:
    """Line of the deepest part of a location that the file mentions; entries of arrays of tables are counted."""
    lines, at = text.splitlines(), 0
    for depth, part in enumerate(location):
        if part.isdigit():
            continue
        repeat = int(location[depth + 1]) if depth + 1 < len(location) and location[depth + 1].isdigit() else 0
        word = re.escape(part)
        pattern = re.compile(rf"^\s*(\[+[\w.\"' ]*\b{word}\s*\]+|[\"']?{word}[\"']?\s*=|[\"']?{word}[\"']?\.)")
        hits = [i for i in range(at, len(lines)) if pattern.match(lines[i])]
        if hits:
            at = hits[min(repeat, len(hits) - 1)]
    return at + 1
