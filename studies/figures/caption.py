"""What is written under a figure: what it shows, on how many recordings, and what would change the claim."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from studies.figures.failures import Correlation

__all__ = ["Caption", "plain", "rounded"]


@dataclass(frozen=True)
class Caption:
    """The words of a figure.

    Arguments:
        title: one line.
        shows: what is measured, and on how many recordings.
        change: what would change the claim.
    """

    title: str
    shows: str
    change: str

    def to_json(self) -> dict[str, str]:
        """Plain values."""
        return asdict(self)


_DIGITS = 5


def plain(found: Correlation) -> dict[str, Any]:
    """Its values; None for what is not known."""
    return {key: value if np.isfinite(value) else None for key, value in asdict(found).items()}


def rounded(array: np.ndarray) -> list[Any]:
    """Plain numbers of a few digits; None for what is not known."""
    wide = np.round(np.asarray(array, float), _DIGITS)
    values = wide.astype(object)
    values[~np.isfinite(wide)] = None
    return values.tolist()
