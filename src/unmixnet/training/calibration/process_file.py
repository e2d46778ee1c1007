"""A process as named tensors and a JSON outline of its laws, and back; only laws of the registry are built.

{"is": "Readout", "beta": "readout.beta", "g": {"is": "Sips", …}, …}: text in the outline names a tensor, an object is a
law, {"value": …} a static setting and null a part that is absent. In a file the species are the last axis.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from unmixnet.files import ArtefactError
from unmixnet.physics.adsorption import Surface
from unmixnet.physics.advection import Scores, Velocities
from unmixnet.physics.conditions import Conditions
from unmixnet.physics.maxwell_stefan import MaxwellStefan
from unmixnet.physics.readout import Linear, Logarithmic, MonotoneSpline, PowerLaw, Readout, Sips
from unmixnet.physics.source import Constant, RiseDecay, Source, Tabulated
from unmixnet.physics.state import Process, Schedule

__all__ = ["pack_process", "unpack_process"]

_LAWS: dict[str, type[eqx.Module]] = {
    law.__name__: law
    for law in (
        *(Process, Source, RiseDecay, Constant, Tabulated, Velocities, Scores, MaxwellStefan, Surface, Schedule),
        *(Conditions, Readout, Linear, Logarithmic, PowerLaw, Sips, MonotoneSpline),
    )
}

_TURNED = frozenset(
    (
        *("wall", "k_ads", "k_des", "beta", "baseline_slopes", "gain_slopes", "slopes", "values", "prior"),
        *("forward", "backward", "outlet", "rate"),
    )
)
"""Fields whose last two axes are the other way round in a file."""


def pack_process(process: Process) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Tensors in single precision, and the outline that names them."""
    tensors: dict[str, np.ndarray] = {}

    def outline(part: Any, name: str, field: str) -> Any:
        if part is None:
            return None
        if isinstance(part, eqx.Module):
            inside = {each.name: getattr(part, each.name) for each in fields(part)}  # pyright: ignore[reportArgumentType]
            named = {key: outline(value, f"{name}.{key}" if name else key, key) for key, value in inside.items()}
            return {"is": type(part).__name__, **named}
        if eqx.is_array(part) or isinstance(part, np.ndarray):
            tensors[name] = np.array(_filed(np.asarray(part, np.float32), field), order="C")
            return name
        return {"value": part}

    return tensors, outline(process, "", "")


def _filed(values: np.ndarray, field: str) -> np.ndarray:
    """An array as it is in a file."""
    if field == "D" and values.ndim == 3:
        return np.moveaxis(values, -1, 0)
    return np.swapaxes(values, -1, -2) if field in _TURNED else values


def _laid_out(values: np.ndarray, field: str) -> np.ndarray:
    """An array of a file as the laws take it."""
    if field == "D" and values.ndim == 3:
        return np.moveaxis(values, 0, -1)
    return np.swapaxes(values, -1, -2) if field in _TURNED else values


def unpack_process(tensors: Mapping[str, np.ndarray], outline: Any, where: str) -> Process:
    """The process of an outline; a law that is not known, or a tensor that is missing, is refused."""

    def built(part: Any, field: str = "") -> Any:
        if part is None:
            return None
        if isinstance(part, str):
            return jnp.asarray(_laid_out(tensors[part], field))
        if "is" in part:
            return _LAWS[part["is"]](**{key: built(value, key) for key, value in part.items() if key != "is"})
        return part["value"]

    try:
        process = built(outline)
    except (KeyError, TypeError, AttributeError) as error:
        raise _unknown(f"{type(error).__name__}: {error}", where) from None
    if not isinstance(process, Process):
        raise _unknown(f"its outermost law is {type(process).__name__}", where)
    return process


def _unknown(problem: str, where: str) -> ArtefactError:
    return ArtefactError(
        f"its outline describes no process ({problem})",
        where=where,
        remedy="Was it written by another version of unmixnet? Update, or calibrate anew",
    )
