"""`.osmell` files of the OpenSmell project, format 1.0: a ZIP of manifest.json, data.csv and, perhaps, events.json.

    manifest.json   {"osmell": {"formatVersion"}, "sensor": {"channels": [{"id", "unit"}], "timeColumn", …}, "session"}
    data.csv        the time column, then one column per channel
    events.json     [{"label", "startMs", "endMs"?, "note"?}]

The format knows a label as text only, and its reference reader leaves out columns that it takes for context, such as
the temperature. The exact mixture and the units of such columns are in the further key "unmixnet", which other
programs keep or ignore.
"""

import csv
import json
import math
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from unmixnet.recordings.formats.format import FileContent, Format
from unmixnet.recordings.formats.osmell_manifest import (
    LARGEST,
    OsmellError,
    OsmellEvent,
    OsmellManifest,
    members,
    read_events,
    read_manifest,
)
from unmixnet.recordings.formats.plain_csv import read_plain
from unmixnet.recordings.formats.sidecar import Sidecar
from unmixnet.recordings.formats.table import find_header
from unmixnet.recordings.formats.text import decode
from unmixnet.recordings.recording import Mixture, Recording

__all__ = ["OSMELL", "OsmellError", "OsmellEvent", "OsmellFile", "osmell_bytes", "read_osmell"]

_VERSION = "1.0.0"
_TIME = "timestamp_ms"
_CONTEXT = ("temperature", "pressure", "humidity", "gas_res", "resistance", "altitude")
"""Parts of names by which OpenSmell's readers know columns that are no sensors."""


@dataclass(frozen=True, eq=False)
class OsmellFile:
    """What an `.osmell` file holds: the readings, and what happened meanwhile."""

    recording: Recording
    events: tuple[OsmellEvent, ...] = ()


def read_osmell(source: str | Path | bytes, *, place: str | None = None) -> OsmellFile:
    """Read a file, or the bytes of one; what is damaged or hostile is refused with a `ReadError`.

    Arguments:
        source: the file, or what it holds.
        place: what to store as `Recording.path`; None stores the path.
    """
    file = (place or "recording.osmell") if isinstance(source, bytes) else str(source)
    parts = members(source, file)
    manifest = read_manifest(parts["manifest.json"], file)
    text = decode(parts["data.csv"], f"{file}/data.csv")
    header = find_header(text)
    if header is None:
        raise OsmellError("no header in data.csv", file=file)
    _check_columns(header.names, manifest, file)
    stated = zip(manifest.written, manifest.channels, manifest.units, strict=True)
    sidecar = Sidecar(
        device=manifest.device,
        label=manifest.label,
        time_column=manifest.time_column,
        time_unit=manifest.time_unit,
        units={channel: unit for written, channel, unit in stated if written in header.names},
    )
    recording = read_plain(text, header, place or file, sidecar)
    return OsmellFile(recording, read_events(parts.get("events.json"), file))


def _recognises(content: FileContent) -> bool:
    """True for a ZIP file whose first members include one of the format; their names are not compressed."""
    is_zip = content.head.startswith(b"PK\x03\x04")
    return is_zip and any(name.encode() in content.head for name in LARGEST)


OSMELL = Format(
    "osmell", (".osmell",), _recognises, lambda content: read_osmell(content.path, place=content.place).recording
)


def osmell_bytes(
    recording: Recording,
    events: Sequence[OsmellEvent] = (),
    *,
    recorded: datetime | None = None,
    notes: str | None = None,
) -> bytes:
    """The bytes of an `.osmell` file.

    Arguments:
        recording: its time becomes milliseconds.
        events: what happened meanwhile, in the time of the recording.
        recorded: when it began.
        notes: a sentence for people.
    """
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", compression=zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", _json(_manifest(recording, recorded, notes)))
        archive.writestr("data.csv", _table(recording))
        archive.writestr("events.json", _json([event.to_json() for event in events]))
    return buffer.getvalue()


def _manifest(recording: Recording, recorded: datetime | None, notes: str | None) -> dict[str, Any]:
    from unmixnet import __version__

    columns = [{"id": n, "unit": u} for n, u in zip(recording.channels, recording.units, strict=True)]
    session = {
        "role": "single",
        "label": _label_text(recording.label),
        "recordedAt": recorded.isoformat() if recorded else None,
        "durationMs": round(1000 * recording.duration_s),
        "notes": notes,
    }
    return {
        "osmell": {"formatVersion": _VERSION},
        "sensor": {
            "sensorType": "mox",
            "channels": [column for column in columns if not _is_context(column["id"])],
            "device": {"model": recording.device},
            "samplingRateHz": recording.sample_rate_Hz,
            "timeColumn": _TIME,
        },
        "session": {key: value for key, value in session.items() if value is not None},
        "software": {"name": "unmixnet", "version": __version__},
        "unmixnet": {
            "context": [column for column in columns if _is_context(column["id"])],
            "label": _label_parts(recording.label),
        },
    }


def _table(recording: Recording) -> str:
    """data.csv; a reading that is not there is an empty field."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_TIME, *recording.channels])
    for time_s, readings in zip(recording.time_s.tolist(), recording.readings.tolist(), strict=True):
        # a millionth of a millisecond: enough for any clock, and 0.3 s is 300.0
        writer.writerow([round(1000 * time_s, 6), *("" if math.isnan(value) else value for value in readings)])
    return text.getvalue()


def _check_columns(names: tuple[str, ...], manifest: OsmellManifest, file: str) -> None:
    missing = [name for name in (manifest.time_column, *manifest.written[: manifest.needed]) if name not in names]
    if missing:
        raise OsmellError(
            f"no column {missing[0][:40]!r} in data.csv", file=file, expected="the columns of the manifest"
        )


def _is_context(name: str) -> bool:
    return any(part in name.lower() for part in _CONTEXT)


def _label_text(label: Mixture | None) -> str | None:
    """A label that people and `parse_label` read: `mango:20 + strawberry:80`."""
    if label is None:
        return None
    if len(label.names) == 1:
        return label.names[0]
    return " + ".join(f"{n}:{100 * r:.6g}" for n, r in zip(label.names, label.ratios, strict=True))


def _label_parts(label: Mixture | None) -> dict[str, Any] | None:
    return None if label is None else {"names": label.names, "ratios": label.ratios, "raw_sum": label.raw_sum}


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
