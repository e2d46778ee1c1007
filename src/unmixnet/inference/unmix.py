"""From one recording to one answer: shares, how far to trust them, and the physics that implies them."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unmixnet.errors import ConfigError, UnmixError
from unmixnet.inference.answer import Answer, Verdict
from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.evidence import Evidence, evidence_of, outputs_of
from unmixnet.inference.reconstruction import closure_of, solver_failures, states_of, stitch, stitch_starts
from unmixnet.inference.refine import Refined
from unmixnet.inference.refine import refine as refine_windows
from unmixnet.model.predict import encode, solve
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.physics.rollout import Rollout
from unmixnet.recordings.recording import Recording
from unmixnet.recordings.temporal import window_starts
from unmixnet.recordings.trace import Trace

if TYPE_CHECKING:
    from unmixnet.inference.session.calibration import SessionCalibration

__all__ = ["EncodedRecording", "answer_of", "solver_of", "unmix", "verdict_of"]

_UNITS = {
    "level": "reading",
    "relative": "relative change",
    "log-ratio": "ln(reading / clean air)",
    "log-conductance": "ln conductance",
}


@dataclass(frozen=True, eq=False)
class EncodedRecording:
    """A recording with what the encoder and the solver make of its windows.

    Arguments:
        starts: first rows of the windows whose evidence makes the answer.
        shown_starts: first rows of the windows that make the reconstructed trace.
        shown: where the rollouts of these are in `run`.
        run: rollouts of all windows.
    """

    trace: Trace
    evidence: Evidence
    starts: list[int]
    shown_starts: list[int]
    shown: list[int]
    run: Rollout
    findings: tuple[str, ...]


def unmix(
    bundle: Bundle, recording: Recording, *, refine: int = 0, session: "SessionCalibration | None" = None
) -> Answer:
    """What is in a recording: shares with 90 % intervals, a verdict, and the physics that implies them.

    Arguments:
        bundle: a model from `load_model`, with UnMixNet in it; a baseline has no solver to answer with.
        recording: from `read_recording`, with at least one window of the model's channels.
        refine: gradient steps through the solver on the encoder's answer.
        session: calibration of the sensors in the session of this recording.

    >>> import unmixnet as um
    >>> model = um.load_model("simulated")
    >>> answer = um.unmix(model, um.read_recording(um.example_recording()))  # 50 % peach, 50 % garlic
    >>> print(answer.verdict)
    mixture
    >>> [answer.components[k] for k in answer.ranking[:2]]
    ['garlic', 'peach']
    """
    model, steps = _checked(bundle, recording, refine, session)
    encoded = _encode(bundle, model, recording, steps, session)
    if not np.all(np.isfinite(encoded.evidence.ratios)):
        raise UnmixError(
            "the model gives no finite answer", where=recording.path, remedy="Check the readings with `unmixnet check`"
        )
    return answer_of(
        bundle, encoded, path=recording.path, unit=_unit(bundle, recording), warnings=_warnings(bundle, recording)
    )


def verdict_of(bundle: Bundle, evidence: Evidence) -> Verdict:
    """The verdict on a recording."""
    calibration = bundle.calibration
    if calibration.background.is_nothing(evidence):
        return Verdict.NOTHING
    novelty = calibration.novelty
    if novelty is not None and novelty.score(evidence) > novelty.limit:
        return Verdict.UNLIKE
    return Verdict.MIXTURE


def _checked(bundle: Any, recording: Any, refine: Any, session: Any) -> tuple[UnMixNet, int]:
    """The model and the steps of refinement; arguments of another kind are refused."""
    if not isinstance(bundle, Bundle):
        raise _wrong_kind("the model", bundle, "a trained model", "Load it with unmixnet.load_model")
    if not isinstance(recording, Recording):
        raise _wrong_kind("the recording", recording, "a recording", "Read it with unmixnet.read_recording")
    # duck-typed, since `session` is built on this module
    if session is not None and not all(hasattr(session, member) for member in ("check", "apply", "sentence")):
        raise _wrong_kind("session", session, "a session calibration", "Make one with `unmixnet calibrate-session`")
    try:
        steps = operator.index(refine)
    except TypeError:
        raise _wrong_kind("refine", refine, "a number of steps", "Use e.g. refine=20, or leave it out") from None
    if steps < 0:
        raise ConfigError(f"refine is {steps}, expected 0 or more steps", remedy="Use e.g. refine=20, or leave it out")
    return solver_of(bundle), steps


def _wrong_kind(name: str, value: Any, expected: str, remedy: str) -> ConfigError:
    return ConfigError(f"{name} is {type(value).__name__} {str(value)[:60]!r}, expected {expected}", remedy=remedy)


def _encode(
    bundle: Bundle, model: UnMixNet, recording: Recording, refine: int, session: "SessionCalibration | None"
) -> EncodedRecording:
    window, stride = bundle.spec.window, model.settings.stride
    trace = bundle.trace(recording)
    if session is not None:
        session.check(bundle)
        trace = replace(trace, signal=session.apply(trace.signal), findings=(*trace.findings, session.sentence))
    starts = list(window_starts(len(trace), window, bundle.spec.stride))
    shown_starts = stitch_starts(len(trace), window, stride)
    begins = sorted({*starts, *shown_starts})
    Y = np.stack([trace.signal[start : start + window] for start in begins])
    inference, findings = encode(model, Y), trace.findings
    if refine > 0:
        refined = refine_windows(model, Y, inference, steps=refine, noise=bundle.calibration.noise)
        inference, findings = refined.inference, (*findings, _refined(refined, refine))
    run = solve(model, inference, Y)
    answering = [begins.index(start) for start in starts]
    outputs = outputs_of(model, Y, inference, np.asarray(run.saved.y))
    evidence = evidence_of(Y[answering], outputs[answering], bundle.spec)
    findings += solver_failures(run, trace.time_s[begins], model.settings.step_s)
    shown = [begins.index(start) for start in shown_starts]
    return EncodedRecording(trace, evidence, starts, shown_starts, shown, run, findings)


def answer_of(
    bundle: Bundle, encoded: EncodedRecording, *, path: str, unit: str, warnings: Sequence[str] = ()
) -> Answer:
    """The answer from the model's evidence and rollouts.

    Arguments:
        path: of the recording.
        unit: of its traces.
        warnings: of its reader.
    """
    model = solver_of(bundle)
    calibration, evidence, time_s = bundle.calibration, encoded.evidence, encoded.trace.time_s
    shares = calibration.shares(evidence.ratios)
    low, high = calibration.intervals.of(shares)
    y, stride = np.asarray(encoded.run.saved.y), model.settings.stride
    whole = stitch(encoded.shown_starts, y[encoded.shown], stride)
    measured, middle = encoded.trace.signal[whole.rows], len(encoded.shown) // 2
    steps = stride * np.arange(1, y.shape[1] + 1)
    mean, sd = np.array(bundle.preprocessing.mean), np.array(bundle.preprocessing.sd)
    novelty = calibration.novelty
    return Answer(
        recording=path,
        model=bundle.name,
        model_digest=bundle.digest,
        verdict=verdict_of(bundle, evidence),
        components=bundle.components,
        ratios=shares,
        low=low,
        high=high,
        presence=np.mean(np.asarray(evidence.presence), axis=0),
        strength=calibration.background.strength(evidence),
        background=calibration.background.threshold,
        novelty=float("nan") if novelty is None else novelty.p_value(novelty.score(evidence)),
        fit=float(np.sqrt(np.mean((measured - whole.y) ** 2))),
        channels=bundle.preprocessing.channels,
        unit=unit,
        time_s=time_s[whole.rows],
        measured=measured * sd + mean,
        reconstructed=whole.y * sd + mean,
        window_time_s=time_s[np.array(encoded.starts) + bundle.spec.window // 2],
        window_ratios=calibration.to_shares(evidence.ratios),
        states=states_of(
            encoded.run, encoded.shown[middle], time_s[encoded.shown_starts[middle] + steps], model.chamber
        ),
        closure=closure_of(encoded.run),
        findings=(*warnings, *encoded.findings),
        confidence_note=_confidence(bundle),
    )


def solver_of(bundle: Bundle) -> UnMixNet:
    """The model of a bundle that has a solver; any other is refused."""
    if not bundle.has_solver:
        raise ConfigError(
            f"the bundle {bundle.name} holds {bundle.spec.network} without a solver, which `unmix` needs",
            remedy="Use a bundle whose model.name is unmixnet with closure = true, or score this one by "
            "`unmixnet evaluate`",
        )
    return bundle.model


def _refined(refined: Refined, steps: int) -> str:
    before, after = float(np.mean(refined.before)), float(np.mean(refined.after))
    return (
        f"Refined by {steps} steps through the solver: the objective fell from {before:.3g} to {after:.3g}. The "
        "intervals were calibrated without refinement."
    )


def _warnings(bundle: Bundle, recording: Recording) -> list[str]:
    """Warnings of the reader about the channels that are used, or about the whole file."""
    used = (None, *bundle.preprocessing.channels)
    return [
        finding.message
        for finding in recording.warnings
        if finding.code.severity == "warning" and finding.channel in used
    ]


def _unit(bundle: Bundle, recording: Recording) -> str:
    response = str(bundle.preprocessing.response)
    units = {recording.units[recording.channels.index(name)] for name in bundle.preprocessing.channels}
    return units.pop() if response == "level" and len(units) == 1 else _UNITS[response]


def _confidence(bundle: Bundle) -> str:
    table = bundle.calibration.intervals
    if not table.recordings:
        return "There were no validation recordings, so the intervals carry no information."
    return (
        f"{100 * table.level:.0f} % intervals by split conformal prediction on {table.recordings} recordings that the "
        "model was not trained on; they hold for recordings like those."
    )
