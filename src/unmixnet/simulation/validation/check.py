"""One line of a validation: what came out, what should have, how far apart they may be."""

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Check", "at_most", "close", "component_error", "norm_error"]

import numpy as np


@dataclass(frozen=True)
class Check:
    """A compared number."""

    oracle: str
    name: str
    value: float
    expected: float
    tolerance: float
    """Largest |value − expected| that passes."""

    @property
    def passed(self) -> bool:
        """Within tolerance; NaN never passes."""
        return bool(abs(self.value - self.expected) <= self.tolerance)

    def row(self) -> dict[str, Any]:
        """JSON-ready; a value that is not finite becomes None."""
        row = asdict(self) | {"passed": self.passed}
        return row | {"value": self.value if np.isfinite(self.value) else None}


def close(oracle: str, name: str, value: float, expected: float, tolerance: float) -> Check:
    """value = expected ± tolerance."""
    return Check(oracle, name, float(value), float(expected), float(tolerance))


def at_most(oracle: str, name: str, value: float, tolerance: float) -> Check:
    """An error that should be zero and may be `tolerance`."""
    return Check(oracle, name, float(value), 0.0, float(tolerance))


def norm_error(value: np.ndarray, reference: np.ndarray) -> float:
    """‖value − reference‖ / ‖reference‖."""
    return float(np.linalg.norm(value - reference) / np.linalg.norm(reference))


def component_error(value: np.ndarray, reference: np.ndarray) -> float:
    """max |value − reference| / |reference|, the measure in which traces count."""
    return float(np.max(np.abs(value - reference) / np.abs(reference)))
