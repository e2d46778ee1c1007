"""Codes of the reader, each with its meaning, and the error that carries one: where, what was seen, what to try."""

from enum import StrEnum
from typing import Literal

from unmixnet.errors import UnmixError

__all__ = ["ChannelHealth", "Code", "ReadError", "Severity", "markdown"]

Severity = Literal["note", "warning", "refusal"]


class ChannelHealth(StrEnum):
    """Health of one channel of one recording; `.meaning` says it in words."""

    meaning: str

    def __new__(cls, value: str, meaning: str) -> "ChannelHealth":
        """Attach the meaning to the code."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member

    OK = "ok", "the readings vary as those of a working sensor do"
    SENTINEL = "sentinel", "the firmware wrote an error value (4294967295, -1 as an unsigned number); now NaN"
    STUCK = "stuck", "the same value from first to last row: a loose wire, or nothing to sense"
    SATURATED = "saturated", "at least 5 % of the readings sit on the end of the converter's range"
    DEAD = "dead", "the chip did not answer: its registers read as known power-on constants"
    MISSING = "missing", "more than 10 % of the readings are absent (NaN)"
    UNIT_UNKNOWN = "unit_unknown", "nothing says in which unit the numbers are; give it in a sidecar file"


class Code(StrEnum):
    """What the reader found in a file; `.severity` says whether it could still be read.

    A *refusal* yields no recording. A *warning* is a defect that was worked around, and the finding says how.
    A *note* is a property of the file that a reader of results should know.
    """

    severity: Severity
    meaning: str

    def __new__(cls, value: str, severity: Severity, meaning: str) -> "Code":
        """Attach severity and meaning to the code."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.severity, member.meaning = severity, meaning
        return member

    # The file as a whole.
    NO_FILE = "no-file", "refusal", "there is no such file, it may not be opened, or it is a folder, pipe or device"
    EMPTY = "empty", "refusal", "the file has no bytes, or nothing but blank lines"
    TOO_LARGE = "too-large", "refusal", "more text than is read into memory"
    LFS_POINTER = "lfs-pointer", "refusal", "a Git LFS pointer stands in place of the data"
    NOT_TEXT = "not-text", "refusal", "the bytes are not text in any encoding the reader knows"
    NUL_BYTES = "nul-bytes", "refusal", "NUL bytes inside the text: a block was never written to the card"
    UNKNOWN_FORMAT = (
        "unknown-format",
        "refusal",
        "neither header nor lines are of a format the reader knows",
    )
    BAD_SIDECAR = "bad-sidecar", "refusal", "the TOML file beside the recording is not understood"
    BAD_OSMELL = "bad-osmell", "refusal", "an .osmell file that is damaged, incomplete or hostile"
    BAD_TABLE = "bad-table", "refusal", "a Parquet table that cannot be opened, or lacks a column"

    # Header and rows.
    NO_HEADER = "no-header", "refusal", "the first row is already numbers: the columns have no names"
    DUPLICATE_COLUMN = "duplicate-column", "refusal", "two columns have the same name once spelling is mended"
    NO_ROWS = "no-rows", "refusal", "a header, but no complete row of readings after it"
    RAGGED_ROW = "ragged-row", "refusal", "a row with more or fewer fields than the header"
    EXTRA_FIELD = "extra-field", "refusal", "every row has more fields than the header: names may be shifted"
    RESTART = "restart", "refusal", "boot text or a second header inside the data: the device restarted"
    BAD_NUMBER = "bad-number", "refusal", "a field that is not a number"
    QUOTED_THOUSANDS = "quoted-thousands", "refusal", 'a quoted "1,023": one thousand or one point zero?'
    TIME_BACKWARDS = "time-backwards", "refusal", "the time column goes back"
    TIME_UNREADABLE = "time-unreadable", "refusal", "the time column holds something that is not a time"

    # Worked around.
    ENCODING = "encoding", "warning", "not UTF-8; decoded from the encoding that is named"
    CUT_LINE = "cut-line", "warning", "the last line has no end: it is set aside, all rows before it are kept"
    NUL_TAIL = "nul-tail", "warning", "NUL bytes after the last row (power loss): set aside"
    BOOT_TEXT = "boot-text", "warning", "lines of text before or between the readings: set aside"
    BLANK_LINE = "blank-line", "warning", "blank lines between the rows: set aside"
    HEADER_SPELLING = "header-spelling", "note", "a column name was misspelt and has been mended"
    DECIMAL_COMMA = "decimal-comma", "note", "semicolons between fields and commas as decimal signs"
    TRAILING_SEPARATOR = "trailing-separator", "warning", "every row ends in a separator and nothing after it"
    NOT_A_READING = "not-a-reading", "warning", "nan, inf, ovf or nothing in a field: kept as NaN"
    ABSURD_VALUE = "absurd-value", "warning", "a size no sensor has (over 1e16 or under 1e-30): kept as NaN"
    NON_POSITIVE = "non-positive", "warning", "conductance readings at or under zero: kept, have no logarithm"
    MILLIS_WRAP = "millis-wrap", "warning", "the 32-bit millisecond counter overflowed: time continued"
    TIME_REPEATS = "time-repeats", "warning", "rows that share a time stamp: kept"
    TIME_GAP = "time-gap", "warning", "a step in time over five times the usual one"
    TIME_UNIT_ASSUMED = "time-unit-assumed", "warning", "the time column has no unit: seconds assumed"
    RATE_ASSUMED = "rate-assumed", "warning", "no time column and no rate given: 1 Hz assumed"

    # Channels; one finding for each channel whose health is not ok.
    SENTINEL = "sentinel", "warning", "a channel holds the firmware's error value"
    STUCK = "stuck", "warning", "a channel never changes"
    SATURATED = "saturated", "warning", "a channel sits on the end of its range"
    DEAD = "dead", "warning", "a channel shows the power-on constants of a chip that did not answer"
    MISSING = "missing", "warning", "a channel lacks more than 10 % of its readings"
    UNIT_UNKNOWN = "unit-unknown", "warning", "a channel whose unit nothing states"

    # Several recordings.
    MIXED_RATES = "mixed-rates", "warning", "recordings of the same channels have different sample rates"

    # Labels.
    NO_LABEL = "no-label", "note", "the file name does not spell a known substance or recipe"
    RATIO_SUM = "ratio-sum", "warning", "the shares of the label do not sum to 100 %; they were normalised"
    LABEL_CONFLICT = "label-conflict", "warning", "the file name carries a second, different recipe"


_SECTIONS: tuple[tuple[Severity, str, str], ...] = (
    ("refusal", "Refusals", "The file yields no recording; `unmixnet check` exits with 2."),
    ("warning", "Warnings", "The file was read, and the finding says what was done; exit 2 with `--strict`."),
    ("note", "Notes", "Worth knowing, nothing to mend; never changes the exit code."),
)


def markdown() -> str:
    """The page docs/codes.md, which a test compares with the file."""
    lines = ["# Codes of the reader", "", "Made from `unmixnet.recordings.codes`; change the text there.", ""]
    for severity, title, meaning in _SECTIONS:
        lines += [f"## {title}", "", meaning, "", "| code | meaning |", "|---|---|"]
        lines += [f"| `{code}` | {code.meaning} |" for code in Code if code.severity == severity] + [""]
    lines += ["## Health of a channel", "", "Every channel of every recording has one verdict.", ""]
    lines += ["| verdict | meaning |", "|---|---|"]
    lines += [f"| `{health}` | {health.meaning} |" for health in ChannelHealth]
    return "\n".join(lines) + "\n"


_LONGEST_QUOTE = 60


class ReadError(UnmixError):
    """A refused file.

    Arguments:
        code: documented reason.
        file: the file, as the caller named it.
        line: line counted from 1, or None.
        column: field counted from 1, or None.
        seen: what stands there.
        expected: what should stand there.
        remedy: one thing to try, in the imperative.
    """

    def __init__(
        self,
        code: Code,
        *,
        file: str,
        seen: str,
        expected: str,
        remedy: str,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.code, self.file, self.line, self.column = code, file, line, column
        self.seen, self.expected = _shortened(seen), expected
        place = [file]
        place += [f"line {line}"] if line is not None else []
        place += [f"column {column}"] if column is not None else []
        super().__init__(
            f"{self.seen}; expected {expected} [{code}]", where=", ".join(place), remedy=remedy.rstrip(".")
        )


def _shortened(seen: str) -> str:
    """One printable line, short enough for a terminal."""
    printable = "".join(char if char.isprintable() else "?" for char in seen)
    return printable if len(printable) <= 2 * _LONGEST_QUOTE else printable[: 2 * _LONGEST_QUOTE - 1] + "…"
