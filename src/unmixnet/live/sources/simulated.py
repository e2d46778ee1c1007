"""A simulated chamber as a source: foods are released into it one after the other, with clean air between."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

import numpy as np

from unmixnet.data.recording import Mixture
from unmixnet.data.simulated import STRENGTH_SD, plan_of
from unmixnet.data.simulated_process import RATE_HZ, ROWS, Setting
from unmixnet.live.sample import Item, Sample, SourceError, SourceEvent
from unmixnet.live.sources.nose import CHUNK, SimulatedNose, mixture_of
from unmixnet.live.sources.pace import Pace

__all__ = ["SimulatedSource"]

RELEASE_S = ROWS / RATE_HZ
"""Time for which a food is in front of the chamber, as in the data set [s]."""
FIRST_AIR_S, AIR_S = 20.0, 90.0
"""Clean air at the beginning, and between foods: the slowest sensor needs it to recover [s]."""

Script = Sequence[tuple[Mapping[str, float] | None, float]]


class SimulatedSource:
    """The hand-held e-nose of the `simulated` data set, live: 10 Hz, four channels in counts.

    Arguments:
        seed: of recipes, strengths and noise; also chooses the drift of the sensors.
        speed: seconds of signal per second; infinity is as fast as possible.
        script: what is released and for how long [s], None for clean air, e.g. [(None, 20), ({"mango": 1}, 60)]; the
            stream ends after it. Without a script random recipes follow one another for ever.
    """

    def __init__(self, seed: int = 0, speed: float = 1.0, script: Script | None = None) -> None:
        self._pace, self._nose = Pace(speed), SimulatedNose(seed)
        self._rng = np.random.default_rng([seed, 8])
        self._script = None if script is None else [_scripted(*step) for step in script]
        self._asked: list[Mixture | None] = []
        self.name, self.unit = "simulated chamber", "counts"
        self.channels: tuple[str, ...] | None = self._nose.channels
        self.now: Mixture | None = None
        """What is in front of the chamber; None is clean air."""

    def release(self, parts: Mapping[str, float]) -> None:
        """Release foods in these parts, from the next half second on, for a minute; no recipe comes any more."""
        self._asked = [mixture_of(parts)]

    def air(self) -> None:
        """Clean air from the next half second on, until something is released."""
        self._asked = [None]

    async def stream(self) -> AsyncIterator[Item]:
        """Samples at the chosen speed."""
        yield SourceEvent("connected", "A simulated e-nose in clean air.")
        # The sensors rest in clean air at first, which needs no solver: it is compiled meanwhile.
        warming = asyncio.create_task(asyncio.to_thread(self._nose.warm))
        row = 0
        for mixture, strength, seconds in self._steps():
            await self._set(mixture, strength, warming)
            for _ in range(max(1, round(seconds * RATE_HZ / CHUNK))):
                for readings in await asyncio.to_thread(self._nose.read):
                    await self._pace.until(row / RATE_HZ)
                    yield Sample(row / RATE_HZ, tuple(readings.tolist()))
                    row += 1
                if self._asked:
                    break
        yield SourceEvent("end", "The script has ended.")

    async def _set(self, mixture: Mixture | None, strength: float, warming: asyncio.Task[None]) -> None:
        self.now = mixture
        if mixture is None:
            self._nose.air()
        else:
            await warming
            self._nose.release(mixture, strength)

    def _steps(self) -> Iterator[tuple[Mixture | None, float, float]]:
        """Mixture, strength and seconds; what is asked for ends script and recipes, and clean air follows it."""
        for step in self._recipes() if self._script is None else self._script:
            if not self._asked:
                yield step
            if self._asked:
                break
        else:
            return
        while True:
            yield self._asked.pop() if self._asked else None, 1.0, RELEASE_S

    def _recipes(self) -> Iterator[tuple[Mixture | None, float, float]]:
        """Recipes of the data set in random order, of random strength."""
        plan, pause_s = plan_of(Setting()), FIRST_AIR_S
        while True:
            yield None, 1.0, pause_s
            label = plan.labels[self._rng.integers(len(plan.labels))]
            yield label, float(np.exp(self._rng.normal(0, STRENGTH_SD))), RELEASE_S
            pause_s = AIR_S


def _scripted(parts: Mapping[str, float] | None, seconds: float) -> tuple[Mixture | None, float, float]:
    if not 0 < seconds < np.inf:
        raise SourceError(f"{seconds} seconds", where="script", remedy="Give every step of the script a positive time")
    return (None if parts is None else mixture_of(parts)), 1.0, float(seconds)
