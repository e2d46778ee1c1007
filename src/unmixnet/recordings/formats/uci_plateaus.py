"""Plateaus of UCI 322: one row per set point, with the mean of each sensor near its end."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unmixnet.recordings.codes import Code
from unmixnet.recordings.formats.table import find_header, parse_table
from unmixnet.recordings.formats.text import decode
from unmixnet.recordings.formats.uci_text import GAS_NAMES
from unmixnet.recordings.refusal import ReadError

__all__ = ["Plateaus", "read_plateaus"]


@dataclass(frozen=True, eq=False)
class Plateaus:
    """Set points of a rig in order of time; arrays are read-only.

    Arguments:
        start_s: begin of each plateau [s], shape (N,).
        duration_s: length of each plateau [s], shape (N,).
        gases: names of the gases.
        exposure_ppm: set concentrations [ppm], shape (N, G).
        sensors: names of the sensors.
        readings: mean reading of each sensor near the end of the plateau, in steps of 25 nS, shape (N, M).
    """

    start_s: np.ndarray
    duration_s: np.ndarray
    gases: tuple[str, ...]
    exposure_ppm: np.ndarray
    sensors: tuple[str, ...]
    readings: np.ndarray

    def __post_init__(self) -> None:
        for array in (self.start_s, self.duration_s, self.exposure_ppm, self.readings):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.start_s)

    def lasting(self, least_s: float) -> "Plateaus":
        """Plateaus of at least this length; a shorter one has not settled."""
        return self._rows(self.duration_s >= least_s)

    def part(self, start: int, stop: int) -> "Plateaus":
        """Consecutive plateaus."""
        return self._rows(slice(start, stop))

    def _rows(self, rows: slice | np.ndarray) -> "Plateaus":
        return Plateaus(
            self.start_s[rows],
            self.duration_s[rows],
            self.gases,
            self.exposure_ppm[rows],
            self.sensors,
            self.readings[rows],
        )


def read_plateaus(path: Path) -> Plateaus:
    """Read a table with the columns t_start_s, dur_s, …_ppm and s01, s02, …"""
    try:
        source = decode(path.read_bytes(), str(path))
    except OSError as error:
        raise _refused(Code.NO_FILE, path, error.strerror or "no file", "the table of plateaus") from None
    header = find_header(source)
    names = header.names if header else ()
    gases = tuple(name for name in names if name.endswith("_ppm"))
    sensors = tuple(name for name in names if name[:1] == "s" and name[1:].isdigit())
    if header is None or not {"t_start_s", "dur_s"} <= set(names) or not gases or not sensors:
        raise _refused(Code.BAD_TABLE, path, f"columns {', '.join(names)}", "t_start_s, dur_s, …_ppm, s01, …")
    values = parse_table(source, header).values
    column = {name: values[:, i] for i, name in enumerate(names)}
    return Plateaus(
        column["t_start_s"],
        column["dur_s"],
        tuple(GAS_NAMES.get(gas.removesuffix("_ppm"), gas.removesuffix("_ppm")) for gas in gases),
        np.column_stack([column[gas] for gas in gases]),
        sensors,
        np.column_stack([column[sensor] for sensor in sensors]),
    )


def _refused(code: Code, path: Path, seen: str, expected: str) -> ReadError:
    remedy = "Check the path given by --data or UNMIXNET_DATA"
    return ReadError(code, file=str(path), seen=seen, expected=expected, remedy=remedy)
