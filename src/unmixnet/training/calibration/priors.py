"""What is known of the coefficients before any recording: typical values of metal-oxide sensors and how sure they are.

Lags of 2–5 s with a recovery two to six times slower are what data sheets and open simulators state for Figaro's
sensors; diffusivities of vapours in air lie within a third of 7e-6 m²/s (Fuller's method). Rates and sensitivities are
hardly known: a factor of e either way. α and k_ads of a substance can be exchanged without a trace changing, so α is
held near one. R(Θ) = Σ ((ln θ − ln θ₀)/sd)², which a unit of λ_reg makes the logarithm of a Gaussian prior.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from unmixnet.model.kinetics import K_ADS, K_DES
from unmixnet.model.release import TAU_DECAY_S, TAU_RISE_S
from unmixnet.model.transduction import RECOVERY, TAU_S
from unmixnet.training.calibration.theta import Theta

__all__ = ["NuisancePrior", "ThetaPrior", "prior_of"]

_D, _WALL = 7e-6, 1e-3
_TYPICAL: dict[str, tuple[float, float]] = {
    "alpha": (0.0, 0.1),
    "rise": (math.log(TAU_RISE_S), 1.0),
    "decay": (math.log(TAU_DECAY_S), 1.0),
    "wall": (math.log(_WALL), 1.0),
    "D": (math.log(_D), 0.3),
    "k_ads": (math.log(K_ADS), 1.0),
    "k_des": (math.log(K_DES), 0.7),
    "beta": (0.0, 0.7),
    "gain": (1.0, 1.0),
    "bend": (0.7, 0.5),
    "tau": (math.log(TAU_S), 0.7),
    "recovery": (math.log(RECOVERY), 0.5),
    "b": (0.0, 0.5),
    "u": (0.0, 0.3),
}
"""Mean and sd of the logarithm; b is a level, whose mean the data set tells."""


@dataclass(frozen=True, eq=False)
class ThetaPrior:
    """Mean and standard deviation of every entry of Θ."""

    mean: Theta
    sd: Theta


@dataclass(frozen=True)
class NuisancePrior:
    """How recordings of one mixture differ: standard deviations.

    Arguments:
        strength: of the logarithm of a recording's strength.
        exposure: of the logarithm of the share of the steady concentration that is there at its start.
        gain: of the logarithm of a sensor's gain in a session.
        offset: of a sensor's level in a session, in standard deviations of the training signal.
    """

    strength: float = 0.25
    exposure: float = 0.1
    gain: float = 0.1
    offset: float = 0.3


def prior_of(K: int, air: Sequence[float]) -> ThetaPrior:
    """For K substances and the sensors whose signals in clean air are given."""
    M = len(air)
    shapes = dict.fromkeys(("alpha", "rise", "decay", "wall"), (K,))
    shapes |= dict.fromkeys(("k_ads", "k_des", "beta"), (M, K))
    shapes |= dict.fromkeys(("gain", "bend", "tau", "recovery", "b"), (M,)) | {"D": ((K + 1) * K // 2,), "u": ()}
    mean = {name: jnp.full(shape, _TYPICAL[name][0]) for name, shape in shapes.items()}
    sd = {name: jnp.full(shape, _TYPICAL[name][1]) for name, shape in shapes.items()}
    mean["b"] = jnp.asarray(np.asarray(air, float), mean["u"].dtype)
    return ThetaPrior(Theta(**mean), Theta(**sd))
