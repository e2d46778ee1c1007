"""The answer for one recording: shares, how far to trust them, and the states that the physics implies."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from unmixnet.errors import UnmixError

__all__ = ["Answer", "AnswerError", "ClosureReport", "States", "Verdict"]


class AnswerError(UnmixError):
    """An answer whose parts do not fit together, or that cannot be written."""


class Verdict(StrEnum):
    """What may be claimed about the recording."""

    MIXTURE = "mixture"
    NOTHING = "nothing above background"
    UNLIKE = "unlike anything I was trained on"


@dataclass(frozen=True, eq=False)
class States:
    """Trajectories inside the chamber, implied by the model, not measured."""

    cells: tuple[str, ...]
    edges: tuple[str, ...]
    """Names of the form "tail → head"; fluxes are positive from tail to head."""
    time_s: np.ndarray
    concentration_ppm: np.ndarray
    """(T, cells, components): mole fraction × 10⁶, not calibrated."""
    flux_mol_m2_s: np.ndarray
    """(T, edges, components)."""
    coverage: np.ndarray
    """(T, sensors, components): share of the sites that a component has taken."""
    seats: tuple[str, ...] = ()
    """The cell of each sensor; empty if unknown."""

    def __post_init__(self) -> None:
        _check_shapes(self, {"time_s": "T", "concentration_ppm": "TVK", "flux_mol_m2_s": "TEK", "coverage": "TMK"})


@dataclass(frozen=True)
class ClosureReport:
    """Largest relative violation of each law over the rollout; zero in exact arithmetic."""

    flux_residual: float
    """Maxwell–Stefan residual over the gradient."""
    mass_error: float
    """Moles of odorant that appear or vanish, over the moles that are there."""
    simplex_error: float
    """Departure of the coverages from the simplex."""
    flux_sum: float
    """Net diffusive flux, carrier included, over the sum of absolute fluxes."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer for one recording. K components, M channels, T samples, n windows.

    >>> import unmixnet as um
    >>> answer = um.unmix(um.load_model("simulated"), um.read_recording(um.example_recording()))
    >>> isinstance(answer, um.Answer), answer.trusted, answer.channels
    (True, True, ('MOX1', 'MOX2', 'MOX3', 'MOX4'))
    >>> bool(abs(answer.ratios.sum() - 1) < 1e-9)
    True
    """

    recording: str
    model: str
    model_digest: str
    verdict: Verdict
    components: tuple[str, ...]
    ratios: np.ndarray
    """(K,), sum one."""
    low: np.ndarray
    high: np.ndarray
    """(K,): ends of the 90 % intervals."""
    presence: np.ndarray
    """(K,): probability that the component is present."""
    strength: float
    """Relative to the median training recording."""
    background: float
    """Strength below which nothing is claimed."""
    novelty: float
    """Share of the validation recordings that look at least as strange; small is strange."""
    fit: float
    """RMS of measured − reconstructed over the standard deviation of the measured training signal."""
    channels: tuple[str, ...]
    unit: str
    time_s: np.ndarray
    measured: np.ndarray
    """(T, M) in `unit`."""
    reconstructed: np.ndarray
    """(T, M) in `unit`."""
    window_time_s: np.ndarray
    window_ratios: np.ndarray
    """(n, K): the shares along the recording."""
    states: States
    closure: ClosureReport
    findings: tuple[str, ...]
    """Findings of the reader and of the model, one sentence each."""
    confidence_note: str = ""
    """How the intervals were made, in one sentence."""

    def __post_init__(self) -> None:
        sizes = {"K": len(self.components), "M": len(self.channels)}
        shapes = dict.fromkeys(("ratios", "low", "high", "presence"), "K")
        shapes |= {"time_s": "T", "measured": "TM", "reconstructed": "TM", "window_time_s": "n", "window_ratios": "nK"}
        _check_shapes(self, shapes, **sizes)
        _check_shapes(self.states, {"concentration_ppm": "TVK", "coverage": "TMK"}, **sizes)

    @property
    def trusted(self) -> bool:
        """Whether the verdict lets the shares be trusted."""
        return self.verdict is Verdict.MIXTURE

    @property
    def ranking(self) -> np.ndarray:
        """Indices of the components, largest share first."""
        return np.argsort(-np.nan_to_num(self.ratios, nan=-1.0), kind="stable")


def _check_shapes(owner: Any, shapes: dict[str, str], **sizes: int) -> None:
    """Make the named fields NumPy arrays and check that axes of one letter have one length."""
    named = {"V": getattr(owner, "cells", None), "E": getattr(owner, "edges", None)}
    sizes = {letter: len(names) for letter, names in named.items() if names is not None} | sizes
    for name, axes in shapes.items():
        array = np.asarray(getattr(owner, name), float)
        object.__setattr__(owner, name, array)
        if array.ndim == len(axes):
            for letter, length in zip(axes, array.shape, strict=True):
                sizes.setdefault(letter, length)
        expected = tuple(sizes.get(letter, 0) for letter in axes)
        if array.shape != expected:
            raise AnswerError(
                f"the shape is {array.shape}, expected {expected} ({', '.join(axes)})",
                where=f"{type(owner).__name__}.{name}",
                remedy="Give one row per time and one column per name",
            )
