"""The TOML file beside a recording: units, rate, device, label — what a plain CSV does not contain."""

import difflib
import math
import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from unmixnet.errors import ConfigError, UnmixError
from unmixnet.files.reading import read_text
from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.formats.timebase import TICKS_PER_S
from unmixnet.recordings.labels import parse_recipe
from unmixnet.recordings.recording import Mixture

__all__ = ["FOLDER_SIDECAR", "Sidecar", "find_sidecar", "read_sidecar"]

FOLDER_SIDECAR = "recordings.toml"
"""Applies to every recording of its folder that has no sidecar of its own."""

_KEYS = ("rate_Hz", "device", "label", "time_column", "time_unit", "units", "full_scale", "sentinels")


@dataclass(frozen=True)
class Sidecar:
    """What a sidecar states; None or empty where it is silent."""

    rate_Hz: float | None = None
    device: str = "unknown device"
    label: Mixture | None = None
    time_column: str | None = None
    time_unit: str | None = None
    units: dict[str, str] = field(default_factory=dict)
    full_scale: dict[str, float] = field(default_factory=dict)
    sentinels: tuple[float, ...] = ()


def find_sidecar(recording: Path) -> Path | None:
    """`run.toml` for `run.csv`, else `recordings.toml` in the same folder, whatever stands under that name."""
    own, shared = recording.with_suffix(".toml"), recording.with_name(FOLDER_SIDECAR)
    return next((path for path in (own, shared) if path != recording and os.path.lexists(path)), None)


def read_sidecar(path: Path) -> Sidecar:
    """Read a sidecar; an unknown key is an error that suggests the nearest known one."""
    try:
        entries = tomllib.loads(read_text(path))
    except ConfigError as error:
        raise _refused(path, error.problem, "a TOML file in UTF-8", error.remedy) from None
    except tomllib.TOMLDecodeError as error:
        raise _refused(path, str(error), "a TOML file in UTF-8", "Correct the place that is named") from None
    for key in entries:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, 1, cutoff=0.4)
            remedy = f"Write {near[0]} if that was meant" if near else "Remove the key"
            raise _refused(path, f"the key {key!r}", f"one of {', '.join(_KEYS)}", remedy)
    unit = _text(path, entries, "time_unit")
    if unit is not None and unit not in TICKS_PER_S:
        raise _refused(path, f"time_unit = {unit!r}", f"one of {', '.join(TICKS_PER_S)}", "Choose one of them")
    return Sidecar(
        rate_Hz=_rate(path, entries),
        device=_text(path, entries, "device") or "unknown device",
        label=_label(path, entries.get("label")),
        time_column=_text(path, entries, "time_column"),
        time_unit=unit,
        units={name: str(value) for name, value in _mapping(path, entries, "units").items()},
        full_scale={n: _number(path, n, v) for n, v in _mapping(path, entries, "full_scale").items()},
        sentinels=_sentinels(path, entries.get("sentinels", [])),
    )


def _rate(path: Path, entries: dict) -> float | None:
    if "rate_Hz" not in entries:
        return None
    rate = _number(path, "rate_Hz", entries["rate_Hz"])
    if rate <= 0:
        raise _refused(path, f"rate_Hz = {rate:g}", "a positive number", "Give the rows per second")
    return rate


def _label(path: Path, value: object) -> Mixture | None:
    if value is None:
        return None
    try:
        if isinstance(value, dict):
            return Mixture.from_parts(list(value), [_number(path, k, v) for k, v in value.items()])
        mixture = parse_recipe(value) if isinstance(value, str) else None
    except ReadError:
        raise
    except UnmixError as error:
        raise _refused(path, error.problem, "shares that can be normalised", "Correct the label") from None
    if mixture is None:
        remedy = 'Write label = "almond_50_clove_50" or label = { almond = 50, clove = 50 }'
        raise _refused(path, f"label = {value!r}", "a recipe", remedy)
    return mixture


def _sentinels(path: Path, value: object) -> tuple[float, ...]:
    if not isinstance(value, list):
        raise _refused(path, f"sentinels = {value!r}", "a list of numbers", "Write sentinels = [-999]")
    return tuple(_number(path, "sentinels", item) for item in value)


def _text(path: Path, entries: dict, key: str) -> str | None:
    value = entries.get(key)
    if value is not None and not isinstance(value, str):
        raise _refused(path, f"{key} = {value!r}", "text in quotes", f'Write {key} = "…"')
    return value


def _mapping(path: Path, entries: dict, key: str) -> dict:
    value = entries.get(key, {})
    if not isinstance(value, dict):
        raise _refused(path, f"{key} = {value!r}", "a table of channels", f"Begin a section [{key}]")
    return value


def _number(path: Path, key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _refused(path, f"{key} = {value!r}", "a finite number", "Write the number without quotes")
    return float(value)


def _refused(path: Path, seen: str, expected: str, remedy: str) -> ReadError:
    return ReadError(Code.BAD_SIDECAR, file=str(path), seen=seen, expected=expected, remedy=remedy)
