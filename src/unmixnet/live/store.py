"""The store: sessions, samples, events, recordings and calibrations in one SQLite file.

A row is acknowledged when `append` returns, and then outlives `kill -9` and a loss of power. Every call is one
transaction; a store may be used from several threads, whose calls wait for each other.
"""

import json
import math
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from unmixnet.live.sample import Rejected, Sample
from unmixnet.live.store_file import (
    Event,
    NamedSpan,
    StoredCalibration,
    StoredSession,
    StoreError,
    StoreFile,
    label_of,
    label_text,
    recording_of,
    session_of,
    store_error,
)
from unmixnet.recordings.recording import Mixture, Recording

__all__ = ["Event", "NamedSpan", "Store", "StoreError", "StoredCalibration", "StoredSession"]

_ROWS_AT_ONCE = 4096
_PAGE = """SELECT time_s, row, "values" FROM sample
    WHERE session = ? AND (time_s, row) > (?, ?) AND time_s <= ? ORDER BY time_s, row LIMIT ?"""
_LAST = "SELECT time_s, row FROM sample WHERE session = ? ORDER BY time_s DESC, row DESC LIMIT 1"
_REJECT = """INSERT INTO rejected VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET count = count + excluded.count, last = excluded.last"""


@dataclass
class _Open:
    """A session that rows are added to: how they are packed, the number of the next and the time of the last."""

    session: StoredSession
    layout: struct.Struct = field(init=False)
    row: int = 0
    time_s: float = -math.inf

    def __post_init__(self) -> None:
        self.layout = struct.Struct(f"<{len(self.session.channels)}d")


class Store(StoreFile):
    """Everything that was recorded; open it with `Store.open(path)`."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        super().__init__(connection, path)
        self._open: dict[int, _Open] = {}

    # ---------------------------------------------------------------- sessions and samples

    def start_session(self, source: str, channels: Sequence[str], unit: str) -> int:
        """Begin a session and give its number."""
        names = tuple(channels)
        if not names or len(set(names)) != len(names):
            raise store_error(f"the channels {list(names)[:8]}", self.path, "Give every channel a name of its own")
        query = "INSERT INTO session(source, channels, unit, started) VALUES (?, ?, ?, ?)"
        return self._write(query, (source, json.dumps(names), unit, _now()))

    def append(self, session: int, samples: Sequence[Sample], rejected: Sequence[Rejected] = ()) -> int:
        """Keep samples and count rejected lines, all or none; gives the number of samples once they are on the disk."""
        with self._lock:
            known = self._of(session)
            rows = [(session, s.time_s, known.row + i, self._packed(s, known)) for i, s in enumerate(samples)]
            times = [known.time_s, *(sample.time_s for sample in samples)]
            if any(not earlier <= later for earlier, later in pairwise(times)):
                raise store_error("samples whose time goes back", self.path, "Start a new session")
            with self._writing() as connection:
                connection.executemany("INSERT INTO sample VALUES (?, ?, ?, ?)", rows)
                connection.executemany(_REJECT, [(session, bad.reason, bad.count, bad.line) for bad in rejected])
            known.row, known.time_s = known.row + len(rows), times[-1]
            return len(rows)

    def sessions(self) -> list[StoredSession]:
        """All sessions, oldest first."""
        return [session_of(row) for row in self._read("SELECT * FROM session ORDER BY id")]

    def session(self, session: int) -> StoredSession:
        """One session by its number."""
        return self._of(session).session

    def count(self, session: int) -> int:
        """How many samples a session has."""
        self._of(session)
        last = self._read(_LAST, (session,))
        return last[0][1] + 1 if last else 0

    def rejected(self, session: int) -> dict[str, int]:
        """How many lines were rejected, by reason."""
        return dict(self._read("SELECT reason, count FROM rejected WHERE session = ? ORDER BY reason", (session,)))

    def samples(self, session: int, start_s: float = -math.inf, end_s: float = math.inf) -> Iterator[Sample]:
        """Samples from start to end, both included; a few thousand are in memory at a time."""
        unpack = self._of(session).layout.unpack
        time_s, row = start_s, -1
        while True:
            rows = self._read(_PAGE, (session, time_s, row, end_s, _ROWS_AT_ONCE))
            yield from (Sample(at, unpack(values)) for at, _, values in rows)
            if len(rows) < _ROWS_AT_ONCE:
                return
            time_s, row, _ = rows[-1]

    # ---------------------------------------------------------------- events

    def add_event(self, session: int, time_s: float, kind: str, text: str) -> int:
        """Mark a moment of a session."""
        self._of(session)
        query = "INSERT INTO event(session, time_s, kind, text) VALUES (?, ?, ?, ?)"
        return self._write(query, (session, float(time_s), kind, text))

    def events(self, session: int, start_s: float = -math.inf, end_s: float = math.inf) -> list[Event]:
        """Events of a session from start to end, in their order."""
        query = "SELECT * FROM event WHERE session = ? AND time_s BETWEEN ? AND ? ORDER BY time_s, id"
        return [Event(*row) for row in self._read(query, (session, start_s, end_s))]

    # ---------------------------------------------------------------- recordings

    def add_recording(self, session: int, start_s: float, end_s: float, name: str, label: Mixture | None = None) -> int:
        """Name a span of a session, both ends included."""
        self._of(session)
        if not (math.isfinite(start_s) and math.isfinite(end_s) and start_s <= end_s):
            raise store_error(f"a recording from {start_s} s to {end_s} s", self.path, "Let it end after its start")
        query = "INSERT INTO recording(session, start_s, end_s, name, label, date) VALUES (?, ?, ?, ?, ?, ?)"
        return self._write(query, (session, start_s, end_s, name, label_text(label), _now()))

    def remove_recording(self, recording: int) -> None:
        """Forget the name of a span; its samples stay in the session."""
        self.span(recording)
        self._write("DELETE FROM recording WHERE id = ?", (recording,))

    def recordings(self) -> list[NamedSpan]:
        """All named spans, oldest first."""
        return [_span_of(row) for row in self._read("SELECT * FROM recording ORDER BY id")]

    def span(self, recording: int) -> NamedSpan:
        """One named span by its number."""
        rows = self._read("SELECT * FROM recording WHERE id = ?", (recording,))
        if not rows:
            raise store_error(f"no recording {recording}", self.path, "Choose one of the list of recordings")
        return _span_of(rows[0])

    def recording(self, recording: int) -> Recording:
        """The readings of a named span, as if they had been read from a file; time starts at zero."""
        span = self.span(recording)
        samples = list(self.samples(span.session, span.start_s, span.end_s))
        if not samples:
            raise store_error(f"recording {recording} has no samples", self.path, "Record it again")
        return recording_of(self.session(span.session), samples, span)

    # ---------------------------------------------------------------- calibrations

    def add_calibration(self, device: str, text: str) -> int:
        """Keep a session calibration (JSON text); it is now the active one of its device."""
        return self._write("INSERT INTO calibration(date, device, text) VALUES (?, ?, ?)", (_now(), device, text))

    def calibration(self, device: str) -> StoredCalibration | None:
        """The active calibration of a device: the newest that was not undone."""
        active = [stored for stored in self.calibrations() if stored.device == device and not stored.undone]
        return active[-1] if active else None

    def undo_calibration(self, device: str) -> StoredCalibration | None:
        """Undo the active calibration of a device; gives the one that is active now."""
        active = self.calibration(device)
        if active is not None:
            self._write("UPDATE calibration SET undone = 1 WHERE id = ?", (active.id,))
        return self.calibration(device)

    def calibrations(self) -> list[StoredCalibration]:
        """All calibrations, oldest first, the undone ones too."""
        rows = self._read("SELECT id, date, device, text, undone FROM calibration ORDER BY id")
        return [StoredCalibration(*row[:4], undone=bool(row[4])) for row in rows]

    # ---------------------------------------------------------------- inside

    def _of(self, session: int) -> _Open:
        with self._lock:
            if session not in self._open:
                rows = self._read("SELECT * FROM session WHERE id = ?", (session,))
                if not rows:
                    raise store_error(f"no session {session}", self.path, "Start a session first")
                known = _Open(session_of(rows[0]))
                for time_s, row in self._read(_LAST, (session,)):
                    known.time_s, known.row = time_s, row + 1
                self._open[session] = known
            return self._open[session]

    def _packed(self, sample: Sample, known: _Open) -> bytes:
        if len(sample.values) != len(known.session.channels) or not math.isfinite(sample.time_s):
            raise store_error(
                f"{len(sample.values)} readings at {sample.time_s} s for {len(known.session.channels)} channels",
                self.path,
                "Start a new session when the channels change",
            )
        return known.layout.pack(*sample.values)


def _span_of(row: Sequence) -> NamedSpan:
    return NamedSpan(*row[:5], label=label_of(row[5]), date=row[6])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
