"""A simulated e-nose as a source: foods are released into it one after the other, with clean air between."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unmixnet.live.sample import Item, Sample, SourceError, SourceEvent
from unmixnet.live.sources.replay import ReplayPace
from unmixnet.recordings.labels import COMPONENTS
from unmixnet.recordings.recording import Mixture
from unmixnet.recordings.simulated import CLEAN_AIR, FULL_SCALE_COUNTS, STRENGTH_SD, drift, noise_counts, plan_of
from unmixnet.simulation.chamber_stream import ChamberStream
from unmixnet.simulation.simulated_nose import RATE_HZ, ROWS, Setting

__all__ = ["CHUNK", "SimulatedNose", "SimulatedSource", "mixture_of"]

CHUNK = 5
"""Rows that are solved at once, half a second."""


def mixture_of(parts: Mapping[str, float]) -> Mixture:
    """A mixture of the foods of the simulated data set."""
    unknown = sorted(set(parts) - set(COMPONENTS))
    if unknown or not parts or not all(0 <= share < np.inf for share in parts.values()) or not sum(parts.values()):
        seen = f"no food {unknown[0]!r}" if unknown else f"the shares {dict(parts)}"
        raise SourceError(seen, where="simulated chamber", remedy=f"Release parts of {', '.join(COMPONENTS)}")
    return Mixture.from_parts(list(parts), list(parts.values()))


class SimulatedNose:
    """A hand-held e-nose in clean air, until something is released.

    Arguments:
        seed: of the noise; it also chooses one of the data set's sessions, and so the drift of the sensors. 0 is the
            session that no model was trained on.
    """

    def __init__(self, seed: int = 0) -> None:
        self.setting = Setting()
        self.channels = tuple(sensor.name for sensor in self.setting.chamber.sensors)
        moved, session = drift(self.setting), (-1 - seed) % self.setting.sessions
        self._gain, self._offset = moved.gain[session], moved.offset[session]
        self._rng = np.random.default_rng([seed, 7])
        self._share = np.zeros(len(COMPONENTS))
        self._state: Any = None
        self._chamber: Any = None

    def release(self, mixture: Mixture, strength: float = 1.0) -> None:
        """Put a fresh jar in front of the chamber; strength 1 is that of the data set's median recording."""
        self._begin(strength * mixture.vector(COMPONENTS))

    def air(self) -> None:
        """Take the jar away, flush the chamber and heat the surfaces clean; the readouts recover at their own pace."""
        if self._state is not None:
            self._begin(np.zeros(len(COMPONENTS)), surfaces=False)

    def rest(self) -> None:
        """Clean air for as long as the sensors need: they read as at the beginning."""
        self._share, self._state = np.zeros(len(COMPONENTS)), None

    def warm(self) -> None:
        """Compile the solver."""
        if self._chamber is None:
            self._chamber = ChamberStream(self.setting, CHUNK)

    def read(self) -> np.ndarray:
        """Counts of the next rows, shape (CHUNK, 4)."""
        y = np.zeros((CHUNK, len(self.channels)))
        if self._state is not None:
            y, self._state = self._chamber.advance(self._share, self._state)
        white = self._rng.normal(size=y.shape) * noise_counts(len(self.channels))
        level = self._gain * y + self._offset + CLEAN_AIR
        return np.clip(np.round(FULL_SCALE_COUNTS / (1 + np.exp(-level)) + white), 0, FULL_SCALE_COUNTS)

    def _begin(self, share: np.ndarray, *, surfaces: bool = True) -> None:
        """A new release into fresh gas; what the sensors show stays, and so does what their surfaces hold, if kept."""
        self.warm()
        self._share, self._state = share, self._chamber.fresh(self._state, surfaces=surfaces)


RELEASE_S = ROWS / RATE_HZ
"""Time for which a food is in front of the chamber, as in the data set [s]."""
FIRST_AIR_S, AIR_S = 20.0, 90.0
"""Clean air at the beginning, and between foods: the slowest sensor needs it to recover [s]."""

_PATIENCE_S = 30.0

Script = Sequence[tuple[Mapping[str, float] | None, float]]


@dataclass(frozen=True, eq=False)
class _Step:
    """What is in front of the chamber, how strong, for how long [s]; `begun` gets the time of its first row."""

    mixture: Mixture | None
    strength: float = 1.0
    seconds: float = RELEASE_S
    begun: "asyncio.Future[float] | None" = None


class SimulatedSource:
    """The hand-held e-nose of the `simulated` data set, live: 10 Hz, four channels in counts.

    Arguments:
        seed: of recipes, strengths and noise; also chooses the drift of the sensors.
        speed: seconds of signal per second; infinity is as fast as possible.
        script: what is released and for how long [s], None for clean air, e.g. [(None, 20), ({"mango": 1}, 60)]; the
            stream ends after it. Without a script random recipes follow one another for ever.
    """

    def __init__(self, seed: int = 0, speed: float = 1.0, script: Script | None = None) -> None:
        self._pace, self._nose = ReplayPace(speed), SimulatedNose(seed)
        self._rng = np.random.default_rng([seed, 8])
        self._script = None if script is None else [_scripted(*step) for step in script]
        self._requested: list[_Step] = []
        self.name, self.unit = "simulated chamber", "counts"
        self.channels: tuple[str, ...] | None = self._nose.channels
        self.components = COMPONENTS
        """What can be released."""
        self.now: Mixture | None = None
        """What is in front of the chamber; None is clean air."""

    def release(self, parts: Mapping[str, float]) -> None:
        """Release foods in these parts, from the next half second on, for a minute; this ends the random recipes."""
        self._requested = [_Step(mixture_of(parts))]

    def air(self) -> None:
        """Clean air from the next half second on, until something is released."""
        self._requested = [_Step(None)]

    async def release_after_recovery(self, parts: Mapping[str, float] | None) -> float:
        """Release foods, or none, after the sensors have recovered, without the wait; the time of the first row [s].

        The recordings of the data set begin like this.
        """
        begun = asyncio.get_running_loop().create_future()
        self._requested = [_Step(None if parts is None else mixture_of(parts), begun=begun)]
        try:
            return await asyncio.wait_for(begun, _PATIENCE_S)
        except TimeoutError:
            raise SourceError(
                "the simulated chamber does not answer", where="simulated chamber", remedy="Start it anew"
            ) from None

    async def stream(self) -> AsyncIterator[Item]:
        """Samples at the chosen speed."""
        yield SourceEvent("connected", "A simulated e-nose in clean air.")
        # The sensors rest in clean air at first, which needs no solver: it is compiled meanwhile.
        warming = asyncio.create_task(asyncio.to_thread(self._nose.warm))
        row = 0
        for step in self._steps():
            await self._set(step, warming, row / RATE_HZ)
            for _ in range(max(1, round(step.seconds * RATE_HZ / CHUNK))):
                for readings in await asyncio.to_thread(self._nose.read):
                    await self._pace.until(row / RATE_HZ)
                    yield Sample(row / RATE_HZ, tuple(readings.tolist()))
                    row += 1
                if self._requested:
                    break
        yield SourceEvent("end", "The script has ended.")

    async def _set(self, step: "_Step", warming: asyncio.Task[None], time_s: float) -> None:
        self.now = step.mixture
        if step.begun is not None:
            self._nose.rest()
        if step.mixture is None:
            self._nose.air()
        else:
            await warming
            self._nose.release(step.mixture, step.strength)
        if step.begun is not None and not step.begun.done():
            step.begun.set_result(time_s)

    def _steps(self) -> Iterator["_Step"]:
        """What is released, one after the other; a request ends script and recipes, and clean air follows it."""
        for step in self._recipes() if self._script is None else self._script:
            if not self._requested:
                yield step
            if self._requested:
                break
        else:
            return
        while True:
            yield self._requested.pop() if self._requested else _Step(None)

    def _recipes(self) -> Iterator["_Step"]:
        """Recipes of the data set in random order, of random strength."""
        plan, pause_s = plan_of(Setting()), FIRST_AIR_S
        while True:
            yield _Step(None, seconds=pause_s)
            label = plan.labels[self._rng.integers(len(plan.labels))]
            yield _Step(label, float(np.exp(self._rng.normal(0, STRENGTH_SD))))
            pause_s = AIR_S


def _scripted(parts: Mapping[str, float] | None, seconds: float) -> _Step:
    if not 0 < seconds < np.inf:
        raise SourceError(f"{seconds} seconds", where="script", remedy="Give every step of the script a positive time")
    return _Step(None if parts is None else mixture_of(parts), seconds=float(seconds))
