"""The live engine: `step(sample, state) → (estimate, state)`. Causal, in memory that does not grow.

engine = Engine.of(bundle, ("MOX1", "MOX2", "MOX3", "MOX4"))
engine.warm()
state = engine.start()
for sample in samples:
    estimate, state = engine.step(sample, state)

A model whose recordings start in clean air is shown a window that starts where the odour came; any other model is shown
the last window. An estimate is what `unmix` says of a recording of the same window.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.session.calibration import SessionCalibration
from unmixnet.inference.unmix import solver_of
from unmixnet.live.bins import Bins, start_bins
from unmixnet.live.estimate import NOTHING, WARMING, Estimate
from unmixnet.live.exposure import FOOT, Exposure, Watch
from unmixnet.live.frame import FIRST_ANSWER, Frame, frame_of
from unmixnet.live.judging import judge
from unmixnet.live.look import Look, compile_look
from unmixnet.live.messages import drift_words, gap_words, listening_words, settling_words
from unmixnet.live.sample import Sample
from unmixnet.live.scale import Scale
from unmixnet.recordings.response import Baseline, Response
from unmixnet.recordings.trace import missing_channels

__all__ = ["Engine", "EngineState"]

_LEAD_S = 15.0
"""Signal that is kept beyond a window, to look back for the onset."""
_LATE_S = 0.5
_MOST_MISSING = 0.1


@dataclass(frozen=True, eq=False)
class EngineState:
    """Everything that the engine remembers; its size does not depend on how long it has listened."""

    bins: Bins
    exposure: Exposure = field(default_factory=Exposure)
    due_s: float = -math.inf
    """Time of the next estimate."""
    held: Estimate | None = None
    """Estimate of an exposure that has lasted a window."""


@dataclass(frozen=True, eq=False)
class Engine:
    """A bundle that listens to samples of a source.

    Arguments:
        columns: where the bundle's channels are among the source's.
        every_s: signal time between estimates [s].
    """

    bundle: Bundle
    columns: tuple[int, ...]
    session: SessionCalibration | None = None
    every_s: float = 1.0

    @classmethod
    def of(
        cls,
        bundle: Bundle,
        channels: Sequence[str],
        session: SessionCalibration | None = None,
        *,
        every_s: float = 1.0,
    ) -> "Engine":
        """An engine for a source with these channels; those that the model does not know are left out."""
        solver_of(bundle)
        if absent := missing_channels(bundle.ready.channels, channels, where="the source"):
            raise absent
        if bundle.ready.lags or bundle.ready.low_pass_Hz or bundle.ready.high_pass_Hz:
            raise ConfigError(
                f"the preprocessing of {bundle.name} filters or takes differences, which a stream cannot do yet",
                remedy="Use a bundle that `unmixnet train` wrote",
            )
        if session is not None:
            session.check(bundle)
        if not every_s > 0:
            raise ConfigError(f"an estimate every {every_s} s, expected a positive time", remedy="Use 1")
        return cls(bundle, tuple(list(channels).index(name) for name in bundle.ready.channels), session, every_s)

    @property
    def window(self) -> int:
        """Bins that the model looks at."""
        return self.bundle.config.window

    @property
    def rate_Hz(self) -> float:
        """Rate of the bins."""
        return self.bundle.config.model.rate_Hz

    @property
    def anchored(self) -> bool:
        """Whether a window has to start in clean air."""
        return self.bundle.ready.baseline is Baseline.RECORDING and self.bundle.config.settings.start == "clean air"

    @cached_property
    def scale(self) -> Scale:
        """On which offsets add."""
        return Scale(Response(self.bundle.ready.response))

    @cached_property
    def look(self) -> Look:
        """The compiled model."""
        return compile_look(self.bundle.model, self.window)

    @cached_property
    def watch(self) -> Watch:
        """How exposures are recognised."""
        threshold = float(np.clip(0.5 * self.bundle.calibration.background.least, 0.08, 0.3))
        ready = self.bundle.ready
        return Watch(self.scale, np.array(ready.sd), threshold, self.rate_Hz, self._lag(threshold))

    def _lag(self, threshold: float) -> int:
        """Bins that pass, as the model's own physics says, from a release until the sensors notice it: the median."""
        if not self.anchored:
            return 0
        air = np.tile(np.array(self.bundle.air, np.float32), (self.window, 1))
        traces = np.stack([self.look.pure(k, air) for k in range(len(self.bundle.components))])
        away = np.max(np.abs(traces - air[0]), axis=2) > FOOT * threshold
        first = np.where(away.any(axis=1), 1 + away.argmax(axis=1), 0)
        seen = round(float(np.median(first))) * solver_of(self.bundle).settings.stride
        # A window that begins a little late is read as well as one in time; one that begins early looks strange.
        return max(seen - round(_LATE_S * self.rate_Hz), 0)

    def warm(self) -> None:
        """Compile, so that no estimate has to wait for it."""
        self.look(np.zeros((self.window, len(self.columns)), np.float32))
        _ = self.watch

    def start(self) -> EngineState:
        """Before the first sample."""
        return EngineState(start_bins(self.window + round(_LEAD_S * self.rate_Hz), len(self.columns), self.rate_Hz))

    def clean_air(self, state: EngineState) -> EngineState:
        """The user says that the air is clean now: the level of the last seconds is the baseline."""
        if not np.isfinite(state.bins.g[-self.watch.settling :]).any(axis=0).all():
            return state
        return replace(state, exposure=self.watch.settled(state.exposure, state.bins), held=None)

    def step(self, sample: Sample, state: EngineState) -> tuple[Estimate | None, EngineState]:
        """Listen to one sample; an estimate when it is time for one."""
        readings = np.array([sample.values[column] for column in self.columns], float)
        before = state.bins.closed
        bins = state.bins.add(sample.time_s, readings, self.scale.of(readings))
        if bins is state.bins:
            return None, state
        if bins.closed > before:
            state = self._closed(replace(state, bins=bins), bins.closed - before)
        else:
            state = replace(state, bins=bins)
        if sample.time_s < state.due_s:
            return None, state
        return self._estimate(sample.time_s, state)

    def _closed(self, state: EngineState, number: int) -> EngineState:
        """After bins were closed; after a gap as long as a window everything begins anew."""
        now = state.exposure
        if number > self.window:
            now = Exposure(first_level=now.first_level)
        new = self.watch.follow(now, state.bins)
        return replace(state, exposure=new, held=state.held if new.onset == state.exposure.onset else None)

    def _estimate(self, time_s: float, state: EngineState) -> tuple[Estimate | None, EngineState]:
        origin = state.bins.origin_s or 0.0
        turns = math.floor((time_s - origin) / self.every_s + 1e-6) + 1
        state = replace(state, due_s=origin + turns * self.every_s - 1e-6 * self.every_s)
        drift, against = self._drift(state.exposure)
        if not state.exposure.warm:
            return self._warming(time_s, settling_words(time_s - origin)), state
        frame = frame_of(self, state)
        needed = FIRST_ANSWER * self.window if self.anchored else self.window
        if self.bundle.ready.baseline is not Baseline.RECORDING and frame.heard < needed:
            drift = ()
        if frame.heard < needed and (state.exposure.onset is not None or not self.anchored):
            words = listening_words(
                frame.heard / self.rate_Hz, needed / self.rate_Hz, exposed=state.exposure.onset is not None
            )
            return replace(self._warming(time_s, words), drift=drift), state
        if frame.missing > _MOST_MISSING:
            return replace(self._warming(time_s, gap_words(frame.worst, frame.missing)), drift=drift), state
        found = self._judged(time_s, state, frame)
        if self.bundle.ready.baseline is not Baseline.RECORDING and found.status != NOTHING:
            drift = ()  # the sensors may have settled in an odour: only clean air has a clean-air level
        words = (*found.words, *drift_words(self.bundle.ready.channels, drift, against))
        held = found if frame.over_s >= 0 and state.exposure.onset is not None and self.anchored else None
        return replace(found, drift=drift, words=words), replace(state, held=held)

    def _judged(self, time_s: float, state: EngineState, frame: Frame) -> Estimate:
        if state.held is not None:
            return replace(judge(self, time_s, frame, held=state.held), time_s=time_s)
        return judge(self, time_s, frame)

    def _warming(self, time_s: float, words: tuple[str, ...]) -> Estimate:
        return Estimate(time_s, WARMING, self.bundle.components, words=words)

    def _drift(self, exposure: Exposure) -> tuple[tuple[float, ...], str]:
        """Departure of the clean-air level from the bundle's, or from the first one of this session."""
        if not len(exposure.level):
            return (), ""
        ready = self.bundle.ready
        sd, mean = np.array(ready.sd), np.array(ready.mean)
        if ready.baseline is Baseline.RECORDING:
            return tuple((exposure.level - exposure.first_level).tolist()), "where it was when this session began"
        base = self.baseline()
        signal = (self.scale.respond(self.scale.unwatched(exposure.level * sd), base) - mean) / sd
        return tuple((signal - np.array(self.bundle.air)).tolist()), "that of the training"

    def baseline(self) -> np.ndarray | None:
        """The clean-air reading that the bundle brings along, if it does."""
        ready = self.bundle.ready
        if ready.baseline is not Baseline.REFERENCE:
            return None
        return np.mean([np.array(levels) for levels in ready.reference.values()], axis=0)
