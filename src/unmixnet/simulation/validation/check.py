"""One line of a validation: what came out, what should have, how far apart they may be."""

from dataclasses import asdict, dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from unmixnet.physics.maxwell_stefan import Form, MaxwellStefan, edge_flux

__all__ = ["Check", "at_most", "close", "component_error", "flux_of_gradient", "norm_error"]


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


def flux_of_gradient(
    x: np.ndarray, gradient: np.ndarray, c: float, D: np.ndarray, *, form: Form = "exact", length: float = 0.5
) -> np.ndarray:
    """J [mol/(m² s)] at mean mole fractions x and gradient ∇x [1/m], carrier first."""
    law = MaxwellStefan(jnp.asarray(D), jnp.ones(1, D.dtype), form=form)
    step = 0.5 * length * gradient
    tail, head = (jnp.asarray(side)[:, None] for side in (x - step, x + step))
    J, _ = edge_flux(law, tail, head, jnp.full(1, c), jnp.full(1, length))
    return np.asarray(J[:, 0])
