"""What a source of live readings yields: samples, rejected lines, and events; nothing else."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from unmixnet.errors import UnmixError

__all__ = [
    "LONGEST_LINE_SHOWN",
    "Item",
    "Rejected",
    "Sample",
    "SampleSource",
    "SourceError",
    "SourceEvent",
    "live_library",
]

LONGEST_LINE_SHOWN = 200
"""Characters of a rejected line that are kept."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One row of readings.

    Arguments:
        time_s: time since the source's first sample [s]; never decreases.
        values: one reading per channel, in the order and the unit of the source; NaN where the board wrote that
            there is no reading.
    """

    time_s: float
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line that is not a sample: counted, never fatal.

    Arguments:
        reason: one of a few fixed texts, so that they can be counted.
        line: the line as far as it is text, cut to 200 characters.
        count: how many lines this stands for, of which `line` is the last.
    """

    reason: str
    line: str
    count: int = 1

    def __post_init__(self) -> None:
        if len(self.line) > LONGEST_LINE_SHOWN:
            object.__setattr__(self, "line", self.line[:LONGEST_LINE_SHOWN])


@dataclass(frozen=True, slots=True)
class SourceEvent:
    """What happened to the source itself.

    Arguments:
        kind: "connected", "lost", "reconnected" or "end".
        text: a sentence for people.
    """

    kind: str
    text: str


class SourceError(UnmixError):
    """A source that cannot be opened, or a request that it cannot fulfil."""


Item = Sample | Rejected | SourceEvent


class SampleSource(Protocol):
    """Where samples come from: a serial port, a broker, a file, a simulated chamber.

    `name` is shown and stored (never with a password), `unit` is that of the readings, `channels` is None until the
    first line has named them, and never changes afterwards.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def unit(self) -> str: ...  # noqa: D102

    @property
    def channels(self) -> tuple[str, ...] | None: ...  # noqa: D102

    def stream(self) -> AsyncIterator[Item]:
        """Items as they come; ends after an event "end", or never."""
        ...


def live_library(name: str) -> Any:
    """A library of the extra `live`, or an error that says how to install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise SourceError(
            f"the library {name} is not installed", remedy="Install it with: pip install 'unmixnet[live]'"
        ) from None
