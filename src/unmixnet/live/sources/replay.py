"""A recording, played again at any speed."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

from unmixnet.live.sample import Item, Sample, SourceError, SourceEvent

__all__ = ["ReplayPace", "ReplaySource"]

_SHORTEST_SLEEP_S = 0.002
_CALLS_WITHOUT_REST = 256
"""Calls that return at once before others on the event loop get their turn."""


class ReplayPace:
    """Waits until it is time for a sample; `speed` 1 is real time, infinity does not wait at all."""

    def __init__(self, speed: float) -> None:
        if not speed > 0:
            raise SourceError(f"a speed of {speed}", remedy="Give a positive number: 1 is real time, 10 ten times that")
        self.speed = speed
        self._begin: float | None = None
        self._calls = 0

    async def until(self, signal_s: float) -> None:
        """Return when `signal_s` seconds of signal may have passed since the first call."""
        now = time.monotonic()
        if self._begin is None:
            self._begin = now - signal_s / self.speed
        ahead_s = 0.0 if math.isinf(self.speed) else self._begin + signal_s / self.speed - now
        self._calls += 1
        if ahead_s > _SHORTEST_SLEEP_S:
            await asyncio.sleep(ahead_s)
        elif self._calls % _CALLS_WITHOUT_REST == 0:
            await asyncio.sleep(0)


class ReplaySource:
    """The rows of a file, at the times that the file gives.

    Arguments:
        path: a recording in any format that `unmixnet.recordings.reader` reads.
        speed: seconds of signal per second; infinity is as fast as possible.
    """

    def __init__(self, path: str | Path, speed: float = 1.0) -> None:
        from unmixnet.recordings.reader import read_recording

        self._pace = ReplayPace(speed)
        self.recording = read_recording(path)
        self.name = f"replay of {Path(path).name}"
        self.channels: tuple[str, ...] | None = self.recording.channels
        # One word for all channels, as the other sources have: that of most of them.
        self.unit = Counter(self.recording.units).most_common(1)[0][0]

    async def stream(self) -> AsyncIterator[Item]:
        """All rows, then the end."""
        yield SourceEvent(
            "connected", f"Replaying {len(self.recording):,} rows at {self._pace.speed:g} times the speed."
        )
        start_s = float(self.recording.time_s[0])
        for time_s, readings in zip(self.recording.time_s, self.recording.readings, strict=True):
            since_s = float(time_s) - start_s
            await self._pace.until(since_s)
            yield Sample(since_s, tuple(readings.tolist()))
        yield SourceEvent("end", "The recording has ended.")
