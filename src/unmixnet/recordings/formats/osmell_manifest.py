"""The parts of an `.osmell` file: its ZIP members, manifest.json and events.json, all checked."""

import stat
import zipfile
import zlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from unmixnet.errors import UnmixError
from unmixnet.files.canonical_json import ArtefactError, decode
from unmixnet.files.reading import open_file
from unmixnet.recordings.channels import UNKNOWN_UNIT, canonical_name, unit_spelling
from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.labels import parse_label
from unmixnet.recordings.recording import Mixture

__all__ = ["LARGEST", "OsmellError", "OsmellEvent", "OsmellManifest", "members", "read_events", "read_manifest"]

LARGEST = {"manifest.json": 1 << 20, "data.csv": 64 << 20, "events.json": 8 << 20}
"""Most bytes of each member, unpacked."""
_LARGEST_FILE = 64 << 20
_MOST_MEMBERS = 32
_CHUNK = 1 << 16
_COMPRESSION = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1


class OsmellError(ReadError):
    """An `.osmell` file that is damaged, incomplete or hostile."""

    def __init__(
        self,
        seen: str,
        *,
        file: str,
        expected: str = "a complete .osmell file of format 1.0",
        remedy: str = "Export the file again, or ask for another copy",
    ) -> None:
        super().__init__(Code.BAD_OSMELL, file=file, seen=seen, expected=expected, remedy=remedy)


def members(source: str | Path | bytes, file: str) -> dict[str, bytes]:
    """manifest.json, data.csv and, if there, events.json, unpacked."""
    try:
        raw = source if isinstance(source, bytes) else _file_bytes(Path(source))
        with zipfile.ZipFile(BytesIO(raw)) as archive:
            listed = archive.infolist()
            _check(listed, file)
            return {item.filename: _unpacked(archive, item, file) for item in listed if item.filename in LARGEST}
    except OSError as error:
        seen, remedy = error.strerror or str(error), "Check the path and the permissions"
        raise OsmellError(seen, file=file, expected="a readable file", remedy=remedy) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError) as error:
        raise OsmellError(f"not a valid ZIP file ({str(error)[:80] or type(error).__name__})", file=file) from None


def _file_bytes(path: Path) -> bytes:
    with open_file(path) as archive:
        raw = archive.read(_LARGEST_FILE + 1)
    if len(raw) > _LARGEST_FILE:
        size = f"more than {_LARGEST_FILE:,} bytes"
        raise OsmellError(size, file=str(path), expected="fewer", remedy="Export a shorter recording")
    return raw


def _check(listed: list[zipfile.ZipInfo], file: str) -> None:
    """Refuse an archive that holds too much, too little, or anything that is not a plain file with a plain name."""
    if len(listed) > _MOST_MEMBERS:
        raise OsmellError(f"{len(listed)} members", file=file, expected="two or three")
    names = [item.filename for item in listed]
    for item in listed:
        name = item.orig_filename
        if "\0" in name or "\\" in name or name.startswith("/") or ":" in name or ".." in name.split("/"):
            raise OsmellError(f"a member whose name points elsewhere ({name[:40]!r})", file=file)
        if names.count(item.filename) > 1:
            raise OsmellError(f"the member {name[:40]!r} is there twice", file=file)
        kind = stat.S_IFMT(item.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise OsmellError(f"the member {name[:40]!r} is a link or a device", file=file)
        if item.flag_bits & _ENCRYPTED or item.compress_type not in _COMPRESSION:
            raise OsmellError(f"the member {name[:40]!r} is encrypted, or compressed in an unusual way", file=file)
    for name in ("manifest.json", "data.csv"):
        if name not in names:
            raise OsmellError(f"no {name}", file=file)


def _unpacked(archive: zipfile.ZipFile, item: zipfile.ZipInfo, file: str) -> bytes:
    """One member; its stated size is not trusted, but one that is too large is refused at once."""
    most = LARGEST[item.filename]
    parts, size = [], item.file_size
    if size <= most:
        size = 0
        with archive.open(item) as member:
            while size <= most and (part := member.read(_CHUNK)):
                parts.append(part)
                size += len(part)
    if size > most:
        raise OsmellError(f"{item.filename} unpacks to more than {most:,} bytes", file=file)
    return b"".join(parts)


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


def read_manifest(raw: bytes, archive: str) -> OsmellManifest:
    """The manifest; a wrong type is refused with its place."""
    file = f"{archive}/manifest.json"
    whole = _object(_decoded(raw, file), "the manifest", file)
    version = _text(_part(whole, "osmell", file).get("formatVersion", "1.0.0"), "formatVersion", file)
    if not version.startswith("1."):
        raise OsmellError(
            f"format {version!r}", file=file, expected="1.x", remedy="Update unmixnet, or export the file as 1.0"
        )
    sensor, session, ours = (_part(whole, key, file) for key in ("sensor", "session", "unmixnet"))
    context = _columns(ours.get("context", []), file)
    columns = _columns(sensor.get("channels"), file) + context
    names = [canonical_name(name) for name, _ in columns]
    if not all(names) or len(set(names)) != len(names) or not columns:
        raise OsmellError("no channels, channels without a name, or two of the same name", file=file)
    written = tuple(name for name, _ in columns)
    time_column = _text(sensor.get("timeColumn", "timestamp_ms"), "timeColumn", file)
    return OsmellManifest(
        written=written,
        channels=tuple(names),
        units=tuple(unit for _, unit in columns),
        needed=len(columns) - len(context),
        time_column=time_column,
        time_unit="s" if time_column.lower() in _IN_SECONDS else "ms",
        device=_text(_part(sensor, "device", file).get("model") or "unknown device", "device model", file),
        label=_label(ours.get("label"), session.get("label"), file),
    )


def read_events(raw: bytes | None, archive: str) -> tuple[OsmellEvent, ...]:
    """The events; none if the file has none."""
    if raw is None:
        return ()
    file = f"{archive}/events.json"
    entries = _decoded(raw, file)
    if not isinstance(entries, list) or len(entries) > _MOST_EVENTS:
        raise OsmellError("no list of events", file=file, expected=f"a list of at most {_MOST_EVENTS:,} events")
    return tuple(_event(_object(entry, "an event", file), file) for entry in entries)


def _event(entry: dict[str, Any], file: str) -> OsmellEvent:
    end, note = entry.get("endMs"), entry.get("note")
    return OsmellEvent(
        _text(entry.get("label"), "label of an event", file),
        _number(entry.get("startMs"), "startMs", file) / 1000,
        None if end is None else _number(end, "endMs", file) / 1000,
        None if note is None else _text(note, "note of an event", file),
    )


def _columns(entries: Any, file: str) -> list[tuple[str, str]]:
    """Name and unit of every channel."""
    if not isinstance(entries, list) or len(entries) > _MOST_CHANNELS:
        raise OsmellError("no list of channels", file=file, expected=f"a list of at most {_MOST_CHANNELS} channels")
    columns = []
    for entry in entries:
        fields = _object(entry, "a channel", file)
        name = _text(fields.get("id"), "id of a channel", file)
        unit = _text(fields.get("unit") or "", "unit of a channel", file).strip()
        columns.append((name, unit_spelling(unit, name) or UNKNOWN_UNIT))
    return columns


def _label(exact: Any, text: Any, file: str) -> Mixture | None:
    """Our exact label if it is there, else the one in the text."""
    if exact is not None:
        fields = _object(exact, "the label", file)
        try:
            names = tuple(_text(name, "label", file) for name in fields["names"])
            ratios = tuple(_number(ratio, "ratio", file) for ratio in fields["ratios"])
            return Mixture(names, ratios, _number(fields.get("raw_sum", 1), "raw_sum", file))
        except OsmellError:
            raise
        except (UnmixError, KeyError, TypeError, ValueError) as error:
            raise OsmellError(f"a label that is not a mixture ({str(error)[:80]})", file=file) from None
    return parse_label(_text(text, "label", file)) if text else None


def _decoded(raw: bytes, file: str) -> Any:
    try:
        return decode(raw, file)
    except ArtefactError as error:
        raise OsmellError(f"not valid JSON ({error.problem})", file=file) from None


def _part(whole: dict[str, Any], key: str, file: str) -> dict[str, Any]:
    """A part of the manifest; an absent one is empty."""
    value = whole.get(key)
    return {} if value is None else _object(value, key, file)


def _object(value: Any, what: str, file: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise OsmellError(f"{what} is a {type(value).__name__}", file=file, expected="an object")
    return value


def _text(value: Any, what: str, file: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT or not value.replace("\n", " ").isprintable():
        raise OsmellError(
            f"the {what} is not text, too long or not printable",
            file=file,
            expected=f"at most {_LONGEST_TEXT} printable characters",
        )
    return value


def _number(value: Any, what: str, file: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST_NUMBER:
        raise OsmellError(
            f"{what} is a {type(value).__name__}", file=file, expected=f"a number of at most {_LARGEST_NUMBER:g}"
        )
    return float(value)
