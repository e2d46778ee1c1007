"""What the store holds, as data classes: sessions, events, named recordings, calibrations."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unmixnet.recordings.channels import BASE_CHANNELS
from unmixnet.recordings.recording import Mixture, Recording

if TYPE_CHECKING:
    from unmixnet.live.sample import Sample

__all__ = [
    "Calibration",
    "Event",
    "Named",
    "Session",
    "label_of",
    "label_text",
    "recording_of",
    "session_of",
    "units_of",
]


@dataclass(frozen=True)
class Session:
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
class Named:
    """A named span of a session, `start_s` to `end_s` of its time, with what was in front of the sensors if known."""

    id: int
    session: int
    start_s: float
    end_s: float
    name: str
    label: Mixture | None
    date: str


@dataclass(frozen=True)
class Calibration:
    """A stored session calibration: when and for which device it was made, JSON text, and whether it was undone."""

    id: int
    date: str
    device: str
    text: str
    undone: bool


def session_of(row: Sequence) -> Session:
    """A session from its row."""
    return Session(row[0], row[1], tuple(json.loads(row[2])), row[3], row[4])


def units_of(session: Session) -> tuple[str, ...]:
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


def recording_of(session: Session, samples: Sequence["Sample"], named: Named) -> Recording:
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
        path=named.name,
        label=named.label,
        health=checkup.health,
        warnings=checkup.findings,
    )
