"""The manifest of an output folder: which file, by its content, is answered in which part. A SQLite file.

A part counts when the manifest names it, and it is named in one transaction with its files and its errors. Parts that
the manifest does not name were left by a run that was killed, and are removed.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from unmixnet.errors import ConfigError, UnmixError
from unmixnet.inference.archive.inputs import ErrorRow, Input, Unit
from unmixnet.inference.archive.task import UnitResult

__all__ = ["MANIFEST", "ArchiveManifest", "Totals"]

MANIFEST = "manifest.sqlite"
_VERSION = "1"
_SCHEMA = """
CREATE TABLE about(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE part(name TEXT PRIMARY KEY, windows INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE input(
    place TEXT PRIMARY KEY, sha256 TEXT NOT NULL, size INTEGER NOT NULL, part TEXT NOT NULL, windows INTEGER NOT NULL)
    WITHOUT ROWID;
CREATE INDEX input_part ON input(part);
CREATE TABLE error(place TEXT NOT NULL, line INTEGER, kind TEXT NOT NULL, reason TEXT NOT NULL);
CREATE INDEX error_place ON error(place);
"""


@dataclass(frozen=True)
class Totals:
    """What an output folder holds."""

    files: int
    windows: int
    refused: int
    jumps: int
    size: int


class ArchiveManifest:
    """An open manifest; every change is on the disk before its method returns."""

    def __init__(self, connection: sqlite3.Connection, folder: Path) -> None:
        self._connection, self.folder = connection, folder

    @classmethod
    def open(cls, folder: Path, model: str, digest: str) -> Self:
        """Open or create it; refused while another run uses the folder, or if it holds another model's answers."""
        with _refusing(folder):
            connection = sqlite3.connect(folder / MANIFEST, isolation_level=None, timeout=0)
            # held until the end, so that two runs never share a folder; the system releases it if a run is killed
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN EXCLUSIVE")
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                for statement in _SCHEMA.split(";"):
                    connection.execute(statement)
                about = {"version": _VERSION, "model": model, "digest": digest}
                connection.executemany("INSERT INTO about VALUES (?, ?)", about.items())
            connection.execute("COMMIT")
            connection.execute("CREATE TEMP TABLE seen(place TEXT PRIMARY KEY) WITHOUT ROWID")
        made = cls(connection, folder)
        made._check(model, digest)
        return made

    def close(self) -> None:
        """Release the folder."""
        self._connection.close()

    def holds(self, file: Input) -> bool:
        """Whether this content is answered already; marks the file as seen."""
        self._read("INSERT OR IGNORE INTO temp.seen VALUES (?)", file.place)
        rows = self._read("SELECT sha256 FROM input WHERE place = ?", file.place)
        return bool(rows) and rows[0][0] == file.sha256 != ""

    def part_of(self, place: str) -> str | None:
        """The part that holds the answers of a file; "" if it has none, None if the file is not known."""
        rows = self._read("SELECT part FROM input WHERE place = ?", place)
        return rows[0][0] if rows else None

    def parts(self) -> Iterator[str]:
        """Names of the parts that count."""
        return (name for (name,) in self._read("SELECT name FROM part"))

    def has_part(self, name: str) -> bool:
        """Whether a part counts."""
        return bool(self._read("SELECT 1 FROM part WHERE name = ?", name))

    def add(self, unit: Unit, part: str, done: UnitResult) -> None:
        """Record a finished task: its part, its files and its errors, in one transaction."""
        inputs = zip(unit.inputs, done.windows, strict=True)
        with self._writing() as connection:
            if part:
                connection.execute("INSERT OR REPLACE INTO part VALUES (?, ?)", (part, sum(done.windows)))
            rows = [(file.place, file.sha256, file.size, part if n else "", n) for file, n in inputs]
            connection.executemany("INSERT OR REPLACE INTO input VALUES (?, ?, ?, ?, ?)", rows)
            connection.executemany("DELETE FROM error WHERE place = ?", [(file.place,) for file in unit.inputs])
            errors = [(t.file, t.line, t.kind, t.reason) for t in done.errors]
            connection.executemany("INSERT INTO error VALUES (?, ?, ?, ?)", errors)

    def forget(self, place: str, old: str, new: str, windows: int) -> None:
        """Forget a file: its part `old` was rewritten as `new` without it ("": nothing is left)."""
        with self._writing() as connection:
            connection.execute("DELETE FROM input WHERE place = ?", (place,))
            connection.execute("DELETE FROM error WHERE place = ?", (place,))
            if old:
                connection.execute("DELETE FROM part WHERE name = ?", (old,))
                connection.execute("UPDATE input SET part = ? WHERE part = ?", (new, old))
            if new:
                connection.execute("INSERT OR REPLACE INTO part VALUES (?, ?)", (new, windows))

    def lose(self, part: str) -> None:
        """Forget a part that is gone from the disk, so that its files are answered again."""
        with self._writing() as connection:
            connection.execute("DELETE FROM error WHERE place IN (SELECT place FROM input WHERE part = ?)", (part,))
            connection.execute("DELETE FROM input WHERE part = ?", (part,))
            connection.execute("DELETE FROM part WHERE name = ?", (part,))

    def leave_gone(self) -> None:
        """Forget the errors of refused files that have left the archive since; answers stay."""
        gone = "SELECT place FROM input WHERE windows = 0 AND place NOT IN (SELECT place FROM temp.seen)"
        with self._writing() as connection:
            connection.execute(f"DELETE FROM error WHERE place IN ({gone})")
            connection.execute(f"DELETE FROM input WHERE place IN ({gone})")

    def errors(self) -> Iterator[ErrorRow]:
        """Rows of the errors table, by file and line; read lazily."""
        cursor = self._connection.execute("SELECT place, line, kind, reason FROM error ORDER BY place, line")
        return (ErrorRow(*row) for row in cursor)

    def totals(self) -> Totals:
        """Counts over everything that is answered."""
        files, windows, size = self._read("SELECT count(*), total(windows), total(size) FROM input")[0]
        kinds = dict(self._read("SELECT kind, count(*) FROM error GROUP BY kind"))
        return Totals(files, int(windows), kinds.get("refused", 0), kinds.get("jump", 0), int(size))

    def _check(self, model: str, digest: str) -> None:
        known = dict(self._read("SELECT name, value FROM about"))
        if known.get("version") != _VERSION or known.get("digest") != digest:
            self.close()
            raise ConfigError(
                f"this folder holds answers of {known.get('model')} {known.get('digest', '')[:12]}, "
                f"not of {model} {digest[:12]}",
                where=str(self.folder),
                remedy="Name another output folder",
            )

    def _read(self, query: str, *values: object) -> list[tuple]:
        with _refusing(self.folder):
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with _refusing(self.folder):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise


@contextmanager
def _refusing(folder: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        text, remedy = str(error), "Check the permissions of the folder, or name another one"
        if "locked" in text:
            text, remedy = "another run is writing into it", "Wait for it, or name another output folder"
        elif "full" in text:
            text, remedy = "the disk is full", "Make room and run the same command again: it goes on where it stopped"
        elif "not a database" in text or "malformed" in text:
            remedy = f"Remove {MANIFEST} and the parts, or name another folder"
        raise UnmixError(text, where=str(folder), remedy=remedy) from None
