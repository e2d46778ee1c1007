"""What the rollouts of a recording's windows imply: its reconstructed trace, its states, how well the laws close."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from unmixnet.inference.answer import ClosureReport, States
from unmixnet.physics.rollout import Rollout
from unmixnet.physics.state import Status
from unmixnet.simulation.chamber import Chamber

__all__ = ["Stitched", "closure_of", "solver_failures", "states_of", "stitch", "stitch_starts"]


@dataclass(frozen=True, eq=False)
class Stitched:
    """A trace put together from windows: the rows of the recording that it covers, and its values there."""

    rows: np.ndarray
    y: np.ndarray


def stitch_starts(length: int, window: int, stride: int) -> list[int]:
    """First rows of windows whose steps follow each other without a gap; the last one ends where the recording does.

    `stride` is the number of rows in a step of the solver.
    """
    hop = max((window - 1) // stride, 1) * stride
    starts = [*range(0, length - window + 1, hop)]
    last = (length - window) // stride * stride
    return starts if starts[-1] == last else [*starts, last]


def stitch(starts: list[int], y: np.ndarray, stride: int) -> Stitched:
    """One trace of windows (n, steps, M); where two overlap the later one only adds what is new."""
    rows: list[np.ndarray] = []
    values: list[np.ndarray] = []
    reached = -1
    for start, window in zip(starts, y, strict=True):
        at = start + stride * np.arange(1, len(window) + 1)
        fresh = at > reached
        rows.append(at[fresh])
        values.append(window[fresh])
        reached = int(at[-1])
    return Stitched(np.concatenate(rows), np.concatenate(values))


def states_of(rollout: Rollout, which: int, time_s: np.ndarray, chamber: Chamber) -> States:
    """Trajectories of one window; the carrier and the empty site are left out.

    The rollout has axes (windows, steps, species, places), a trajectory (steps, places, species).
    """
    saved: Any = rollout.saved

    def shown(part: Any) -> np.ndarray:
        return np.ascontiguousarray(np.moveaxis(np.asarray(part[which], float)[:, 1:], 1, -1))

    return States(
        tuple(cell.name for cell in chamber.cells),
        tuple(f"{edge.tail} → {edge.head}" for edge in chamber.edges),
        time_s,
        1e6 * shown(saved.x),
        shown(saved.J),
        shown(saved.theta),
        tuple(sensor.cell for sensor in chamber.sensors),
    )


def closure_of(rollout: Rollout) -> ClosureReport:
    """The worst over all windows and steps."""
    saved: Any = rollout.saved
    J = np.asarray(saved.J, float)
    total = np.abs(J).sum(axis=2)
    net = np.abs(J.sum(axis=2)) / np.where(total > 0, total, 1)
    return ClosureReport(
        flux_residual=float(np.max(saved.closure.ms_residual)),
        mass_error=float(np.max(saved.closure.mass_error)),
        simplex_error=float(np.max(saved.closure.simplex_error)),
        flux_sum=float(np.max(net, initial=0)),
    )


def solver_failures(rollout: Rollout, begin_s: np.ndarray, step_s: float) -> tuple[str, ...]:
    """Windows whose rollout ended with an error; they show their last good state."""
    sentences = []
    for code, step, begin in zip(np.asarray(rollout.status), np.asarray(rollout.failed_at), begin_s, strict=True):
        status = Status(int(code))
        if status > Status.LIMITED:
            reason = status.text.partition("; ")[0]
            sentences.append(f"The solver stopped {step * step_s:g} s after {begin:.1f} s: {reason}.")
    return tuple(sentences)
