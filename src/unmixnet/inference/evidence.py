"""Uncalibrated outputs of a model for a recording: windows in, a few numbers out.

One path for all: `unmix`, archives, the live stream, evaluation and calibration.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from unmixnet.model.encoder import Inference
from unmixnet.model.predict import encode, reconstruct, respond
from unmixnet.model.spec import ModelSpec
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.recordings.temporal import cut_windows

__all__ = [
    "Evidence",
    "WindowOutputs",
    "evidence_of",
    "gather_evidence",
    "outputs_of",
    "presence_of",
    "residuals",
    "run_model",
    "signal_statistics",
]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Evidence of one recording: n windows, K components, M channels.

    Arguments:
        ratios: shape (n, K), as the model gives them.
        presence: shape (n, K); None for a baseline.
        embedding: mean h_Y, or mean hidden state of a baseline.
        statistics: mean, log spread and drift of each channel's windows, shape (3M,).
        residual: RMS of measured − reconstructed of each channel [sd of the training signal]; None without a solver.
        departure: mean departure of each window from clean air, in the direction in which the sensor responds, (n, M).
        unrest: RMS departure of each window from clean air, whatever its direction, (n, M).
    """

    ratios: np.ndarray
    presence: np.ndarray | None
    embedding: np.ndarray
    statistics: np.ndarray
    residual: np.ndarray | None
    departure: np.ndarray
    unrest: np.ndarray


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


@dataclass(frozen=True, eq=False)
class WindowOutputs:
    """Outputs of a model for n windows.

    Arguments:
        ratios: shape (n, K), or class probabilities.
        presence: shape (n, K); None for a baseline.
        embedding: shape (n, H).
        residual: RMS of measured − reconstructed, shape (n, M); None without a solver.
    """

    ratios: np.ndarray
    presence: np.ndarray | None
    embedding: np.ndarray
    residual: np.ndarray | None

    def __getitem__(self, rows: slice | list[int]) -> "WindowOutputs":
        """Of some windows."""
        presence, residual = (None if part is None else part[rows] for part in (self.presence, self.residual))
        return WindowOutputs(self.ratios[rows], presence, self.embedding[rows], residual)


def outputs_of(model: UnMixNet, windows: np.ndarray, inference: Inference, y: np.ndarray | None) -> WindowOutputs:
    """Outputs of UnMixNet from what its encoder inferred and its solver reconstructed (None without a solver)."""
    left = None if y is None else residuals(model, windows, y)
    return WindowOutputs(np.asarray(inference.a), presence_of(inference), np.asarray(inference.h_Y), left)


def run_model(model: object, windows: np.ndarray) -> WindowOutputs:
    """Outputs of any model for windows of shape (n, T, M)."""
    if isinstance(model, UnMixNet):
        inference = encode(model, windows)
        y = reconstruct(model, inference, windows) if model.settings.closure else None
        return outputs_of(model, windows, inference, y)
    output = respond(model, windows)
    return WindowOutputs(_softmax(np.asarray(output.logits)), None, np.asarray(output.hidden).mean(axis=1), None)


def gather_evidence(model: object, traces: Sequence[np.ndarray], spec: ModelSpec) -> list[Evidence]:
    """Evidence of several recordings, given as signals of shape (L, M); all windows run together."""
    cut = [cut_windows(trace, spec.window, spec.stride) for trace in traces]
    Y = np.concatenate(cut).astype(np.float32)
    outputs, edges = run_model(model, Y), np.cumsum([0, *map(len, cut)])
    parts = [slice(first, last) for first, last in pairwise(edges.tolist())]
    return [evidence_of(Y[part], outputs[part], spec) for part in parts]


def evidence_of(windows: np.ndarray, outputs: WindowOutputs, spec: ModelSpec) -> Evidence:
    """Evidence of one recording from its windows and the model's outputs for them."""
    away = np.array(spec.sign) * (windows.astype(float) - np.array(spec.air))
    left = outputs.residual
    return Evidence(
        _normalised(outputs.ratios),
        outputs.presence,
        outputs.embedding.mean(axis=0).astype(float),
        signal_statistics(windows).astype(float),
        None if left is None else np.sqrt(np.mean(left.astype(float) ** 2, axis=0)),
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
    """Normalised in double precision; single precision sums to one only within 1e-7."""
    wide = ratios.astype(float)
    return wide / wide.sum(axis=1, keepdims=True)
