"""Answers to single windows of a stream: a bundle compiled once, with the answers that `unmix` gives for a file."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from unmixnet.inference.answer import Answer
from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.evidence import evidence_of, outputs_of
from unmixnet.inference.reconstruction import solver_failures
from unmixnet.inference.unmix import EncodedRecording, answer_of, solver_of
from unmixnet.model.predict import CompiledModel, compile_model
from unmixnet.physics.rollout import Rollout
from unmixnet.recordings.trace import Trace

if TYPE_CHECKING:
    from unmixnet.inference.session.calibration import SessionCalibration

__all__ = ["ChamberStates", "WindowAnswer", "WindowModel"]


@dataclass(frozen=True, eq=False)
class ChamberStates:
    """The chamber at one moment, all components together, implied by the model, not measured.

    Arguments:
        cells, edges, seats: names; `seats` are the cells of the sensors.
        concentration_ppm: of each cell.
        flux_mol_m2_s: through each edge, positive from tail to head.
        coverage: share of the sites that are taken, of each sensor.
    """

    cells: tuple[str, ...]
    edges: tuple[str, ...]
    seats: tuple[str, ...]
    concentration_ppm: np.ndarray
    flux_mol_m2_s: np.ndarray
    coverage: np.ndarray


@dataclass(frozen=True, eq=False)
class WindowAnswer:
    """The answer to one window; `states` are those of each step of the solver."""

    answer: Answer
    run: Rollout

    def states(self, step: int) -> ChamberStates:
        """The chamber at one step of the solver; −1 is the last."""
        saved: Any = self.run.saved
        names = self.answer.states
        x, J, theta = (np.asarray(part[0, step], float)[1:].sum(axis=0) for part in (saved.x, saved.J, saved.theta))
        return ChamberStates(names.cells, names.edges, names.seats, 1e6 * x, J, theta)


@dataclass(frozen=True, eq=False)
class WindowModel:
    """A bundle with a solver, compiled for windows of its own length.

    Arguments:
        session: calibration that the windows were made with; its sentence is added to the findings.
    """

    bundle: Bundle
    session: "SessionCalibration | None" = None

    @cached_property
    def compiled(self) -> CompiledModel:
        """Encoder and solver, compiled at the first use."""
        return compile_model(solver_of(self.bundle), self.bundle.spec.window)

    @property
    def rows_per_step(self) -> int:
        """Rows of a window in a step of the solver."""
        return solver_of(self.bundle).settings.stride

    def warm(self) -> None:
        """Compile and run once, so that no answer has to wait for it."""
        self.compiled(np.zeros((self.bundle.spec.window, len(self.bundle.preprocessing.channels)), np.float32))

    def answer(self, trace: Trace, *, path: str) -> WindowAnswer:
        """The answer to a trace of exactly one window, standardised and calibrated."""
        bundle, windows = self.bundle, trace.signal[None]
        model = solver_of(bundle)
        inference, run = self.compiled(trace.signal)
        evidence = evidence_of(windows, outputs_of(model, windows, inference, np.asarray(run.saved.y)), bundle.spec)
        findings = solver_failures(run, trace.time_s[:1], model.settings.step_s)
        if self.session is not None:
            findings += (self.session.sentence,)
        encoded = EncodedRecording(trace, evidence, [0], [0], [0], run, findings)
        return WindowAnswer(answer_of(bundle, encoded, path=path, unit=str(bundle.preprocessing.response)), run)

    def departure_rows(self, threshold: float) -> int:
        """Rows from a release in clean air until a sensor departs by `threshold`: the median over pure components."""
        air = np.tile(np.array(self.bundle.spec.air, np.float32), (self.bundle.spec.window, 1))
        traces = np.stack([self.compiled.pure(k, air) for k in range(len(self.bundle.components))])
        away = np.max(np.abs(traces - air[0]), axis=2) > threshold
        first = np.where(away.any(axis=1), 1 + away.argmax(axis=1), 0)
        return round(float(np.median(first))) * self.rows_per_step
