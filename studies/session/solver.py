"""UnMixNet with session gains fitted through its own solver, from references of the session."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from studies.session.draws import Draw
from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.session.calibration import Map
from unmixnet.inference.session.expected import expected_traces
from unmixnet.inference.session.fit import priors_of
from unmixnet.inference.session.references import Reference, traces_of
from unmixnet.inference.session.solver_gain import fit_solver_gain
from unmixnet.recordings.recording import Recording

__all__ = ["SolverMaps"]


@dataclass(frozen=True, eq=False)
class SolverMaps:
    """What the physics of a bundle makes of every label that a reference may be said to have.

    Arguments:
        seen: first window of every possible reference at the ends of the solver's steps, (p, steps, M).
        expected: traces for each label, by its rounded shares.
    """

    bundle: Bundle
    seen: np.ndarray
    expected: dict[bytes, np.ndarray]

    @classmethod
    def of(cls, bundle: Bundle, pool: Sequence[Recording], labels: np.ndarray) -> "SolverMaps":
        """Solve every different label (n, K) once."""
        window, stride = bundle.config.window, bundle.config.settings.stride
        rows = np.unique(np.round(labels, 6), axis=0)
        traces = traces_of(bundle, pool)
        made = expected_traces(bundle, rows, np.stack([traces[0][:window]] * len(rows)))
        steps = made.shape[2]
        seen = np.stack([trace[stride : steps * stride + 1 : stride] for trace in traces]).astype(float)
        return cls(bundle, seen, {_key(row): one for row, one in zip(rows, made, strict=True)})

    def map(self, draw: Draw) -> Map:
        """The session that makes the physics of the labels look like the references."""
        told = []
        for place, label in zip(draw.references, draw.labels, strict=True):
            seen, made = self.seen[place], self.expected[_key(label)]
            told.append(Reference(seen, label, seen, made, seen.mean(axis=0), made.mean(axis=(0, 1))))
        return fit_solver_gain(told, priors_of(self.bundle))


def _key(label: np.ndarray) -> bytes:
    return np.round(label, 6).astype(np.float32).tobytes()
