"""Numbers as JSON has them: few digits, and None for what is not known."""

from dataclasses import asdict
from typing import Any

import numpy as np

from studies.figures.failures import Correlation

__all__ = ["plain", "rounded"]

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
