"""A bundle's model as an ONNX graph: translated by jax2onnx, lifted over windows, with what a user needs as metadata.

The encoder is one graph without loops whose first axis may have any length. The solver holds loops over time and
over the iterations of the flux, so its graph is that of one window, under an ONNX `Scan` along the first axis.
"""

import dataclasses
import importlib
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp

from unmixnet.errors import ConfigError
from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.onnx.plain import ExportError, plain
from unmixnet.model.predict import single_precision
from unmixnet.model.unmixnet import UnMixNet

__all__ = ["ENCODER", "SOLVER", "model_of", "needed", "translated"]

ENCODER = ("ratios", "presence", "log_strength", "exposure", "embedding")
SOLVER = ("reconstructed", "status", "direct_solves")
_USE = (
    "signal: (n, window, channels) float32. Select `channels`; take the first `first_rows` rows; respond to the "
    "baseline as `preprocessing` says; subtract mean and divide by sd; average blocks of rows down to rate_Hz; cut "
    "windows of `window` rows every `stride` rows. ratios and presence of a recording are the means over its windows; "
    "shares are ratios ** (1 / temperature), normalised, with those under `support` set to zero and normalised again."
)


def translated(bundle: Bundle, *, solver: bool) -> Any:
    """The ONNX model of a bundle's encoder, or encoder and solver, over windows of shape (n, T, M)."""
    model = model_of(bundle, solver)
    T, M = bundle.spec.window, len(bundle.preprocessing.channels)
    with _translation_errors(bundle, solver):
        if solver:
            window_model = _convert(_solved(model, T), (T, M), [f"{name}_1" for name in (*ENCODER, *SOLVER)])
            proto = _scanned(window_model, len(_rows(bundle, model)))
        else:
            (n,) = jax.export.symbolic_shape("n")
            proto = _convert(jax.vmap(_encoded(model)), (n, T, M), list(ENCODER))
    proto.graph.name = f"unmixnet {bundle.name}"
    needed("onnx").helper.set_model_props(proto, _metadata(bundle, model, solver))
    return proto


def _encoded(model: UnMixNet) -> Any:
    def encoded(Y: Any) -> tuple[Any, ...]:
        read = model(Y)
        return read.a, read.z, read.log_strength, read.exposure, read.h_Y

    return encoded


def _solved(model: UnMixNet, T: int) -> Any:
    def solved(Y: Any) -> tuple[Any, ...]:
        read = model(Y)
        run = model.reconstruct(read, Y[0], T).rollout
        encoded = (read.a, read.z, read.log_strength, read.exposure, read.h_Y)
        return *encoded, run.saved.y, run.status, run.direct_solves

    return solved


def _convert(f: Any, shape: tuple[Any, ...], outputs: list[str]) -> Any:
    """ONNX model of a function of one float32 array, without unused nodes and constants."""
    convert = needed("jax2onnx").to_onnx
    with single_precision():
        like = jax.ShapeDtypeStruct(shape, jnp.float32)
        proto = convert(plain(f, like), inputs=[like], input_names=["signal"], output_names=outputs)
    ir, common = needed("onnx_ir"), needed("onnx_ir.passes.common")
    proto = ir.to_proto(common.RemoveUnusedNodesPass()(ir.from_proto(proto)).model)
    _prune(proto.graph)
    return proto


def _prune(graph: Any) -> set[str]:
    """Drop the constants that no node reads, here and inside loops; returns the names that are read."""
    read = {value.name for value in graph.output}
    for node in graph.node:
        read.update(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                read |= _prune(attribute.g)
    kept = [constant for constant in graph.initializer if constant.name in read]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    return read


def _scanned(window_model: Any, steps: int) -> Any:
    """A model of one window as a model of n: `Scan` along the first axis of its input and of every output."""
    onnx = needed("onnx")
    body = window_model.graph
    body.input[0].name, given = "window_1", body.input[0]
    for node in body.node:
        _renamed(node, "signal", "window_1")
    names = [value.name.removesuffix("_1") for value in body.output]
    scan = onnx.helper.make_node("Scan", ["signal"], names, body=body, num_scan_inputs=1)
    graph = onnx.helper.make_graph(
        [scan],
        "windows",
        [_batched(given, "signal", steps)],
        [_batched(value, name, steps) for value, name in zip(body.output, names, strict=True)],
    )
    return onnx.helper.make_model(graph, opset_imports=window_model.opset_import, ir_version=window_model.ir_version)


def _renamed(node: Any, old: str, new: str) -> None:
    """Rename an input of a node and of whatever runs inside it."""
    for i, name in enumerate(node.input):
        if name == old:
            node.input[i] = new
    for attribute in node.attribute:
        for inner in attribute.g.node:
            _renamed(inner, old, new)


def _batched(value: Any, name: str, steps: int) -> Any:
    """A value with a leading axis of n windows; a dimension that jax2onnx leaves open is the number of steps."""
    kind = value.type.tensor_type
    shape = ["n", *(dim.dim_value or steps for dim in kind.shape.dim)]
    return needed("onnx").helper.make_tensor_value_info(name, kind.elem_type, shape)


def _rows(bundle: Bundle, model: UnMixNet) -> list[int]:
    """Rows of a window at the ends of the solver's steps."""
    stride = model.settings.stride
    return list(range(stride, (bundle.spec.window - 1) // stride * stride + 1, stride))


def _metadata(bundle: Bundle, model: UnMixNet, solver: bool) -> dict[str, str]:
    """Metadata that makes the file usable by itself; every value is JSON but the first three and the last."""
    ready, spec = dataclasses.asdict(bundle.preprocessing), bundle.spec
    for belongs_to_the_bundle in ("window", "stride"):
        del ready[belongs_to_the_bundle]
    known = {
        "components": bundle.components,
        "channels": bundle.preprocessing.channels,
        "rate_Hz": spec.rate_Hz,
        "window": spec.window,
        "stride": spec.stride,
        "preprocessing": ready,
        "finish": {"temperature": bundle.calibration.temperature, "support": bundle.calibration.support},
        "clean_air": bundle.spec.air,
        **({"reconstructed_rows": _rows(bundle, model)} if solver else {}),
    }
    plain_text = {"format": "unmixnet-onnx/1", "bundle": bundle.name, "digest": bundle.digest}
    return {
        **{f"unmixnet.{key}": value for key, value in plain_text.items()},
        **{f"unmixnet.{key}": json.dumps(value) for key, value in known.items()},
        "unmixnet.use": _USE,
    }


def model_of(bundle: Bundle, solver: bool) -> UnMixNet:
    """The model of a bundle that can be exported so; any other is refused."""
    if not isinstance(bundle.model, UnMixNet) or (solver and not bundle.has_solver):
        raise ConfigError(
            f"the bundle {bundle.name} holds {bundle.spec.network}"
            f"{' without a solver' if solver else ', which has no UnMixNet encoder'}",
            remedy="Use a bundle whose model.name is unmixnet",
        )
    return bundle.model


@contextmanager
def _translation_errors(bundle: Bundle, solver: bool) -> Iterator[None]:
    """Turn whatever fails while translating into an `ExportError`, and keep the translator's own log quiet."""
    remarks = logging.getLogger("onnx_ir")
    level = remarks.level
    remarks.setLevel(logging.ERROR)
    try:
        yield
    except (ExportError, ConfigError):
        raise
    except Exception as error:
        raise ExportError(
            f"jax2onnx cannot translate the {'encoder and solver' if solver else 'encoder'} "
            f"({type(error).__name__}: {' '.join(str(error).split())[:200]})",
            where=bundle.name,
            remedy="Export the encoder alone" if solver else "Update jax2onnx, and report this",
        ) from error
    finally:
        remarks.setLevel(level)


def needed(module: str) -> Any:
    """A module of the extra `onnx`."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"exporting needs {error.name or module}, which is not installed",
            remedy="Install it with: pip install 'unmixnet[onnx]'",
        ) from None
