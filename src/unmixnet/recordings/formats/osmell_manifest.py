"""manifest.json and events.json of an `.osmell` file: what they may say, checked type by type."""

from dataclasses import dataclass
from typing import Any

from unmixnet.errors import UnmixError
from unmixnet.files.canonical import decode
from unmixnet.files.refusal import ArtefactError
from unmixnet.recordings.channels import UNKNOWN_UNIT, canonical_name, name_columns
from unmixnet.recordings.formats.osmell_zip import OsmellError
from unmixnet.recordings.labels import parse_label
from unmixnet.recordings.recording import Mixture

__all__ = ["OsmellEvent", "OsmellManifest", "read_events", "read_manifest"]

_MOST_CHANNELS, _MOST_EVENTS, _LONGEST_TEXT = 256, 100_000, 2000
_LARGEST_NUMBER = 1e15
_IN_SECONDS = ("time_s", "t_s", "seconds")


@dataclass(frozen=True)
class OsmellEvent:
    """Something that happened from `start_s` to `end_s` of the recording's time [s]; None is a moment."""

    label: str
    start_s: float
    end_s: float | None = None
    note: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The event as the format writes it, in whole milliseconds."""
        fields = {
            "label": self.label,
            "startMs": round(1000 * self.start_s),
            "endMs": None if self.end_s is None else round(1000 * self.end_s),
            "note": self.note,
        }
        return {key: value for key, value in fields.items() if value is not None}


@dataclass(frozen=True)
class OsmellManifest:
    """What a manifest states, as far as a recording needs it.

    Arguments:
        written: names of the channels as data.csv has them.
        channels: their canonical names.
        units: one per channel, "unknown" where the manifest is silent.
        needed: so many of the channels have to be in data.csv; the others are context, which programs leave out.
        time_column: name of the time column.
        time_unit: "ms" or "s".
        device: model of the device.
        label: what was in front of the sensors, if it can be understood.
    """

    written: tuple[str, ...]
    channels: tuple[str, ...]
    units: tuple[str, ...]
    needed: int
    time_column: str
    time_unit: str
    device: str
    label: Mixture | None


def read_manifest(raw: bytes, place: str) -> OsmellManifest:
    """The manifest; a wrong type is refused with its place."""
    where = f"{place}/manifest.json"
    whole = _object(_decoded(raw, where), "the manifest", where)
    version = _text(_part(whole, "osmell", where).get("formatVersion", "1.0.0"), "formatVersion", where)
    if not version.startswith("1."):
        raise _refused(f"format {version!r}, expected 1.x", where, "Update unmixnet, or export the file as 1.0")
    sensor, session, ours = (_part(whole, key, where) for key in ("sensor", "session", "unmixnet"))
    context = _columns(ours.get("context", []), where)
    columns = _columns(sensor.get("channels"), where) + context
    names = [canonical_name(name) for name, _ in columns]
    if not all(names) or len(set(names)) != len(names) or not columns:
        raise _refused("no channels, channels without a name, or two of the same name", where)
    written = tuple(name for name, _ in columns)
    time_column = _text(sensor.get("timeColumn", "timestamp_ms"), "timeColumn", where)
    return OsmellManifest(
        written=written,
        channels=tuple(names),
        units=tuple(unit for _, unit in columns),
        needed=len(columns) - len(context),
        time_column=time_column,
        time_unit="s" if time_column.lower() in _IN_SECONDS else "ms",
        device=_text(_part(sensor, "device", where).get("model") or "unknown device", "device model", where),
        label=_label(ours.get("label"), session.get("label"), where),
    )


def read_events(raw: bytes | None, place: str) -> tuple[OsmellEvent, ...]:
    """The events; none if the file has none."""
    if raw is None:
        return ()
    where = f"{place}/events.json"
    entries = _decoded(raw, where)
    if not isinstance(entries, list) or len(entries) > _MOST_EVENTS:
        raise _refused(f"the events are no list of at most {_MOST_EVENTS:,}", where)
    return tuple(_event(_object(entry, "an event", where), where) for entry in entries)


def _event(entry: dict[str, Any], where: str) -> OsmellEvent:
    end, note = entry.get("endMs"), entry.get("note")
    return OsmellEvent(
        _text(entry.get("label"), "label of an event", where),
        _number(entry.get("startMs"), "startMs", where) / 1000,
        None if end is None else _number(end, "endMs", where) / 1000,
        None if note is None else _text(note, "note of an event", where),
    )


def _columns(entries: Any, where: str) -> list[tuple[str, str]]:
    """Name and unit of every channel."""
    if not isinstance(entries, list) or len(entries) > _MOST_CHANNELS:
        raise _refused(f"the channels are no list of at most {_MOST_CHANNELS}", where)
    columns = []
    for entry in entries:
        fields = _object(entry, "a channel", where)
        name = _text(fields.get("id"), "id of a channel", where)
        columns.append((name, _unit(_text(fields.get("unit") or "", "unit of a channel", where), where)))
    return columns


def _unit(written: str, where: str) -> str:
    """A unit in the spelling that the reader of CSV headers uses."""
    if not written.strip() or set(written) & set("[]()"):
        return written.strip() or UNKNOWN_UNIT
    (column,), _ = name_columns((f"x [{written}]",), file=where, line=1)
    return column.unit


def _label(exact: Any, text: Any, where: str) -> Mixture | None:
    """Our exact label if it is there, else what the text says."""
    if exact is not None:
        fields = _object(exact, "the label", where)
        try:
            names = tuple(_text(name, "label", where) for name in fields["names"])
            ratios = tuple(_number(ratio, "ratio", where) for ratio in fields["ratios"])
            return Mixture(names, ratios, _number(fields.get("raw_sum", 1), "raw_sum", where))
        except OsmellError:
            raise
        except (UnmixError, KeyError, TypeError, ValueError) as error:
            raise _refused(f"a label that is no mixture ({str(error)[:80]})", where) from None
    return parse_label(_text(text, "label", where)) if text else None


def _decoded(raw: bytes, where: str) -> Any:
    try:
        return decode(raw, where)
    except ArtefactError as error:
        raise _refused(f"no sound JSON ({error.problem})", where) from None


def _part(whole: dict[str, Any], key: str, where: str) -> dict[str, Any]:
    """A part of the manifest; an absent one is empty."""
    value = whole.get(key)
    return {} if value is None else _object(value, key, where)


def _object(value: Any, what: str, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _refused(f"{what} is a {type(value).__name__}, expected an object", where)
    return value


def _text(value: Any, what: str, where: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT or not value.replace("\n", " ").isprintable():
        raise _refused(f"the {what} is no text of at most {_LONGEST_TEXT} printable characters", where)
    return value


def _number(value: Any, what: str, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST_NUMBER:
        raise _refused(f"{what} is a {type(value).__name__}, expected a number of at most {_LARGEST_NUMBER:g}", where)
    return float(value)


def _refused(problem: str, where: str, remedy: str = "Export the file again") -> OsmellError:
    return OsmellError(problem, where=where, remedy=remedy)
