r"""How strange a recording looks: three distances, each against validation recordings, and the worst of them.

    embedding   d² = Σ_k ((h − h̄)·u_k)²/λ_k + ‖rest‖²/λ_rest    of its embedding by the model
    signal      the same for level, spread and drift of its channels
    residual    d = rms_m(residual_m / typical residual_m)          of the reconstruction residual

u_k, λ_k are the leading directions and variances of the *training* recordings, λ_rest the mean variance beyond them (a
shrunken covariance). ln d is centred and scaled by validation recordings; the score is the largest of the three.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmixnet.inference.evidence import Evidence

__all__ = ["Gauge", "Novelty", "fit_novelty"]

_AXES = 16
_MARGIN = 0.25
"""How far beyond the strangest validation recording "unlike" begins, in units of its distance from the median."""
_LEAST_SPREAD = 0.1


@dataclass(frozen=True)
class Gauge:
    """A distance from the training recordings in one space.

    Arguments:
        centre: mean of the training recordings.
        axes: leading directions, unit vectors.
        sd: of the training recordings along them.
        rest: sd of what is left, per dimension.
    """

    centre: tuple[float, ...]
    axes: tuple[tuple[float, ...], ...]
    sd: tuple[float, ...]
    rest: float

    def distance(self, vector: np.ndarray) -> float:
        """d, per dimension: about one for a training recording."""
        away = np.asarray(vector, float) - np.array(self.centre)
        axes = np.array(self.axes).reshape(-1, len(away))
        along = axes @ away
        left = away - along @ axes
        total = np.sum((along / np.array(self.sd)) ** 2) + left @ left / self.rest**2
        return float(np.sqrt(total / len(away)))


def fit_gauge(vectors: np.ndarray) -> Gauge:
    """The gauge of training vectors (n, d)."""
    n, d = vectors.shape
    centre = vectors.mean(axis=0)
    _, singular, axes = np.linalg.svd(vectors - centre, full_matrices=False)
    variance = singular**2 / max(n - 1, 1)
    r = min(_AXES, max(n // 5, 1), d, len(variance))
    floor = 1e-6 * variance.sum() / d + 1e-12
    rest = (variance[r:].sum() + floor) / max(d - r, 1)
    sd = np.sqrt(variance[:r] + rest)
    return Gauge(tuple(centre.tolist()), tuple(map(tuple, axes[:r].tolist())), tuple(sd.tolist()), float(np.sqrt(rest)))


@dataclass(frozen=True)
class Novelty:
    """References of the score.

    Arguments:
        embedding, signal: gauges.
        residual: typical residual of each channel; empty without a solver.
        centre, spread: of ln d on validation recordings, in the order embedding, signal, residual.
        scores: of the validation recordings, sorted.
    """

    embedding: Gauge
    signal: Gauge
    residual: tuple[float, ...]
    centre: tuple[float, ...]
    spread: tuple[float, ...]
    scores: tuple[float, ...]

    def with_embedding_of(self, known: Sequence[Evidence]) -> "Novelty":
        """The same score for a retrained model, whose embedding is that of these training recordings."""
        return replace(self, embedding=fit_gauge(np.stack([evidence.embedding for evidence in known])))

    def parts(self, evidence: Evidence) -> np.ndarray:
        """The standardised ln d of embedding, signal and, with a solver, residual."""
        logs = np.log(_distances(self.embedding, self.signal, self.residual, evidence))
        return (logs - np.array(self.centre)) / np.array(self.spread)

    def score(self, evidence: Evidence) -> float:
        """The largest of them; around zero for an ordinary recording."""
        return float(np.max(self.parts(evidence)))

    def p_value(self, score: float) -> float:
        """Share of recordings like those of validation that look at least as strange; NaN without any."""
        n = len(self.scores)
        return float("nan") if n == 0 else (1 + sum(other >= score for other in self.scores)) / (n + 1)

    @property
    def limit(self) -> float:
        """Score beyond which a recording is unlike anything in training; infinite without validation recordings."""
        if not self.scores:
            return float("inf")
        top, middle = self.scores[-1], float(np.median(self.scores))
        return top + _MARGIN * max(top - middle, 1.0)


def fit_novelty(train: Sequence[Evidence], validation: Sequence[Evidence]) -> Novelty:
    """References from training recordings, scales and scores from validation recordings."""
    embedding = fit_gauge(np.stack([evidence.embedding for evidence in train]))
    signal = fit_gauge(np.stack([evidence.statistics for evidence in train]))
    left = [evidence.residual for evidence in train if evidence.residual is not None]
    residual = tuple(np.maximum(np.median(left, axis=0), 1e-6).tolist()) if left else ()
    seen = validation or train
    logs = np.log([_distances(embedding, signal, residual, evidence) for evidence in seen])
    centre = np.median(logs, axis=0)
    spread = np.maximum(np.quantile(logs, 0.9, axis=0) - centre, _LEAST_SPREAD)
    scores = np.sort(np.max((logs - centre) / spread, axis=1)).tolist() if validation else []
    return Novelty(embedding, signal, residual, tuple(centre.tolist()), tuple(spread.tolist()), tuple(scores))


def _distances(embedding: Gauge, signal: Gauge, residual: tuple[float, ...], evidence: Evidence) -> list[float]:
    distances = [embedding.distance(evidence.embedding), signal.distance(evidence.statistics)]
    if residual:
        assert evidence.residual is not None, "a model with a solver leaves residuals"
        distances.append(float(np.sqrt(np.mean((evidence.residual / np.array(residual)) ** 2))))
    return [max(d, 1e-9) for d in distances]
