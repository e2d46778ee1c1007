"""The pace of a source that could go faster than time: so many seconds of signal a second."""

import asyncio
import math
import time

from unmixnet.live.sample import SourceError

__all__ = ["Pace"]

_SHORTEST_SLEEP_S = 0.002
_CALLS_WITHOUT_REST = 256
"""Calls that return at once before others on the event loop get their turn."""


class Pace:
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
