r"""The parts of the calibration loss, each under its name in the supplement.

    L_cal = λ_Y L_Y + λ_H L_H + λ_mix L_mix + λ_phys L_phys + λ_reg R
    L_Y   = Σ_r ‖Ỹ_r − Ŷ_r‖²_{Σ_Y⁻¹},        Σ_Y = σ_fast² I + σ_level² 1 1ᵀ for one sensor of one recording
    L_H   = Σ_i ‖H_i − Ĥ_i‖²
    L_mix = Σ_{r mixture} ‖Ỹ_r − Ŷ_r‖²
    L_phys = Σ ‖R_MS‖² + Σ ‖R_mass‖²
    R     = Σ ((ln θ − ln θ₀)/sd)²

The law is never exact, so a recording's level is off by an amount of its own (σ_level) beside the noise of its samples
(σ_fast): without it thirty samples of one flat recording would count as thirty witnesses. The plain norms of L_H and
L_mix are taken per sample and in units of σ², so that a weight of one means one recording's worth of evidence; σ of a
fingerprint includes the strengths, gains and offsets of its recordings, for which no nuisance stands.
L_phys is zero by construction, because the solver *is* the balance that it measures: it has no gradient and is
computed as a diagnostic only.
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["L_H", "L_Y", "CalibrationWeights", "L_mix", "L_phys", "Noise", "R", "plain", "whitened"]

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
        """Σ of H_i: whose recordings had strengths, gains and offsets that nobody corrected; `swing` is |H − air|."""
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
    """Σ of squares of what is off the prior, in its standard deviations."""
    return float(np.sum(np.square(off)))
