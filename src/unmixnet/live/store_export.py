"""A span of a session as CSV, Parquet or `.osmell`.

CSV and Parquet are made a few thousand rows at a time, however long the session was. The CSV names its units in the
header, so that `unmixnet unmix` and `unmixnet check` read it.
"""

import csv
import json
import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from io import StringIO
from itertools import islice
from pathlib import Path

from unmixnet.files.replacement import replacing
from unmixnet.live.sample import Sample
from unmixnet.live.store import Store
from unmixnet.live.store_file import units_of

__all__ = ["csv_chunks", "export_parquet", "recording_osmell"]

_ROWS_AT_ONCE = 4096


def csv_chunks(store: Store, session: int, start_s: float = -math.inf, end_s: float = math.inf) -> Iterator[bytes]:
    """The bytes of a CSV file, piece by piece: `time_s` of the session, then one column per channel."""
    known = store.session(session)
    names = [f"{name} [{unit}]" for name, unit in zip(known.channels, units_of(known), strict=True)]
    yield _csv([["time_s", *names]])
    for samples in _batches(store.samples(session, start_s, end_s)):
        yield _csv([[_number(sample.time_s), *map(_number, sample.values)] for sample in samples])


def export_parquet(
    store: Store, path: str | Path, session: int, start_s: float = -math.inf, end_s: float = math.inf
) -> Path:
    """Write a Parquet file: `time_s` and one column per channel, float64; units and source are in the metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    known = store.session(session)
    fields = [pa.field("time_s", pa.float64(), metadata={"unit": "s"})]
    fields += [
        pa.field(n, pa.float64(), metadata={"unit": u}) for n, u in zip(known.channels, units_of(known), strict=True)
    ]
    about = {"source": known.source, "started": known.started, "channels": json.dumps(known.channels)}
    schema = pa.schema(fields, metadata=about)
    with replacing(path) as part, pq.ParquetWriter(part, schema) as writer:
        for samples in _batches(store.samples(session, start_s, end_s)):
            columns = zip(*((sample.time_s, *sample.values) for sample in samples), strict=True)
            writer.write_batch(pa.record_batch([pa.array(column, pa.float64()) for column in columns], schema=schema))
    return Path(path)


def recording_osmell(store: Store, recording: int) -> bytes:
    """The bytes of an `.osmell` file of one recording, with the events of its span."""
    from unmixnet.recordings.formats.osmell import OsmellEvent, osmell_bytes

    span = store.span(recording)
    first = next(store.samples(span.session, span.start_s, span.end_s), None)
    start_s = first.time_s if first else span.start_s
    events = [
        OsmellEvent(event.kind, max(event.time_s - start_s, 0.0), note=event.text or None)
        for event in store.events(span.session, span.start_s, span.end_s)
    ]
    began = datetime.fromisoformat(store.session(span.session).started) + timedelta(seconds=start_s)
    return osmell_bytes(store.recording(recording), events, recorded=began, notes=span.name or None)


def _batches(samples: Iterator[Sample]) -> Iterator[list[Sample]]:
    while batch := list(islice(samples, _ROWS_AT_ONCE)):
        yield batch


def _csv(rows: list[list[str]]) -> bytes:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _number(value: float) -> str:
    """The shortest text that reads back as the same number; none where there is no reading."""
    if math.isnan(value):
        return ""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
