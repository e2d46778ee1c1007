"""Plateaus of UCI 322: one row per set point, with the mean of each sensor near its end."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.formats.format import FileContent, Format
from unmixnet.recordings.formats.table import parse_table
from unmixnet.recordings.formats.timebase import from_column
from unmixnet.recordings.formats.uci_recording import DEVICE
from unmixnet.recordings.formats.uci_text import GAS_NAMES, UNIT
from unmixnet.recordings.health import judge
from unmixnet.recordings.recording import Recording

__all__ = ["UCI_PLATEAUS", "Plateaus", "read_plateaus"]


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
    return _plateaus(FileContent(path, path.as_posix()))


def _plateaus(content: FileContent) -> Plateaus:
    header = content.header
    names = header.names if header else ()
    if header is None or not _is_plateaus(names):
        raise ReadError(
            Code.BAD_TABLE,
            file=str(content.path),
            seen=f"columns {', '.join(names)}",
            expected="t_start_s, dur_s, …_ppm, s01, …",
            remedy="Check the path given by --data or UNMIXNET_DATA",
        )
    gases, sensors = _gases(names), _sensors(names)
    values = parse_table(content.text, header).values
    column = {name: values[:, i] for i, name in enumerate(names)}
    return Plateaus(
        column["t_start_s"],
        column["dur_s"],
        tuple(GAS_NAMES.get(gas.removesuffix("_ppm"), gas.removesuffix("_ppm")) for gas in gases),
        np.column_stack([column[gas] for gas in gases]),
        sensors,
        np.column_stack([column[sensor] for sensor in sensors]),
    )


def _is_plateaus(names: tuple[str, ...]) -> bool:
    return {"t_start_s", "dur_s"} <= set(names) and bool(_gases(names)) and bool(_sensors(names))


def _gases(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name.endswith("_ppm"))


def _sensors(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name[:1] == "s" and name[1:].isdigit())


def _read(content: FileContent) -> Recording:
    """Plateaus as a recording with one row per set point; `read_plateaus` also gives their length."""
    table = _plateaus(content)
    lines = np.arange(2, len(table) + 2)
    # Set points have whatever length the experiment gave them: steps of unequal length are not gaps in time.
    times = from_column(table.start_s, "s", file=str(content.path), column=1, lines=lines)
    units = (UNIT,) * len(table.sensors)
    checkup = judge(table.readings, table.sensors, units)
    return Recording(
        time_s=times.time_s,
        readings=checkup.readings,
        channels=table.sensors,
        units=units,
        sample_rate_Hz=times.sample_rate_Hz,
        device=DEVICE,
        path=content.place,
        label=None,
        health=checkup.health,
        warnings=content.text.findings + checkup.findings,
        gases=table.gases,
        exposure_ppm=table.exposure_ppm,
    )


UCI_PLATEAUS = Format(
    "uci-plateaus",
    (".csv",),
    lambda content: content.header is not None and _is_plateaus(content.header.names),
    _read,
)
