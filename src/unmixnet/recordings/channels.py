"""Names and units of channels: one spelling for each sensor, and units that say what was measured."""

import re
from dataclasses import dataclass

from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.recording import Finding

__all__ = [
    "BASE_CHANNELS",
    "MIXTURE_CHANNELS",
    "UNKNOWN_UNIT",
    "Column",
    "canonical_name",
    "name_columns",
    "unit_spelling",
]

UNKNOWN_UNIT = "unknown"

BASE_CHANNELS = {
    "NO2": "counts",
    "C2H5OH": "counts",
    "VOC": "counts",
    "CO": "counts",
    "Alcohol": "uncalibrated",
    "LPG": "uncalibrated",
    "Benzene": "uncalibrated",
    "Temperature": "degC",
    "Pressure": "hPa",
    "Humidity": "%RH",
    "Gas_Resistance": "kOhm",
    "Altitude": "m",
}
"""Channels of the SmellNet base device. Its "ppm" of Alcohol, LPG and Benzene rest on guessed constants."""

MIXTURE_CHANNELS = {"NO2": "counts", "C2H5OH": "counts", "VOC": "counts", "CO": "counts"}
"""Channels of the SmellNet mixture device: raw 10-bit converter counts."""

_LONGEST_NAME = 200
_MISSPELT = {"c2h5ch": "C2H5OH", "c2h50h": "C2H5OH", "c2hsoh": "C2H5OH", "n02": "NO2"}
"""Misspellings that can be nothing else. Not `c0`: that is a cell or column number as often as carbon monoxide."""
_NUMBERED = re.compile(r"n\d+", re.IGNORECASE)
_KNOWN = {name.lower(): name for name in BASE_CHANNELS}
_BRACKETED = re.compile(r"(?P<name>[^\[(]+?)\s*[\[(]\s*(?P<unit>[^\])]*?)\s*[\])]")
_UNIT_SPELLINGS = {
    "kω": "kOhm",
    "kohm": "kOhm",
    "ω": "Ohm",
    "ohm": "Ohm",
    "mω": "MOhm",
    "mohm": "MOhm",
    "°c": "degC",
    "c": "degC",
    "degc": "degC",
    "%rh": "%RH",
    "adc": "counts",
    "count": "counts",
    "raw": "counts",
}


@dataclass(frozen=True)
class Column:
    """A column of a file: canonical name, unit ("unknown" if the header does not say), name as written."""

    name: str
    unit: str
    written: str


def canonical_name(written: str) -> str:
    """The one spelling of a channel name: C2H5OH for C2H5CH and C2H50H, "CO" for "co"."""
    key = written.strip().lower().replace(" ", "_")
    return _MISSPELT.get(key) or _KNOWN.get(key) or written.strip()


def name_columns(written: tuple[str, ...], *, file: str, line: int) -> tuple[tuple[Column, ...], tuple[Finding, ...]]:
    """Columns of a header; refuses one without a name and two of the same name."""
    if "" in written:
        raise _unnamed(file, line, written.index(""))
    numbered = sum(bool(_NUMBERED.fullmatch(_without_unit(name).strip())) for name in written) > 1
    columns = tuple(_column(name, numbered) for name in written)
    findings = tuple(
        Finding(
            Code.HEADER_SPELLING,
            f"column {i + 1} is headed {column.written!r}, read as {column.name}",
            line,
            i + 1,
            column.name,
        )
        for i, column in enumerate(columns)
        if column.name != _without_unit(column.written)
    )
    first: dict[str, int] = {}
    for i, column in enumerate(columns):
        if first.setdefault(column.name, i) != i:
            raise _duplicate(file, line, i, column, first[column.name])
    return columns, findings


def _unnamed(file: str, line: int, index: int) -> ReadError:
    return ReadError(
        Code.NO_HEADER,
        file=file,
        line=line,
        column=index + 1,
        seen="a column without a name",
        expected="a name for every column",
        remedy="Name the column; if it is a row number, write the file without it",
    )


def _duplicate(file: str, line: int, index: int, column: Column, earlier: int) -> ReadError:
    return ReadError(
        Code.DUPLICATE_COLUMN,
        file=file,
        line=line,
        column=index + 1,
        seen=f"{column.written[:40]!r}, read as {column.name[:40]}, which column {earlier + 1} already is",
        expected="a name for each column that no other has",
        remedy="Rename one of the two columns, or delete it",
    )


def _without_unit(written: str) -> str:
    match = _BRACKETED.fullmatch(written.strip()[:_LONGEST_NAME])
    return match["name"] if match else written.strip()


def _column(written: str, numbered: bool) -> Column:
    """A column; in a header that numbers its columns n01, n02, … the second is not NO2."""
    match = _BRACKETED.fullmatch(written.strip()[:_LONGEST_NAME])
    bare = _without_unit(written)
    name = bare.strip() if numbered and _NUMBERED.fullmatch(bare.strip()) else canonical_name(bare)
    return Column(name, unit_spelling(match["unit"] if match else "", name) or UNKNOWN_UNIT, written)


def unit_spelling(written: str, name: str) -> str:
    """One spelling of a unit; mΩ is not MΩ, and only of a humidity % means relative humidity."""
    if written == "%" and ("humid" in name.lower() or name.lower() == "rh"):
        return "%RH"
    if written[:1] == "m" and written[1:].lower() in ("ω", "ohm"):
        return "mOhm"
    return _UNIT_SPELLINGS.get(written.lower(), written)
