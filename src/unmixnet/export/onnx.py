"""A bundle's encoder, or encoder and solver, as one ONNX file that any runtime can open; checked before it is kept.

inputs   signal (T, M): one window of the standardised signal, as `preprocessing` in the file's metadata describes it
outputs  ratios (K), presence (K), log_strength, exposure, embedding (d); with the solver also reconstructed (steps, M)

One window at a time: jax2onnx 0.17 translates the encoder of one window exactly and its batched form wrongly.

Temperature and support of the calibration are not in the graph: they are in the metadata, as `unmix` applies them to
the mean of a recording's windows.
"""

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unmixnet.bundle.bundle import Bundle
from unmixnet.errors import ConfigError, UnmixError
from unmixnet.inference.evidence import presence_of
from unmixnet.inference.precision import single_precision
from unmixnet.inference.windows import encode, reconstruct
from unmixnet.model.unmixnet import UnMixNet

__all__ = ["TOLERANCE", "ExportError", "Exported", "check_onnx", "export_onnx"]

TOLERANCE = 1e-5
"""Largest difference of an output from jax's that is accepted, over one or the size of the output."""
OUTPUTS = ("ratios", "presence", "log_strength", "exposure", "embedding")


class ExportError(UnmixError):
    """A model that could not be exported, or whose export says something else."""


@dataclass(frozen=True)
class Exported:
    """A file that was written, and how far it is from the model.

    Arguments:
        difference: largest over all outputs, windows and entries.
        windows: on how many windows it was checked.
        size: bytes of the file.
        solver: whether the solver is in it.
    """

    path: Path
    difference: float
    windows: int
    size: int
    solver: bool


def export_onnx(
    bundle: Bundle, path: str | Path, *, solver: bool = False, windows: int = 20, tolerance: float = TOLERANCE
) -> Exported:
    """Write a bundle as ONNX; nothing is written if the file would not say what the model says."""
    onnx = _needed("onnx")
    model = _model(bundle, solver)
    proto = _graph(bundle, model, solver)
    known = {
        "unmixnet.bundle": bundle.name,
        "unmixnet.digest": bundle.digest,
        "unmixnet.components": json.dumps(bundle.components),
        "unmixnet.preprocessing": bundle.ready.to_json(),
        "unmixnet.rate_Hz": repr(bundle.config.model.rate_Hz),
        "unmixnet.window": str(bundle.config.window),
        "unmixnet.finish": json.dumps(
            {"temperature": bundle.calibration.temperature, "support": bundle.calibration.support}
        ),
    }
    onnx.helper.set_model_props(proto, known)
    data = proto.SerializeToString()
    difference = check_onnx(bundle, data, windows=windows, solver=solver)
    if not difference <= tolerance:
        raise ExportError(
            f"the exported {'encoder and solver' if solver else 'encoder'} differs from the model by {difference:.2g}, "
            f"at most {tolerance:.2g} is accepted",
            where=bundle.name,
            remedy="Export the encoder alone" if solver else "Update jax2onnx and onnxruntime, and report this",
        )
    place = Path(path)
    _write(place, data)
    return Exported(place, difference, windows, len(data), solver)


def check_onnx(bundle: Bundle, data: bytes, *, windows: int, solver: bool = False, seed: int = 0) -> float:
    """Largest difference between ONNX Runtime and jax on random windows, over one or the size of the output."""
    runtime = _needed("onnxruntime")
    session = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])
    Y = _windows(bundle, windows, seed)
    (given,) = (one.name for one in session.get_inputs())
    model = _model(bundle, solver)
    read = encode(model, Y)
    expected = (read.a, presence_of(read), read.log_strength, read.exposure, read.h_Y)
    if solver:
        expected = (*expected, reconstruct(model, read, Y))
    runs = [session.run(None, {given: window}) for window in Y]
    if len(runs[0]) != len(expected):
        raise ExportError(f"the file has {len(runs[0])} outputs, expected {len(expected)}", remedy="Export it anew")
    found = [np.stack(parts) for parts in zip(*runs, strict=True)]
    pairs = ((np.asarray(a, float), np.asarray(b, float)) for a, b in zip(found, expected, strict=True))
    return max(float(np.max(np.abs(a - b))) / max(1.0, float(np.max(np.abs(b)))) for a, b in pairs)


def _forward(model: UnMixNet, T: int, solver: bool) -> Callable[..., tuple[Any, ...]]:
    def one(Y: Any) -> tuple[Any, ...]:
        read = model(Y)
        told = (read.a, read.z, read.log_strength, read.exposure, read.h_Y)
        return (*told, model.reconstruct(read, Y[0], T).y) if solver else told

    return one


def _graph(bundle: Bundle, model: UnMixNet, solver: bool) -> Any:
    convert = _needed("jax2onnx").to_onnx
    T, M = bundle.config.window, len(bundle.ready.channels)
    names = (*OUTPUTS, "reconstructed") if solver else OUTPUTS
    try:
        with single_precision():
            return convert(
                _forward(model, T, solver),
                inputs=[(T, M)],
                model_name=f"unmixnet_{bundle.name}",
                input_names=["signal"],
                output_names=list(names),
            )
    except Exception as error:
        raise ExportError(
            f"jax2onnx cannot translate the {'encoder and solver' if solver else 'encoder'} "
            f"({type(error).__name__}: {' '.join(str(error).split())[:200]})",
            where=bundle.name,
            remedy="Export the encoder alone" if solver else "Update jax2onnx, and report this",
        ) from error


def _windows(bundle: Bundle, n: int, seed: int) -> np.ndarray:
    """Random walks from clean air: windows that move as traces do."""
    rng = np.random.default_rng(seed)
    T, M = bundle.config.window, len(bundle.ready.channels)
    walks = np.cumsum(rng.normal(0, 0.15, (n, T, M)), axis=1)
    return (np.array(bundle.air) + np.array(bundle.sign) * np.abs(walks)).astype(np.float32)


def _model(bundle: Bundle, solver: bool) -> UnMixNet:
    if not isinstance(bundle.model, UnMixNet) or (solver and not bundle.has_solver):
        raise ConfigError(
            f"the bundle {bundle.name} holds {bundle.config.model.name}"
            f"{' without a solver' if solver else ', which is no encoder of ours'}",
            remedy="Use a bundle whose model.name is unmixnet",
        )
    return bundle.model


def _write(place: Path, data: bytes) -> None:
    """Whole or not at all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _needed(module: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"exporting needs {error.name or module}, which is not installed",
            remedy="Install it with: pip install 'unmixnet[onnx]'",
        ) from None
