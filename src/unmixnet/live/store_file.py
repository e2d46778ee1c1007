"""The SQLite file behind the store: its tables, how it is opened, and one transaction at a time."""

import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from unmixnet.errors import UnmixError
from unmixnet.recordings.channels import BASE_CHANNELS
from unmixnet.recordings.recording import Mixture, Recording

if TYPE_CHECKING:
    from unmixnet.live.sample import Sample

__all__ = [
    "Event",
    "NamedSpan",
    "StoreError",
    "StoreFile",
    "StoredCalibration",
    "StoredSession",
    "label_of",
    "label_text",
    "recording_of",
    "session_of",
    "store_error",
    "units_of",
]

_APPLICATION = 0x756E6D78
"""Marks the file as ours ("unmx"), so that another program's database is never written to."""
_VERSION = 1
_SCHEMA = """
CREATE TABLE session(
    id INTEGER PRIMARY KEY, source TEXT NOT NULL, channels TEXT NOT NULL, unit TEXT NOT NULL, started TEXT NOT NULL);
CREATE TABLE sample(
    session INTEGER NOT NULL REFERENCES session(id), time_s REAL NOT NULL, row INTEGER NOT NULL, "values" BLOB NOT NULL,
    PRIMARY KEY (session, time_s, row)) WITHOUT ROWID;
CREATE TABLE rejected(
    session INTEGER NOT NULL REFERENCES session(id), reason TEXT NOT NULL, count INTEGER NOT NULL, last TEXT NOT NULL,
    PRIMARY KEY (session, reason)) WITHOUT ROWID;
CREATE TABLE event(
    id INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES session(id), time_s REAL NOT NULL,
    kind TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX event_time ON event(session, time_s);
CREATE TABLE recording(
    id INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES session(id), start_s REAL NOT NULL,
    end_s REAL NOT NULL, name TEXT NOT NULL, label TEXT, date TEXT NOT NULL);
CREATE TABLE calibration(
    id INTEGER PRIMARY KEY, date TEXT NOT NULL, device TEXT NOT NULL, text TEXT NOT NULL,
    undone INTEGER NOT NULL DEFAULT 0);
"""


class StoreError(UnmixError):
    """A store that cannot be opened, read or written, or that does not hold what was requested."""


def store_error(problem: str, path: Path, remedy: str) -> StoreError:
    """A `StoreError` that names the file of the store."""
    return StoreError(problem, where=str(path), remedy=remedy)


class StoreFile:
    """An open SQLite file in WAL mode; every write is on the disk before it returns."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.path, self._connection, self._lock = path, connection, threading.RLock()

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a store, or make one where there is no file; refuses a file that is something else."""
        path = Path(path)
        with _store_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            # autocommit: transactions are begun and ended here, by name
            connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=10)
            try:
                _prepare(connection, path)
            except BaseException:
                connection.close()
                raise
        return cls(connection, path)

    def close(self) -> None:
        """Close the file; every acknowledged row is there already."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def check(self) -> str:
        """Result of SQLite's integrity check: "ok", or the first fault."""
        return self._read("PRAGMA integrity_check(1)")[0][0]

    def _read(self, query: str, values: Sequence[Any] = ()) -> list[tuple]:
        with self._lock, _store_errors(self.path):
            return self._connection.execute(query, values).fetchall()

    def _write(self, query: str, values: Sequence[Any] = ()) -> int:
        """One statement in a transaction of its own; returns the number of the new row."""
        with self._writing() as connection:
            return int(connection.execute(query, values).lastrowid or 0)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it, or none."""
        with self._lock, _store_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.rollback()
                raise


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables of a new file, check those of an old one, and make commits durable."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and application != _APPLICATION:
        raise store_error("a database of another program", path, "Name another file with --store")
    if tables and version != _VERSION:
        raise store_error(f"a store of version {version}, this is version {_VERSION}", path, "Update unmixnet")
    connection.execute("PRAGMA journal_mode = WAL")
    # with NORMAL the last commits before a loss of power could be lost; FULL syncs the log at every commit
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    if not tables:
        marks = f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_VERSION};"
        connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} {marks} COMMIT;")


@contextmanager
def _store_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the file system into a `StoreError`."""
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, OSError) as error:
        text = str(error)
        remedy = "Check the space on the disk and the permissions, or name another file with --store"
        if "locked" in text:
            remedy = "Close the other unmixnet that uses this store, or name another file with --store"
        raise store_error(f"the store cannot be used ({text})", path, remedy) from None


@dataclass(frozen=True)
class StoredSession:
    """One source with fixed channels, from one start to its end.

    Arguments:
        id: its number.
        source: name of the source, taken as the device of its recordings.
        channels: names of the channels.
        unit: of the readings.
        started: date and time of its start, ISO 8601 in UTC.
    """

    id: int
    source: str
    channels: tuple[str, ...]
    unit: str
    started: str


@dataclass(frozen=True)
class Event:
    """A mark in a session: set by a person, or what happened to the source."""

    id: int
    session: int
    time_s: float
    kind: str
    text: str


@dataclass(frozen=True)
class NamedSpan:
    """A named span of a session, `start_s` to `end_s` of its time, with what was in front of the sensors if known."""

    id: int
    session: int
    start_s: float
    end_s: float
    name: str
    label: Mixture | None
    date: str


@dataclass(frozen=True)
class StoredCalibration:
    """A stored session calibration: when and for which device it was made, JSON text, and whether it was undone."""

    id: int
    date: str
    device: str
    text: str
    undone: bool


def session_of(row: Sequence) -> StoredSession:
    """A session from its row."""
    return StoredSession(row[0], row[1], tuple(json.loads(row[2])), row[3], row[4])


def units_of(session: StoredSession) -> tuple[str, ...]:
    """One unit per channel: that of the session, but a board does not print the air's temperature in counts."""
    if session.unit != "counts":
        return (session.unit,) * len(session.channels)
    return tuple(BASE_CHANNELS.get(name, session.unit) for name in session.channels)


def label_text(label: Mixture | None) -> str | None:
    """A label as JSON, exactly: {"names": [...], "ratios": [...], "raw_sum": 100}."""
    if label is None:
        return None
    return json.dumps({"names": label.names, "ratios": label.ratios, "raw_sum": label.raw_sum})


def label_of(text: str | None) -> Mixture | None:
    """The label that `label_text` wrote."""
    if text is None:
        return None
    fields = json.loads(text)
    return Mixture(tuple(fields["names"]), tuple(fields["ratios"]), fields["raw_sum"])


def recording_of(session: StoredSession, samples: Sequence["Sample"], span: NamedSpan) -> Recording:
    """A recording of at least one sample; its time starts at zero, its rate is one over the median step."""
    from unmixnet.recordings.health import judge

    time_s = np.array([sample.time_s for sample in samples]) - samples[0].time_s
    readings = np.array([sample.values for sample in samples])
    units = units_of(session)
    checkup = judge(readings, session.channels, units)
    step = np.diff(time_s)
    usual = float(np.median(step[step > 0])) if np.any(step > 0) else 1.0
    return Recording(
        time_s=time_s,
        readings=checkup.readings,
        channels=session.channels,
        units=units,
        sample_rate_Hz=1 / usual,
        device=session.source,
        path=span.name,
        label=span.label,
        health=checkup.health,
        warnings=checkup.findings,
    )
