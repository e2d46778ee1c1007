"""From a window to an estimate, by the same steps as `unmix` takes from a recording to an answer."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unmixnet.inference.evidence import evidence_of, presence_of, residuals
from unmixnet.inference.reconstruction import troubles
from unmixnet.inference.report import Answer, Verdict
from unmixnet.inference.unmix import Read, answer_of, solver_of
from unmixnet.live.estimate import STATUS, Estimate, StatesNow
from unmixnet.live.messages import found_words
from unmixnet.physics.rollout import Rollout
from unmixnet.recordings.trace import Trace

if TYPE_CHECKING:
    from unmixnet.live.engine import Engine
    from unmixnet.live.frame import Frame

__all__ = ["judge"]


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
    inference, run = engine.look(frame.signal)
    evidence = evidence_of(
        Y,
        np.asarray(inference.a),
        presence_of(inference),
        np.asarray(inference.h_Y),
        residuals(model, Y, np.asarray(run.saved.y)),
        air=bundle.air,
        sign=bundle.sign,
    )
    findings = troubles(run, frame.time_s[:1], model.settings.step_s)
    if engine.session is not None:
        findings += (engine.session.sentence,)
    read = Read(Trace(frame.signal, frame.time_s), evidence, [0], [0], [0], run, findings)
    return answer_of(bundle, read, path="live", unit=str(bundle.ready.response)), run


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
    ready = engine.bundle.ready
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
