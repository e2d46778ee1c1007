"""A bundle's encoder, or encoder and solver, as one ONNX file that any runtime can open; checked before it is kept.

input     signal (n, T, M): windows of the standardised signal, as the file's metadata describes it
outputs   ratios (n, K), presence (n, K), log_strength (n), exposure (n), embedding (n, d)
          with the solver also reconstructed (n, steps, M), status (n) and direct_solves (n)

Temperature and support of the calibration are not in the graph: they are in the metadata, as `unmix` applies them to
the mean of a recording's windows. `status` is the solver's own (0 or 1 is a result). `direct_solves` counts the fluxes
whose iteration did not converge: the model then factorises a matrix, which ONNX cannot, so a window where it is not 0
has no trustworthy reconstruction.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unmixnet.files.replacement import write_file
from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.evidence import presence_of
from unmixnet.inference.onnx.graph import ENCODER, SOLVER, model_of, needed, translated
from unmixnet.inference.onnx.plain import ExportError
from unmixnet.model.predict import encode, solve

__all__ = ["TOLERANCE", "ExportCheck", "ExportError", "Exported", "check_onnx", "exactly", "export_onnx"]

TOLERANCE = 1e-5
"""Largest difference of an output from jax's that is accepted, over one or the size of the output."""


@dataclass(frozen=True)
class ExportCheck:
    """How far a file is from the model, over all windows and entries.

    Arguments:
        differences: largest of each output, over one or the size of that output.
        windows: on how many it was checked.
    """

    differences: dict[str, float]
    windows: int

    @property
    def worst(self) -> float:
        """The largest of all; NaN if any of them is."""
        return float(np.max(list(self.differences.values())))


@dataclass(frozen=True)
class Exported:
    """A file that was written, and how far it is from the model.

    Arguments:
        checked: against ONNX Runtime.
        size: bytes of the file.
        solver: whether the solver is in it.
    """

    path: Path
    checked: ExportCheck
    size: int
    solver: bool

    @property
    def difference(self) -> float:
        """Largest difference of any output."""
        return self.checked.worst

    @property
    def windows(self) -> int:
        """Windows of the check."""
        return self.checked.windows


def export_onnx(
    bundle: Bundle, path: str | Path, *, solver: bool = False, windows: int = 20, tolerance: float = TOLERANCE
) -> Exported:
    """Write a bundle as ONNX; nothing is written if its outputs differ from the model's."""
    data = translated(bundle, solver=solver).SerializeToString()
    checked = check_onnx(bundle, data, windows=windows, solver=solver)
    if not checked.worst <= tolerance:
        output = max(checked.differences, key=lambda name: checked.differences[name])
        raise ExportError(
            f"the exported {'encoder and solver' if solver else 'encoder'} differs from the model by "
            f"{checked.worst:.2g} in {output}, at most {tolerance:.2g} is accepted",
            where=bundle.name,
            remedy="Export the encoder alone" if solver else "Update jax2onnx and onnxruntime, and report this",
        )
    place = Path(path)
    write_file(place, data)
    return Exported(place, checked, len(data), solver)


def check_onnx(
    bundle: Bundle,
    data: bytes,
    *,
    windows: int | np.ndarray,
    solver: bool = False,
    exact: bool = False,
    seed: int = 0,
) -> ExportCheck:
    """Difference between ONNX Runtime and jax on so many random windows, or on given ones of shape (n, T, M).

    The first window is run alone and the others together, so that a graph which mixes windows is noticed.

    Arguments:
        exact: compare the encoder's outputs with the model in double precision, not with the program of `unmix`.
    """
    session = needed("onnxruntime").InferenceSession(data, providers=["CPUExecutionProvider"])
    Y = _walks(bundle, windows, seed) if isinstance(windows, int) else np.asarray(windows, np.float32)
    expected = _expected(bundle, Y, solver)
    if exact:
        expected |= exactly(bundle, Y)
    if (names := [output.name for output in session.get_outputs()]) != list(expected):
        raise ExportError(f"the file has the outputs {names}, expected {list(expected)}", remedy="Export it anew")
    runs = [session.run(None, {"signal": part}) for part in np.split(Y, [1]) if len(part)]
    outputs = [np.concatenate(parts) for parts in zip(*runs, strict=True)]
    return ExportCheck(
        {name: _difference(output, expected[name]) for name, output in zip(names, outputs, strict=True)}, windows=len(Y)
    )


def _expected(bundle: Bundle, Y: np.ndarray, solver: bool) -> dict[str, np.ndarray]:
    """Outputs of the model, by the programs that `unmix` uses."""
    model = model_of(bundle, solver)
    read = encode(model, Y)
    outputs = (read.a, presence_of(read), read.log_strength, read.exposure, read.h_Y)
    if not solver:
        return dict(zip(ENCODER, map(np.asarray, outputs), strict=True))
    run = solve(model, read, Y)
    outputs = (*outputs, run.saved.y, run.status, run.direct_solves)
    return dict(zip((*ENCODER, *SOLVER), map(np.asarray, outputs), strict=True))


def exactly(bundle: Bundle, Y: np.ndarray) -> dict[str, np.ndarray]:
    """Outputs of the encoder in double precision."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        wide = jax.tree.map(lambda a: jnp.asarray(a, float) if eqx.is_inexact_array(a) else a, model_of(bundle, False))
        read = jax.jit(jax.vmap(wide))(jnp.asarray(Y, float))
        outputs = (read.a, presence_of(read), read.log_strength, read.exposure, read.h_Y)
        return dict(zip(ENCODER, map(np.asarray, outputs), strict=True))


def _difference(output: np.ndarray, expected: np.ndarray) -> float:
    if output.shape != expected.shape:
        return float("inf")
    return float(np.max(np.abs(output.astype(float) - expected)) / max(1.0, float(np.max(np.abs(expected)))))


def _walks(bundle: Bundle, n: int, seed: int) -> np.ndarray:
    """Random walks from clean air: windows that move as traces do."""
    rng = np.random.default_rng(seed)
    T, M = bundle.spec.window, len(bundle.preprocessing.channels)
    walks = np.cumsum(rng.normal(0, 0.15, (n, T, M)), axis=1)
    return (np.array(bundle.spec.air) + np.array(bundle.spec.sign) * np.abs(walks)).astype(np.float32)
