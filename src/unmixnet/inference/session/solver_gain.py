r"""Gains through the solver: what session makes the physics of the labels look like the references?

    min over g, o, s   Σ_n n_t · mean_t ((x_n − [b + g (ŷ_n(s_n) − b) + o]) / σ)²
                       + Σ (ln g / σ_g)² + Σ (o / σ_o)² + Σ_n (s_n / σ_s)²

ŷ_n(s) is what the bundle's physics makes of label n at log strength s, b its clean-air level, σ what its
reconstructions usually leave. How strong a reference was nobody knows: s takes part with its prior, so that a strong
reference is not taken for a sensitive sensor. Gauss–Newton on ŷ tabulated over s; the map is the inverse,
x̂ = b + (x − b − o)/g.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmixnet.inference.session.calibration import Map
from unmixnet.inference.session.expected import STRENGTHS
from unmixnet.inference.session.references import Reference

__all__ = ["Priors", "fit_solver_gain"]

_TURNS = 30


@dataclass(frozen=True, eq=False)
class Priors:
    """How sessions differ.

    Arguments:
        air, noise: clean-air level, and what reconstructions leave, (M,).
        gain, offset, strength: standard deviations of ln g, o and s.
        independent: n_t, independent samples in a trace: what is left of one is smooth, not white.
    """

    air: np.ndarray
    noise: np.ndarray
    gain: float = 0.2
    offset: float = 1.0
    strength: float = 0.25
    independent: float = 5.0


def fit_solver_gain(references: Sequence[Reference], priors: Priors, clean: np.ndarray | None = None) -> Map:
    """From references, and levels of clean air (n, M) if there are any."""
    M, k = len(priors.air), len(references)
    strength, gain, offset = np.zeros(k), np.ones(M), np.zeros(M)
    for _ in range(_TURNS):
        made = [_at(one.expected, s) - priors.air for one, s in zip(references, strength, strict=True)]
        gain, offset = _sensors(references, made, gain, priors, clean)
        strength = np.array([_strength(one, gain, offset, priors) for one in references])
    return Map(tuple((1 / gain).tolist()), tuple((priors.air - (priors.air + offset) / gain).tolist()))


def _sensors(
    references: Sequence[Reference],
    made: Sequence[np.ndarray],
    now: np.ndarray,
    priors: Priors,
    clean: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """g and o of every sensor for known strengths: two linear equations each, with ln g ≈ ln g₀ + (g − g₀)/g₀."""
    weight = priors.independent / priors.noise**2
    A, B, C, p, q = (np.zeros_like(priors.air) for _ in range(5))
    for one, y in zip(references, made, strict=True):
        x = one.seen - priors.air
        A += weight * np.mean(y * y, axis=0)
        B += weight * np.mean(y, axis=0)
        C += weight
        p += weight * np.mean(y * x, axis=0)
        q += weight * np.mean(x, axis=0)
    if clean is not None and len(clean):
        C += weight * len(clean)
        q += weight * np.sum(clean - priors.air, axis=0)
    pull = 1 / (priors.gain * now) ** 2
    A, p, C = A + pull, p + pull * now * (1 - np.log(now)), C + 1 / priors.offset**2
    det = A * C - B * B
    gain = np.clip((p * C - B * q) / det, 0.2, 5.0)
    return gain, (q - B * gain) / C


def _strength(one: Reference, gain: np.ndarray, offset: np.ndarray, priors: Priors) -> float:
    """The best strength on a fine grid."""
    fine = np.linspace(STRENGTHS[0], STRENGTHS[-1], 181)
    made = np.stack([_at(one.expected, s) for s in fine])
    left = (one.seen - priors.air - offset - gain * (made - priors.air)) / priors.noise
    cost = priors.independent * np.mean(left**2, axis=1).sum(axis=1) + (fine / priors.strength) ** 2
    return float(fine[int(np.argmin(cost))])


def _at(expected: np.ndarray, s: float) -> np.ndarray:
    """ŷ at a strength between those that were solved."""
    place = np.interp(s, STRENGTHS, np.arange(len(STRENGTHS)))
    low = min(int(place), len(STRENGTHS) - 2)
    return (1 - (place - low)) * expected[low] + (place - low) * expected[low + 1]
