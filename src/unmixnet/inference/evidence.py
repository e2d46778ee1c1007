"""What a model reads from one recording, before anything is calibrated: windows in, a few numbers out."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from unmixnet.inference.windows import encode, reconstruct, respond
from unmixnet.model.encoder import Inference
from unmixnet.model.unmixnet import UnMixNet

__all__ = ["Evidence", "evidence_of", "gather_evidence", "presence_of", "residuals", "signal_statistics", "starts_of"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Of one recording: n windows, K components, M channels.

    Arguments:
        ratios: shape (n, K), as the model gives them.
        presence: shape (n, K); None for a baseline.
        embedding: the model's own picture of the recording: mean h_Y, or mean hidden state of a baseline.
        statistics: mean, log spread and drift of each channel's windows, shape (3M,).
        residual: RMS of measured − reconstructed of each channel [sd of the training signal]; None without a solver.
        departure: mean departure of each window from clean air, in the direction in which the sensor answers, (n, M).
        unrest: RMS departure of each window from clean air, whatever its direction, (n, M).
    """

    ratios: np.ndarray
    presence: np.ndarray | None
    embedding: np.ndarray
    statistics: np.ndarray
    residual: np.ndarray | None
    departure: np.ndarray
    unrest: np.ndarray


def starts_of(length: int, window: int, stride: int) -> range:
    """First rows of the windows that answer for a recording; the same that validation uses."""
    return range(0, length - window + 1, stride)


def signal_statistics(windows: np.ndarray) -> np.ndarray:
    """Mean, log spread and drift of each channel, averaged over windows (n, T, M)."""
    half = windows.shape[1] // 2
    drift = windows[:, half:].mean(axis=1) - windows[:, :half].mean(axis=1)
    spread = np.log(windows.std(axis=1) + 0.01)
    return np.concatenate([part.mean(axis=0) for part in (windows.mean(axis=1), spread, drift)])


def residuals(model: UnMixNet, windows: np.ndarray, y: np.ndarray) -> np.ndarray:
    """RMS over time of measured − reconstructed, shape (n, M)."""
    stride = model.settings.stride
    seen = windows[:, stride : y.shape[1] * stride + 1 : stride]
    return np.sqrt(np.mean((seen - y) ** 2, axis=1))


def gather_evidence(
    model: object,
    traces: Sequence[np.ndarray],
    *,
    window: int,
    stride: int,
    air: Sequence[float],
    sign: Sequence[float],
) -> list[Evidence]:
    """Evidence of several recordings, given as signals of shape (L, M); all windows run together."""
    cut = [[trace[s : s + window] for s in starts_of(len(trace), window, stride)] for trace in traces]
    Y = np.stack([one for windows in cut for one in windows]).astype(np.float32)
    presence = residual = None
    if isinstance(model, UnMixNet):
        inference = encode(model, Y)
        ratios, presence, embedding = inference.a, presence_of(inference), inference.h_Y
        if model.settings.closure:
            residual = residuals(model, Y, reconstruct(model, inference, Y))
    else:
        out = respond(model, Y)  # pyright: ignore[reportArgumentType]
        ratios, embedding = _softmax(np.asarray(out.logits)), np.asarray(out.hidden).mean(axis=1)
    edges = np.cumsum([0, *map(len, cut)])
    parts = [slice(a, b) for a, b in pairwise(edges.tolist())]
    return [
        evidence_of(
            Y[part],
            np.asarray(ratios)[part],
            None if presence is None else presence[part],
            np.asarray(embedding)[part],
            None if residual is None else residual[part],
            air=air,
            sign=sign,
        )
        for part in parts
    ]


def evidence_of(
    windows: np.ndarray,
    ratios: np.ndarray,
    presence: np.ndarray | None,
    embedding: np.ndarray,
    residual: np.ndarray | None,
    *,
    air: Sequence[float],
    sign: Sequence[float],
) -> Evidence:
    """Evidence of one recording from what was read of its windows."""
    away = np.array(sign) * (windows.astype(float) - np.array(air))
    return Evidence(
        _normalised(ratios),
        presence,
        embedding.mean(axis=0).astype(float),
        signal_statistics(windows).astype(float),
        None if residual is None else np.sqrt(np.mean(residual.astype(float) ** 2, axis=0)),
        away.mean(axis=1),
        np.sqrt(np.mean(away**2, axis=1)),
    )


def presence_of(inference: Inference) -> np.ndarray:
    """ẑ of windows, shape (n, K)."""
    return 1 / (1 + np.exp(-np.clip(np.asarray(inference.z_logits, float), -60, 60)))


def _softmax(logits: np.ndarray) -> np.ndarray:
    up = np.exp(logits - logits.max(axis=1, keepdims=True))
    return up / up.sum(axis=1, keepdims=True)


def _normalised(ratios: np.ndarray) -> np.ndarray:
    """Single precision sums to one within 1e-7; shares of an answer should do better."""
    wide = ratios.astype(float)
    return wide / wide.sum(axis=1, keepdims=True)
