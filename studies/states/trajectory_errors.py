r"""Trajectory errors of C, J, θ and M against reference states.

    RMSE_q = √⟨(q̂ − q*)²⟩ / √⟨q*²⟩_train        mean over recordings, times, places and odorants

**Departure from the paper**: it prints the numerator alone, in mol/m³, mol/(m² s), 1 and mol; divided by the root mean
square of the reference over training recordings, a state that is always zero scores about 1 in all four.
"""

from collections.abc import Callable, Sequence

import numpy as np

from studies.states.physical import PhysicalStates, compared
from unmixnet.inference.scores import RESAMPLES, Row
from unmixnet.metrics import bootstrap_interval

__all__ = ["mean_row", "rmse_row", "squared_errors", "units"]


def units(reference: PhysicalStates, *, same_graph: bool = True) -> dict[str, float]:
    """√⟨q*²⟩ of each quantity, of training recordings."""
    return {name: float(np.sqrt(np.mean(q**2))) for name, q in compared(reference, same_graph=same_graph).items()}


def squared_errors(
    guess: PhysicalStates, reference: PhysicalStates, unit: dict[str, float], *, same_graph: bool = True
) -> dict[str, np.ndarray]:
    """Mean squared error of every recording, in units of the reference, (n,) for each quantity."""
    found, truth = (compared(states, same_graph=same_graph) for states in (guess, reference))
    return {
        name: np.mean((found[name] - truth[name]) ** 2, axis=tuple(range(1, truth[name].ndim))) / unit[name] ** 2
        for name in truth
    }


def rmse_row(names: tuple[str, str, str, str], squares: Sequence[np.ndarray], groups: Sequence[str]) -> Row:
    """Root of the mean square over recordings; one array of squares for each seed."""
    return _row(names, squares, groups, lambda value, weight: float(np.sqrt(np.average(value, weights=weight))))


def mean_row(names: tuple[str, str, str, str], values: Sequence[np.ndarray], groups: Sequence[str]) -> Row:
    """Mean over recordings; one array of values for each seed."""
    return _row(names, values, groups, lambda value, weight: float(np.average(value, weights=weight)))


def _row(
    names: tuple[str, str, str, str],
    per_seed: Sequence[np.ndarray],
    groups: Sequence[str],
    reduce: Callable[[np.ndarray, np.ndarray | None], float],
) -> Row:
    """Names are protocol, split, model, metric; the interval is the first seed's."""
    means = [reduce(values, None) for values in per_seed]
    first = np.asarray(per_seed[0], float)
    interval = bootstrap_interval(
        lambda guess, _, weight: reduce(guess, weight), first, np.zeros_like(first), groups, resamples=RESAMPLES
    )
    protocol, split, model, metric = names
    sd = float(np.std(means, ddof=1)) if len(means) > 1 else 0.0
    about = (protocol, split, "trajectory", model, metric, float(np.mean(means)), sd)
    return Row(*about, interval.lo, interval.hi, interval.groups, len(means))
