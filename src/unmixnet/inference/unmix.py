"""From one recording to one answer: shares, how far to trust them, and the physics that implies them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from unmixnet.errors import ConfigError, UnmixError
from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.evidence import Evidence, evidence_of, outputs_of
from unmixnet.inference.reconstruction import closure_of, states_of, stitch, stitch_starts, troubles
from unmixnet.inference.refine import Refined
from unmixnet.inference.refine import refine as refine_windows
from unmixnet.inference.report import Answer, Verdict
from unmixnet.model.predict import encode, solve
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.physics.rollout import Rollout
from unmixnet.recordings.recording import Recording
from unmixnet.recordings.temporal import window_starts
from unmixnet.recordings.trace import Trace

if TYPE_CHECKING:
    from unmixnet.inference.session import SessionCalibration

__all__ = ["Read", "answer_of", "solver_of", "unmix", "verdict_of"]

_UNITS = {
    "level": "reading",
    "relative": "relative change",
    "log-ratio": "ln(reading / clean air)",
    "log-conductance": "ln conductance",
}


@dataclass(frozen=True, eq=False)
class Read:
    """A recording after the model has read it.

    Arguments:
        asked: first rows of the windows that answer.
        shown: first rows of the windows that make the reconstructed trace; `places` is where their rollouts are.
        run: rollouts of all windows.
    """

    trace: Trace
    evidence: Evidence
    asked: list[int]
    shown: list[int]
    places: list[int]
    run: Rollout
    findings: tuple[str, ...]


def unmix(
    bundle: Bundle, recording: Recording, *, refine: int = 0, session: "SessionCalibration | None" = None
) -> Answer:
    """What is in a recording.

    Arguments:
        bundle: with UnMixNet in it; a baseline has no solver to answer with.
        refine: gradient steps through the solver on the encoder's answer.
        session: calibration of the sensors in the session of this recording.
    """
    model = solver_of(bundle)
    read = _read(bundle, model, recording, refine, session)
    if not np.all(np.isfinite(read.evidence.ratios)):
        raise UnmixError(
            "the model gives no finite answer", where=recording.path, remedy="Check the readings with `unmixnet check`"
        )
    return answer_of(
        bundle, read, path=recording.path, unit=_unit(bundle, recording), noticed=_noticed(bundle, recording)
    )


def verdict_of(bundle: Bundle, evidence: Evidence) -> Verdict:
    """What may be claimed."""
    calibration = bundle.calibration
    if calibration.background.is_nothing(evidence):
        return Verdict.NOTHING
    novelty = calibration.novelty
    if novelty is not None and novelty.score(evidence) > novelty.limit:
        return Verdict.UNLIKE
    return Verdict.MIXTURE


def _read(
    bundle: Bundle, model: UnMixNet, recording: Recording, refine: int, session: "SessionCalibration | None"
) -> Read:
    window, stride = bundle.spec.window, model.settings.stride
    trace = bundle.trace(recording)
    if session is not None:
        session.check(bundle)
        trace = replace(trace, signal=session.apply(trace.signal), findings=(*trace.findings, session.sentence))
    asked = list(window_starts(len(trace), window, bundle.spec.stride))
    shown = stitch_starts(len(trace), window, stride)
    begins = sorted({*asked, *shown})
    Y = np.stack([trace.signal[start : start + window] for start in begins])
    inference, findings = encode(model, Y), trace.findings
    if refine > 0:
        done = refine_windows(model, Y, inference, steps=refine, noise=bundle.calibration.noise)
        inference, findings = done.inference, (*findings, _refined(done, refine))
    run = solve(model, inference, Y)
    one = [begins.index(start) for start in asked]
    outputs = outputs_of(model, Y, inference, np.asarray(run.saved.y))
    evidence = evidence_of(Y[one], outputs[one], bundle.spec)
    findings += troubles(run, trace.time_s[begins], model.settings.step_s)
    return Read(trace, evidence, asked, shown, [begins.index(start) for start in shown], run, findings)


def answer_of(bundle: Bundle, read: Read, *, path: str, unit: str, noticed: Sequence[str] = ()) -> Answer:
    """The answer from what the model has read.

    Arguments:
        path: the recording's place; `unit`: of its traces; `noticed`: what its reader wants to say.
    """
    model = solver_of(bundle)
    calibration, evidence, time_s = bundle.calibration, read.evidence, read.trace.time_s
    shares = calibration.shares(evidence.ratios)
    low, high = calibration.intervals.of(shares)
    y, stride = np.asarray(read.run.saved.y), model.settings.stride
    whole = stitch(read.shown, y[read.places], stride)
    seen, middle = read.trace.signal[whole.rows], len(read.shown) // 2
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
        fit=float(np.sqrt(np.mean((seen - whole.y) ** 2))),
        channels=bundle.preprocessing.channels,
        unit=unit,
        time_s=time_s[whole.rows],
        measured=seen * sd + mean,
        reconstructed=whole.y * sd + mean,
        window_time_s=time_s[np.array(read.asked) + bundle.spec.window // 2],
        window_ratios=calibration.finish(evidence.ratios),
        states=states_of(read.run, read.places[middle], time_s[read.shown[middle] + steps], model.chamber),
        closure=closure_of(read.run),
        findings=(*noticed, *read.findings),
        confidence_note=_confidence(bundle),
    )


def solver_of(bundle: Bundle) -> UnMixNet:
    """The model of a bundle that has a solver; any other is refused."""
    if not bundle.has_solver:
        raise ConfigError(
            f"the bundle {bundle.name} holds {bundle.spec.network} without a solver, which cannot be unmixed with",
            remedy="Use a bundle whose model.name is unmixnet with closure = true, or score this one by "
            "`unmixnet evaluate`",
        )
    return bundle.model


def _refined(done: Refined, steps: int) -> str:
    before, after = float(np.mean(done.before)), float(np.mean(done.after))
    return (
        f"Refined by {steps} steps through the solver: the objective fell from {before:.3g} to {after:.3g}. The "
        "intervals were calibrated without refinement."
    )


def _noticed(bundle: Bundle, recording: Recording) -> list[str]:
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
        return "There were no validation recordings, so the intervals say nothing."
    return (
        f"{100 * table.level:.0f} % intervals by split conformal prediction on {table.recordings} recordings that the "
        "model was not trained on; they hold for recordings like those."
    )
