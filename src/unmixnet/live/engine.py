"""The live engine: `step(sample, state) → (estimate, state)`. Causal, in memory that does not grow.

engine = Engine.of(bundle, ("MOX1", "MOX2", "MOX3", "MOX4"))
engine.warm()
state = engine.start()
for sample in samples:
    estimate, state = engine.step(sample, state)

A model whose recordings start in clean air is given a window that starts where the odour came; any other model is given
the last window. An estimate is what `unmix` answers to a recording of the same window.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.report import Answer, Verdict
from unmixnet.inference.session.calibration import SessionCalibration
from unmixnet.inference.unmix import solver_of
from unmixnet.inference.window import WindowModel
from unmixnet.live.estimate import NOTHING, STATUS, WARMING, Estimate
from unmixnet.live.exposure import ONSET_SHARE, Exposure, ExposureDetector
from unmixnet.live.messages import answer_words, collecting_words, drift_words, gap_words, settling_words
from unmixnet.live.sample import Sample
from unmixnet.live.windows import Bins, LiveWindow, filled, start_bins, stretched
from unmixnet.recordings.preprocessing import BaselineMethod, Preprocessing, Response
from unmixnet.recordings.response import ResponseScale
from unmixnet.recordings.trace import Trace, missing_channels

__all__ = ["Engine", "EngineState"]

_LEAD_S = 15.0
"""Signal that is kept beyond a window, to look back for the onset [s]."""
_LATE_S = 0.5
"""A window that begins a little late is read as well as one in time; one that begins early looks strange [s]."""
_MOST_MISSING = 0.1
_FIRST_ANSWER = 1 / 3
"""Share of a window after which an exposure is answered; before it an answer would be a guess."""


@dataclass(frozen=True, eq=False)
class EngineState:
    """Everything that the engine remembers; its size does not grow with the stream."""

    bins: Bins
    exposure: Exposure = field(default_factory=Exposure)
    due_s: float = -math.inf
    """Time of the next estimate."""
    held: Estimate | None = None
    """Estimate of an exposure that has lasted a window."""


@dataclass(frozen=True, eq=False)
class Engine:
    """A bundle that estimates from the samples of a source.

    Arguments:
        columns: where the bundle's channels are among the source's.
        session: calibration of the sensors.
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
        needed = bundle.preprocessing
        if absent := missing_channels(needed.channels, channels, where="the source"):
            raise absent
        if needed.lags or needed.low_pass_Hz or needed.high_pass_Hz:
            raise ConfigError(
                f"the preprocessing of {bundle.name} filters or takes differences, which a stream cannot do yet",
                remedy="Use a bundle that `unmixnet train` wrote",
            )
        if session is not None:
            session.check(bundle)
        if not every_s > 0:
            raise ConfigError(f"an estimate every {every_s} s, expected a positive time", remedy="Use 1")
        return cls(bundle, tuple(list(channels).index(name) for name in needed.channels), session, every_s)

    @property
    def preprocessing(self) -> Preprocessing:
        """How the bundle prepares readings."""
        return self.bundle.preprocessing

    @property
    def window(self) -> int:
        """Bins that the model sees."""
        return self.bundle.spec.window

    @property
    def rate_Hz(self) -> float:
        """Rate of the bins."""
        return self.bundle.spec.rate_Hz

    @property
    def anchored(self) -> bool:
        """Whether a window has to start in clean air."""
        own_level = self.preprocessing.baseline is BaselineMethod.RECORDING
        return own_level and self.bundle.spec.settings.start == "clean air"

    @cached_property
    def scale(self) -> ResponseScale:
        """The scale on which readings are averaged."""
        return ResponseScale(Response(self.preprocessing.response))

    @cached_property
    def model(self) -> WindowModel:
        """The compiled model of one window."""
        return WindowModel(self.bundle, self.session)

    @cached_property
    def detector(self) -> ExposureDetector:
        """How exposures are recognised."""
        threshold = float(np.clip(0.5 * self.bundle.calibration.background.least, 0.08, 0.3))
        return ExposureDetector(
            self.scale, np.array(self.preprocessing.sd), threshold, self.rate_Hz, self._lag(threshold)
        )

    def _lag(self, threshold: float) -> int:
        """Bins from a release until the sensors respond, as the model's own physics gives them."""
        if not self.anchored:
            return 0
        return max(self.model.departure_rows(ONSET_SHARE * threshold) - round(_LATE_S * self.rate_Hz), 0)

    def warm(self) -> None:
        """Compile, so that no estimate has to wait for it."""
        self.model.warm()
        _ = self.detector

    def start(self) -> EngineState:
        """The state before the first sample."""
        return EngineState(start_bins(self.window + round(_LEAD_S * self.rate_Hz), len(self.columns), self.rate_Hz))

    def clean_air(self, state: EngineState) -> EngineState:
        """Declare the air clean: the level of the last seconds becomes the baseline."""
        if not np.isfinite(state.bins.g[-self.detector.settling :]).any(axis=0).all():
            return state
        return replace(state, exposure=self.detector.settled(state.exposure, state.bins), held=None)

    def step(self, sample: Sample, state: EngineState) -> tuple[Estimate | None, EngineState]:
        """Take in one sample; an estimate when it is time for one."""
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
        """The state after bins were closed; a gap longer than a window starts afresh."""
        now = state.exposure
        if number > self.window:
            now = Exposure(first_level=now.first_level)
        new = self.detector.follow(now, state.bins)
        return replace(state, exposure=new, held=state.held if new.onset == state.exposure.onset else None)

    def _estimate(self, time_s: float, state: EngineState) -> tuple[Estimate | None, EngineState]:
        origin = state.bins.origin_s or 0.0
        number = math.floor((time_s - origin) / self.every_s + 1e-6) + 1
        state = replace(state, due_s=origin + number * self.every_s - 1e-6 * self.every_s)
        exposed, drift = state.exposure.onset is not None, self._drift(state.exposure)
        if not state.exposure.warm:
            return self._warming(time_s, settling_words(time_s - origin)), state
        window = self._window(state)
        needed = _FIRST_ANSWER * self.window if self.anchored else self.window
        own_level = self.preprocessing.baseline is BaselineMethod.RECORDING
        if window.received < needed and (exposed or not self.anchored):
            words = collecting_words(window.received / self.rate_Hz, needed / self.rate_Hz, exposed=exposed)
            return self._warming(time_s, words, drift if own_level else ()), state
        if window.missing > _MOST_MISSING:
            known = own_level or window.received >= needed
            return self._warming(time_s, gap_words(window.worst, window.missing), drift if known else ()), state
        estimate = self._answered(time_s, state, window)
        if not own_level and (estimate.status != NOTHING or window.received < needed):
            drift = ()  # the sensors may have settled in an odour: only clean air has a clean-air level
        against = "where it was when this session began" if own_level else "that of the training"
        words = (*estimate.words, *drift_words(self.preprocessing.channels, drift, against))
        held = estimate if window.over_s >= 0 and exposed and self.anchored else None
        return replace(estimate, drift=drift, words=words), replace(state, held=held)

    def _warming(self, time_s: float, words: tuple[str, ...], drift: tuple[float, ...] = ()) -> Estimate:
        return Estimate(time_s, WARMING, self.bundle.components, words=words, drift=drift)

    def _drift(self, exposure: Exposure) -> tuple[float, ...]:
        """Departure of the clean-air level from the bundle's, or from the first one of this session."""
        if not len(exposure.level):
            return ()
        if self.preprocessing.baseline is BaselineMethod.RECORDING:
            return tuple((exposure.level - exposure.first_level).tolist())
        g = self.scale.absolute(exposure.level * np.array(self.preprocessing.sd))
        signal = self.preprocessing.standardised(self.scale.respond(g, self._reference()))
        return tuple((signal - np.array(self.bundle.spec.air)).tolist())

    def _reference(self) -> np.ndarray | None:
        """The clean-air reading that the bundle brings along, if it does."""
        if self.preprocessing.baseline is not BaselineMethod.REFERENCE:
            return None
        return np.mean([np.array(levels) for levels in self.preprocessing.reference.values()], axis=0)

    def _window(self, state: EngineState) -> LiveWindow:
        """The window that starts where the odour came, or the last one."""
        bins, now = state.bins, state.exposure
        anchored = self.anchored and now.onset is not None
        oldest = bins.closed - bins.kept
        # signals from before the sensors settled carry no information about the air
        begin = max(now.onset or 0, oldest) if anchored else max(bins.closed - self.window, oldest, now.since)
        end = min(begin + self.window, bins.closed)
        rows = slice(begin - bins.closed + len(bins.g), end - bins.closed + len(bins.g))
        g, missing = filled(bins.g[rows], self.rate_Hz)
        baseline = self._baseline(now, bins.first[rows])
        signal = self.preprocessing.standardised(self.scale.respond(g, baseline))
        if self.session is not None:
            signal = self.session.apply(signal)
        received, time_s = len(signal), bins.time_s[rows]
        if received < self.window:
            signal, time_s = stretched(signal, time_s, self.window, self.rate_Hz, before=not anchored)
        over_s = (bins.closed - begin - self.window) / self.rate_Hz
        worst = int(np.argmax(missing)) if len(missing) else 0
        name = self.preprocessing.channels[worst]
        return LiveWindow(signal.astype(np.float32), time_s, baseline, received, over_s, float(missing[worst]), name)

    def _baseline(self, now: Exposure, first: np.ndarray) -> np.ndarray | None:
        """As the preprocessing takes it: what the bundle brings along, or the first row of the exposure or window."""
        if self.preprocessing.baseline is not BaselineMethod.RECORDING:
            return self._reference()
        if now.onset is not None:
            return now.clean
        return np.array([column[np.argmax(np.isfinite(column))] for column in first.T])

    def _answered(self, time_s: float, state: EngineState, window: LiveWindow) -> Estimate:
        """The estimate of a window; of one that is held only the words change."""
        spans = (min(window.received, self.window) / self.rate_Hz, self.window / self.rate_Hz)
        waited_s = max(window.over_s, 0.0) if self.anchored else 0.0
        held = state.held
        if held is not None and held.answer is not None:
            words = answer_words(held.answer, *spans, waited_s=waited_s)
            return replace(held, time_s=time_s, waited_s=waited_s, words=words)
        reply = self.model.answer(Trace(window.signal, window.time_s), path="live")
        answer, step = reply.answer, -1
        if window.received < self.window and answer.verdict is not Verdict.NOTHING:
            steps = max(1, min(len(answer.time_s), (window.received - 1) // self.model.rows_per_step))
            answer, step = _partial_answer(answer, steps, window.received / self.window), steps - 1
        return Estimate(
            time_s,
            STATUS[answer.verdict],
            answer.components,
            *(tuple(getattr(answer, name).tolist()) for name in ("ratios", "low", "high", "presence")),
            strength=answer.strength,
            background=answer.background,
            novelty=answer.novelty,
            residual=answer.fit,
            reconstructed_time_s=answer.time_s,
            reconstructed=self._readings(window, answer.reconstructed),
            states=reply.states(step),
            closure=answer.closure,
            heard=min(window.received / self.window, 1.0),
            waited_s=waited_s,
            words=answer_words(answer, *spans, waited_s=waited_s),
            answer=answer,
        )

    def _readings(self, window: LiveWindow, response: np.ndarray) -> np.ndarray:
        """A reconstructed response as the readings that the sensors of this session would give."""
        if self.session is not None:
            mean, sd = np.array(self.preprocessing.mean), np.array(self.preprocessing.sd)
            response = self.session.map.undo((response - mean) / sd) * sd + mean
        return self.scale.readings(self.scale.unrespond(response, window.baseline))


def _partial_answer(answer: Answer, steps: int, share: float) -> Answer:
    """An answer to a window whose end is still to come.

    Its intervals were calibrated on whole windows; they are made wider by the square of what is missing, about as the
    error grows in the simulated chamber. Only a whole window can look unlike training.
    """
    low, high = (answer.ratios + (end - answer.ratios) / share**2 for end in (answer.low, answer.high))
    missed = answer.measured[:steps] - answer.reconstructed[:steps]
    scale = answer.fit / max(float(np.sqrt(np.mean((answer.measured - answer.reconstructed) ** 2))), 1e-30)
    return replace(
        answer,
        verdict=Verdict.MIXTURE,
        low=np.clip(low, 0, 1),
        high=np.clip(high, 0, 1),
        fit=float(np.sqrt(np.mean(missed**2)) * scale),
        time_s=answer.time_s[:steps],
        measured=answer.measured[:steps],
        reconstructed=answer.reconstructed[:steps],
    )
