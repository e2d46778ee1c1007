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
from typing import Any

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.evidence import evidence_of, outputs_of
from unmixnet.inference.reconstruction import troubles
from unmixnet.inference.report import Answer, Verdict
from unmixnet.inference.session.calibration import SessionCalibration
from unmixnet.inference.unmix import Read, answer_of, solver_of
from unmixnet.live.estimate import NOTHING, STATUS, WARMING, Estimate, StatesNow
from unmixnet.live.exposure import FOOT, Bins, Exposure, Scale, Watch, start_bins
from unmixnet.live.messages import drift_words, found_words, gap_words, listening_words, settling_words
from unmixnet.live.sample import Sample
from unmixnet.model.predict import CompiledModel, compile_model
from unmixnet.physics.rollout import Rollout
from unmixnet.recordings.preprocessing import Baseline, Response
from unmixnet.recordings.trace import Trace, missing_channels

__all__ = ["FIRST_ANSWER", "Engine", "EngineState", "Frame", "frame_of", "judge"]

_LEAD_S = 15.0
"""Signal that is kept beyond a window, to look back for the onset."""
_LATE_S = 0.5
_MOST_MISSING = 0.1


@dataclass(frozen=True, eq=False)
class Frame:
    """A window at the model's rate.

    Arguments:
        signal: shape (window, M), standardised and calibrated; where it is not heard yet its last row is held.
        time_s: of each row.
        baseline: clean-air readings that it is relative to; None where there are none.
        heard: rows that were heard.
        over_s: time since the frame was full [s]; negative before.
        missing: largest share of a channel's readings that was missing; `worst`: that channel.
    """

    signal: np.ndarray
    time_s: np.ndarray
    baseline: np.ndarray | None
    heard: int
    over_s: float
    missing: float
    worst: str


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
        if absent := missing_channels(bundle.preprocessing.channels, channels, where="the source"):
            raise absent
        if bundle.preprocessing.lags or bundle.preprocessing.low_pass_Hz or bundle.preprocessing.high_pass_Hz:
            raise ConfigError(
                f"the preprocessing of {bundle.name} filters or takes differences, which a stream cannot do yet",
                remedy="Use a bundle that `unmixnet train` wrote",
            )
        if session is not None:
            session.check(bundle)
        if not every_s > 0:
            raise ConfigError(f"an estimate every {every_s} s, expected a positive time", remedy="Use 1")
        return cls(
            bundle, tuple(list(channels).index(name) for name in bundle.preprocessing.channels), session, every_s
        )

    @property
    def window(self) -> int:
        """Bins that the model looks at."""
        return self.bundle.spec.window

    @property
    def rate_Hz(self) -> float:
        """Rate of the bins."""
        return self.bundle.spec.rate_Hz

    @property
    def anchored(self) -> bool:
        """Whether a window has to start in clean air."""
        return (
            self.bundle.preprocessing.baseline is Baseline.RECORDING and self.bundle.spec.settings.start == "clean air"
        )

    @cached_property
    def scale(self) -> Scale:
        """On which offsets add."""
        return Scale(Response(self.bundle.preprocessing.response))

    @cached_property
    def compiled(self) -> CompiledModel:
        """The compiled model."""
        return compile_model(self.bundle.model, self.window)

    @cached_property
    def watch(self) -> Watch:
        """How exposures are recognised."""
        threshold = float(np.clip(0.5 * self.bundle.calibration.background.least, 0.08, 0.3))
        ready = self.bundle.preprocessing
        return Watch(self.scale, np.array(ready.sd), threshold, self.rate_Hz, self._lag(threshold))

    def _lag(self, threshold: float) -> int:
        """Bins that pass, as the model's own physics says, from a release until the sensors notice it: the median."""
        if not self.anchored:
            return 0
        air = np.tile(np.array(self.bundle.spec.air, np.float32), (self.window, 1))
        traces = np.stack([self.compiled.pure(k, air) for k in range(len(self.bundle.components))])
        away = np.max(np.abs(traces - air[0]), axis=2) > FOOT * threshold
        first = np.where(away.any(axis=1), 1 + away.argmax(axis=1), 0)
        seen = round(float(np.median(first))) * solver_of(self.bundle).settings.stride
        # A window that begins a little late is read as well as one in time; one that begins early looks strange.
        return max(seen - round(_LATE_S * self.rate_Hz), 0)

    def warm(self) -> None:
        """Compile, so that no estimate has to wait for it."""
        self.compiled(np.zeros((self.window, len(self.columns)), np.float32))
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
        if self.bundle.preprocessing.baseline is not Baseline.RECORDING and frame.heard < needed:
            drift = ()
        if frame.heard < needed and (state.exposure.onset is not None or not self.anchored):
            words = listening_words(
                frame.heard / self.rate_Hz, needed / self.rate_Hz, exposed=state.exposure.onset is not None
            )
            return replace(self._warming(time_s, words), drift=drift), state
        if frame.missing > _MOST_MISSING:
            return replace(self._warming(time_s, gap_words(frame.worst, frame.missing)), drift=drift), state
        found = self._judged(time_s, state, frame)
        if self.bundle.preprocessing.baseline is not Baseline.RECORDING and found.status != NOTHING:
            drift = ()  # the sensors may have settled in an odour: only clean air has a clean-air level
        words = (*found.words, *drift_words(self.bundle.preprocessing.channels, drift, against))
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
        ready = self.bundle.preprocessing
        sd, mean = np.array(ready.sd), np.array(ready.mean)
        if ready.baseline is Baseline.RECORDING:
            return tuple((exposure.level - exposure.first_level).tolist()), "where it was when this session began"
        base = self.baseline()
        signal = (self.scale.respond(self.scale.unwatched(exposure.level * sd), base) - mean) / sd
        return tuple((signal - np.array(self.bundle.spec.air)).tolist()), "that of the training"

    def baseline(self) -> np.ndarray | None:
        """The clean-air reading that the bundle brings along, if it does."""
        ready = self.bundle.preprocessing
        if ready.baseline is not Baseline.REFERENCE:
            return None
        return np.mean([np.array(levels) for levels in ready.reference.values()], axis=0)


FIRST_ANSWER = 1 / 3
"""Share of a window after which an exposure is answered; before it an answer would be a guess."""
_BRIDGED_S = 2.0
"""Gaps up to this long are bridged by a straight line and not counted as missing."""


def frame_of(engine: "Engine", state: "EngineState") -> Frame:
    """The window that starts where the odour came, or the last one."""
    bins, now, window = state.bins, state.exposure, engine.window
    anchored = engine.anchored and now.onset is not None
    oldest = bins.closed - bins.kept
    # what the sensors did before they settled says nothing about the air
    begin = max(now.onset or 0, oldest) if anchored else max(bins.closed - window, oldest, now.since)
    end = min(begin + window, bins.closed)
    rows = slice(begin - bins.closed + len(bins.g), end - bins.closed + len(bins.g))
    g, missing = _filled(bins.g[rows], engine.rate_Hz)
    baseline = _baseline(engine, state, bins.first[rows])
    signal = (engine.scale.respond(g, baseline) - np.array(engine.bundle.preprocessing.mean)) / np.array(
        engine.bundle.preprocessing.sd
    )
    if engine.session is not None:
        signal = engine.session.apply(signal)
    heard, time_s = len(signal), bins.time_s[rows]
    if heard < window:
        signal, time_s = _stretched(signal, time_s, window, engine.rate_Hz, before=not anchored)
    over_s = (bins.closed - begin - window) / engine.rate_Hz
    worst = int(np.argmax(missing)) if len(missing) else 0
    name = engine.bundle.preprocessing.channels[worst]
    return Frame(signal.astype(np.float32), time_s, baseline, heard, over_s, float(missing[worst]), name)


def _baseline(engine: "Engine", state: "EngineState", first: np.ndarray) -> np.ndarray | None:
    """As the preprocessing takes it: the first row, or what the bundle brings along; in an exposure its first row."""
    if engine.bundle.preprocessing.baseline is not Baseline.RECORDING:
        return engine.baseline()
    if state.exposure.onset is not None:
        return state.exposure.clean
    return np.array([column[np.argmax(np.isfinite(column))] for column in first.T])


def _filled(g: np.ndarray, rate_Hz: float) -> tuple[np.ndarray, np.ndarray]:
    """Without NaN, along straight lines; and the share of each channel that was missing for longer than is bridged."""
    hole = ~np.isfinite(g)
    if not hole.any():
        return g, np.zeros(g.shape[1])
    filled, rows, lost = g.copy(), np.arange(len(g)), np.zeros(g.shape[1])
    for m in np.flatnonzero(hole.any(axis=0)):
        known = ~hole[:, m]
        if not known.any():
            filled[:, m], lost[m] = 0.0, 1.0
            continue
        filled[:, m] = np.interp(rows, rows[known], g[known, m])
        lost[m] = _long_holes(hole[:, m], max(1, round(_BRIDGED_S * rate_Hz))) / len(g)
    return filled, lost


def _long_holes(hole: np.ndarray, bridged: int) -> int:
    """Rows in holes that are longer than what is bridged."""
    edges = np.diff(np.concatenate([[0], hole.astype(int), [0]]))
    lengths = np.flatnonzero(edges < 0) - np.flatnonzero(edges > 0)
    return int(lengths[lengths > bridged].sum())


def _stretched(
    signal: np.ndarray, time_s: np.ndarray, window: int, rate_Hz: float, *, before: bool
) -> tuple[np.ndarray, np.ndarray]:
    """A whole window: the first row held before it in clean air, the last row held after it in an exposure."""
    extra = window - len(signal)
    steps = np.arange(1, extra + 1) / rate_Hz
    if before:
        return np.concatenate([np.repeat(signal[:1], extra, axis=0), signal]), np.concatenate(
            [time_s[0] - steps[::-1], time_s]
        )
    return np.concatenate([signal, np.repeat(signal[-1:], extra, axis=0)]), np.concatenate([time_s, time_s[-1] + steps])


def judge(engine: "Engine", time_s: float, frame: "Frame", *, held: Estimate | None = None) -> Estimate:
    """The estimate of a frame; of one that is held only the words change."""
    rate = engine.rate_Hz
    spans = (min(frame.heard, engine.window) / rate, engine.window / rate)
    waited_s = max(frame.over_s, 0.0) if engine.anchored else 0.0
    if held is not None and held.answer is not None:
        return replace(held, waited_s=waited_s, words=found_words(held.answer, *spans, waited_s=waited_s))
    answer, run = _answered(engine, frame)
    steps = max(1, min(len(answer.time_s), (frame.heard - 1) // solver_of(engine.bundle).settings.stride))
    partial = frame.heard < engine.window and answer.verdict is not Verdict.NOTHING
    answer = _heard_so_far(answer, steps, frame.heard / engine.window) if partial else answer
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
        reconstructed=_readings(engine, frame, answer.reconstructed),
        states=_now(answer, run, steps - 1 if partial else -1),
        closure=answer.closure,
        heard=min(frame.heard / engine.window, 1.0),
        waited_s=waited_s,
        words=found_words(answer, *spans, waited_s=waited_s),
        answer=answer,
    )


def _answered(engine: "Engine", frame: "Frame") -> tuple[Answer, Rollout]:
    bundle, Y = engine.bundle, frame.signal[None]
    model = solver_of(bundle)
    inference, run = engine.compiled(frame.signal)
    evidence = evidence_of(Y, outputs_of(model, Y, inference, np.asarray(run.saved.y)), bundle.spec)
    findings = troubles(run, frame.time_s[:1], model.settings.step_s)
    if engine.session is not None:
        findings += (engine.session.sentence,)
    read = Read(Trace(frame.signal, frame.time_s), evidence, [0], [0], [0], run, findings)
    return answer_of(bundle, read, path="live", unit=str(bundle.preprocessing.response)), run


def _heard_so_far(answer: Answer, steps: int, share: float) -> Answer:
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


def _readings(engine: "Engine", frame: "Frame", response: np.ndarray) -> np.ndarray:
    """A reconstructed response as the readings that the sensors of this session would give."""
    ready = engine.bundle.preprocessing
    if engine.session is not None:
        mean, sd = np.array(ready.mean), np.array(ready.sd)
        response = engine.session.map.undo((response - mean) / sd) * sd + mean
    return engine.scale.readings(engine.scale.unrespond(response, frame.baseline))


def _now(answer: Answer, run: Rollout, step: int) -> StatesNow:
    """All components together, at one step."""
    saved: Any = run.saved
    states = answer.states
    total = [np.asarray(part[0, step], float)[:, 1:].sum(axis=1) for part in (saved.x, saved.J, saved.theta)]
    return StatesNow(states.cells, states.edges, states.seats, 1e6 * total[0], total[1], total[2])
