"""The calibration loss, its parts named as in the supplement, and the schedule of its stages."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

__all__ = [
    "JOINT",
    "L_H",
    "L_Y",
    "MIXTURE",
    "PURE",
    "CalibrationWeights",
    "L_mix",
    "L_phys",
    "Noise",
    "R",
    "Stage",
    "plain",
    "schedule",
    "whitened",
]

_LEAST = 1e-4
"""Least sd of a residual, in standard deviations of the training signal: no converter is better."""


@dataclass(frozen=True)
class CalibrationWeights:
    """λ of every part."""

    Y: float = 1.0
    H: float = 1.0
    mix: float = 1.0
    phys: float = 1.0
    reg: float = 1.0


@dataclass(frozen=True, eq=False)
class Noise:
    """Σ_Y: sd of each sensor's samples and of its level in a recording, shape (M,) each."""

    fast: np.ndarray
    level: np.ndarray

    @classmethod
    def of(cls, M: int, fast: float = 0.05, level: float = 0.2) -> "Noise":
        """The same for every sensor."""
        return cls(np.full(M, fast), np.full(M, level))

    @classmethod
    def estimated(cls, left: np.ndarray) -> "Noise":
        """From residuals, shape (n, T, M); the error of levels is pooled over the sensors.

        Were it estimated for each sensor, the strength of every recording would follow the sensor that it fits best,
        which would then count as free of error. One of the M levels of a recording is spent on its strength.
        """
        M, level = left.shape[2], left.mean(axis=1)
        fast = np.sqrt(np.mean((left - level[:, None]) ** 2, axis=(0, 1)))
        pooled = np.sqrt(np.mean(level**2) * M / max(M - 1, 1))
        return cls(np.maximum(fast, _LEAST), np.full(M, max(pooled, _LEAST)))

    def of_fingerprints(self, swing: np.ndarray, strength: float, gain: float, offset: float) -> "Noise":
        """Σ of H_i: whose recordings had uncorrected strengths, gains and offsets; `swing` is |H − air|."""
        return Noise(self.fast, np.sqrt(self.level**2 + offset**2 + (strength**2 + gain**2) * swing**2))

    @property
    def sd(self) -> np.ndarray:
        """Of one sample, all together."""
        return np.sqrt(self.fast**2 + self.level**2)


def whitened(left: np.ndarray, noise: Noise) -> np.ndarray:
    """Σ_Y^{−1/2} times residuals whose axes 1 and 2 are time and sensor."""
    shape = (1, 1, -1) + (1,) * (left.ndim - 3)
    level = left.mean(axis=1, keepdims=True)
    fast, slow = noise.fast.reshape(shape), np.sqrt(noise.fast**2 + left.shape[1] * noise.level**2).reshape(shape)
    return (left - level) / fast + level / slow


def plain(left: np.ndarray, noise: Noise) -> np.ndarray:
    """Residuals over √T σ, so that their squares add up to a mean over time."""
    shape = (1, 1, -1) + (1,) * (left.ndim - 3)
    return left / (np.sqrt(left.shape[1]) * noise.sd.reshape(shape))


def L_Y(left: np.ndarray, noise: Noise) -> float:
    """Σ_r ‖Ỹ − Ŷ‖²_{Σ_Y⁻¹}."""
    return float(np.sum(whitened(left, noise) ** 2))


def L_H(left: np.ndarray, noise: Noise) -> float:
    """Σ_i ‖H_i − Ĥ_i‖²; `left` is of the fingerprints."""
    return float(np.sum(plain(left, noise) ** 2))


def L_mix(left: np.ndarray, noise: Noise) -> float:
    """Σ over mixtures; `left` is theirs."""
    return float(np.sum(plain(left, noise) ** 2))


def L_phys(ms_residual: np.ndarray, mass_error: np.ndarray) -> float:
    """Σ_r of the squared normalised residuals, which only rounding keeps from zero."""
    return float(np.sum(np.square(ms_residual)) + np.sum(np.square(mass_error)))


def R(off: np.ndarray) -> float:
    """Σ of squared departures from the prior, in its standard deviations."""
    return float(np.sum(np.square(off)))


_RELEASE = frozenset({"rise", "decay"})


@dataclass(frozen=True)
class Stage:
    """One stage.

    Arguments:
        name: as in the supplement.
        free: fields of Θ that move.
        recordings: "pure", "mixtures" or "all".
        weights: λ of the loss.
        iterations: of Levenberg–Marquardt, at most.
        rounds: how often they are repeated, each with Σ_Y estimated by the one before.
    """

    name: str
    free: frozenset[str]
    recordings: Literal["pure", "mixtures", "all"]
    weights: CalibrationWeights
    iterations: int
    rounds: int = 1

    @property
    def tag(self) -> str:
        """A description that is the same in every process; the order of a printed set is not."""
        return f"{self.name} {sorted(self.free)} {self.recordings} {self.weights} {self.iterations} {self.rounds}"


PURE = frozenset({"alpha", "rise", "decay", "k_ads", "k_des", "beta", "gain", "tau", "recovery", "b"})
MIXTURE = frozenset({"D", "wall", "u", "bend"})
JOINT = PURE | MIXTURE


def schedule(iterations: int, *, release: str, weights: CalibrationWeights | None = None) -> tuple[Stage, ...]:
    """The stages that fit; a constant release has no time constants. The stage `freeze` saves the result."""
    λ = weights or CalibrationWeights()
    idle = _RELEASE if release == "constant" else frozenset()
    half = max(1, iterations // 2)
    return (
        Stage("pure", PURE - idle, "pure", replace(λ, mix=0.0), iterations),
        Stage("mixture", MIXTURE, "mixtures", replace(λ, H=0.0), half),
        Stage("joint", JOINT - idle, "all", λ, half, rounds=2),
    )
