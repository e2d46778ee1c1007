"""Evidence of synthetic recordings."""

import numpy as np

from unmixnet.inference.evidence import Evidence


def evidence(rng: np.random.Generator, *, shift: float = 0.0, level: float = 2.0, residual: float = 0.2) -> Evidence:
    """Evidence of an ordinary recording; `shift` moves its embedding and signal away."""
    ratios = rng.dirichlet(np.ones(3), size=2)
    departure = level + rng.normal(0, 0.1, (2, 2))
    return Evidence(
        ratios,
        (ratios > 0.1).astype(float),
        rng.normal(shift, 1, 8),
        rng.normal(shift, 1, 6),
        residual * np.exp(rng.normal(0, 0.2, 2)),
        departure,
        np.hypot(departure, 0.1),
    )


def several(seed: int, count: int, **how: float) -> list[Evidence]:
    rng = np.random.default_rng(seed)
    return [evidence(rng, **how) for _ in range(count)]
