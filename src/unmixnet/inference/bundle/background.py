r"""Is there anything above background? How far the signal departs from clean air, over what is typical.

    departure = max over windows of rms_m max(d_m, 0),    d_m = sign_m (mean signal_m − air_m)

d is measured in standard deviations of the training signal and in the direction in which a sensor answers. `strength`
is the departure over the median of the training recordings; under `least` nothing is claimed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmixnet.inference.evidence import Evidence

__all__ = ["Background", "departure", "fit_background"]

_SHARE, _QUANTILE, _NOISE = 0.25, 0.01, 3.0


@dataclass(frozen=True)
class Background:
    """References.

    Arguments:
        typical: median departure of training recordings [sd of the training signal].
        least: departure under which nothing is claimed.
    """

    typical: float = 1.0
    least: float = 0.0

    @property
    def threshold(self) -> float:
        """The least strength that is claimed."""
        return self.least / self.typical

    def strength(self, evidence: Evidence) -> float:
        """Departure over the typical one."""
        return departure(evidence) / self.typical

    def is_nothing(self, evidence: Evidence) -> bool:
        """Near clean air; a sensor that swings, or lies far on its *other* side, is something nobody has seen."""
        return departure(evidence) < self.least and float(np.max(evidence.unrest)) < self.typical


def departure(evidence: Evidence) -> float:
    """Largest departure of a window from clean air [sd of the training signal]."""
    return float(np.max(np.sqrt(np.mean(np.maximum(evidence.departure, 0) ** 2, axis=1))))


def fit_background(
    train: Sequence[Evidence], validation: Sequence[Evidence], *, noise: float, own_baseline: bool
) -> Background:
    """A quarter of what the weakest hundredth of the validation recordings departs.

    Where a recording gives its own baseline, clean air departs by the noise of the row that it was taken from: then
    three times the noise, but never more than half of the weakest recordings.
    """
    typical = max(float(np.median([departure(one) for one in train])), 1e-9)
    weakest = float(np.quantile([departure(one) for one in validation or train], _QUANTILE))
    least = max(_SHARE * weakest, min(_NOISE * noise, 0.5 * weakest) if own_baseline else 0.0)
    return Background(typical, least)
