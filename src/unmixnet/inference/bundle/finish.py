r"""From a model's ratios to the shares of an answer: temperature, then support.

temperature   a_i ← a_i^{1/T} / Σ_j a_j^{1/T}
support       a_i ← 0 where a_i < δ, the rest renormalised; the largest share always stays
"""

import numpy as np

__all__ = ["projected", "sharpened"]


def sharpened(ratios: np.ndarray, temperature: float) -> np.ndarray:
    """Ratios (…, K) at a temperature; 1 leaves them as they are, less makes large shares larger."""
    if temperature == 1:
        return ratios
    logs = np.log(np.maximum(ratios, 1e-12)) / temperature
    up = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return up / up.sum(axis=-1, keepdims=True)


def projected(ratios: np.ndarray, threshold: float) -> np.ndarray:
    """Ratios (…, K) without the shares under the threshold; 0 leaves them as they are."""
    if threshold <= 0:
        return ratios
    largest = ratios.max(axis=-1, keepdims=True)
    kept = np.where((ratios >= threshold) | (ratios >= largest), ratios, 0.0)
    return kept / kept.sum(axis=-1, keepdims=True)
