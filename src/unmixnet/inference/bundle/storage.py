"""Bundles on disk: float32 weights by name, documents beside them, one manifest over all.

`config.json` holds the model specification inside a copy of the training file, so that a bundle documents how it was
trained; only `ModelSpec` is interpreted here.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from unmixnet.errors import UnmixError
from unmixnet.files import Artefact, ArtefactError, read_artefact, write_artefact
from unmixnet.inference.bundle.bundle import Bundle, SeenRecording, find_bundle
from unmixnet.inference.bundle.calibration import Calibration
from unmixnet.model.predict import single_precision
from unmixnet.model.spec import ModelSpec, build_model
from unmixnet.recordings.preprocessing import Preprocessing

__all__ = ["FORMAT", "from_tensors", "load_bundle", "load_model", "save_bundle", "to_tensors"]

FORMAT = 1
_LARGEST = 64 << 20


def save_bundle(folder: str | Path, bundle: Bundle) -> str:
    """Write a bundle, replacing one that is there, and return its digest."""
    weights = to_tensors(eqx.filter(bundle.model, eqx.is_inexact_array))
    documents = {
        "config.json": _config(bundle),
        "preprocessing.json": json.loads(bundle.preprocessing.to_json()),
        "calibration.json": bundle.calibration.to_json(),
        "card.md": bundle.card,
    }
    tensors = {name: array.astype(np.float32) for name, array in weights.items()}
    return write_artefact(Path(folder), Artefact("bundle", tensors, documents))


def load_model(name_or_path: str | Path) -> Bundle:
    """A trained model: one that ships with the package, by name, or one that `unmixnet train` wrote, by its folder.

    >>> import unmixnet as um
    >>> model = um.load_model("simulated")
    >>> model.channels
    ('MOX1', 'MOX2', 'MOX3', 'MOX4')
    >>> len(model.components)
    12
    """
    return load_bundle(find_bundle(name_or_path))


def load_bundle(folder: str | Path) -> Bundle:
    """Read and verify a bundle; draws nothing and compiles nothing."""
    kept = read_artefact(Path(folder), kind="bundle", max_bytes=_LARGEST)
    where = str(folder)
    with _understood(where):
        stored: Any = kept.documents["config.json"]
        if stored["format"] != FORMAT:
            raise ValueError(f"format {stored['format']!r}, this release reads format {FORMAT}")
        preprocessing = Preprocessing.from_json(json.dumps(kept.documents["preprocessing.json"]))
        spec = ModelSpec.of(
            stored["config"], stored["components"], preprocessing.channels, air=stored["air"], sign=stored["sign"]
        )
        bundle = Bundle(
            str(stored["name"]),
            spec,
            preprocessing,
            None,
            Calibration.from_json(kept.documents["calibration.json"]),
            str(kept.documents["card.md"]),
            tuple(SeenRecording(str(entry["path"]), str(entry["sha256"])) for entry in stored["recordings"]),
            stored["config"],
            kept.digest,
        )
        model = _model(bundle, kept.tensors, where)
    return replace(bundle, model=model)


def _config(bundle: Bundle) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "name": bundle.name,
        "config": bundle.training,
        "components": bundle.spec.components,
        "air": bundle.spec.air,
        "sign": bundle.spec.sign,
        "recordings": [asdict(recording) for recording in bundle.recordings],
    }


def _model(bundle: Bundle, tensors: Mapping[str, np.ndarray], where: str) -> PyTree:
    """The structure that the configuration describes, with the stored weights in it."""
    with single_precision():
        shapes = eqx.filter_eval_shape(lambda: build_model(bundle.spec, seed=0))
        wanted, rest = eqx.partition(shapes, _is_weight)
        if bad := [name for name, array in tensors.items() if not np.all(np.isfinite(array))]:
            raise ArtefactError(f"{bad[0]} holds NaN or infinity", where=where, remedy="Train anew, or fetch it again")
        return eqx.combine(from_tensors(dict(tensors), wanted, where), rest)


def to_tensors(tree: PyTree) -> dict[str, np.ndarray]:
    """Every array of a tree under its path, e.g. `params.encoder.views.W_LP`; other leaves are no weights."""
    leaves = jax.tree_util.tree_leaves_with_path(eqx.filter(tree, _is_tensor))
    return {jax.tree_util.keystr(path).lstrip("."): np.asarray(leaf) for path, leaf in leaves}


def from_tensors(tensors: dict[str, np.ndarray], like: PyTree, where: str) -> PyTree:
    """The tree with these arrays; names, shapes and types must be those of `like`, other leaves stay."""
    wanted, rest = eqx.partition(like, _is_tensor)
    leaves, structure = jax.tree_util.tree_flatten_with_path(wanted)
    names = [jax.tree_util.keystr(path).lstrip(".") for path, _ in leaves]
    if missing := set(names) ^ set(tensors):
        raise ArtefactError(
            f"{len(missing)} tensors are missing or unexpected, e.g. {min(missing)}",
            where=where,
            remedy="It was written for another model; train anew, or use its own configuration",
        )
    for name, (_, leaf) in zip(names, leaves, strict=True):
        if tensors[name].shape != leaf.shape or tensors[name].dtype != leaf.dtype:
            raise ArtefactError(
                f"{name} is {tensors[name].dtype}{tensors[name].shape}, expected {leaf.dtype}{leaf.shape}",
                where=where,
                remedy="It was written for another model; train anew, or use its own configuration",
            )
    made = jax.tree_util.tree_unflatten(structure, [jnp.asarray(tensors[name]) for name in names])
    return eqx.combine(made, rest)


def _is_tensor(leaf: Any) -> bool:
    """Whether a leaf is an array, or the shape of one."""
    return isinstance(leaf, (jax.Array, np.ndarray, jax.ShapeDtypeStruct))


def _is_weight(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct) and jnp.issubdtype(leaf.dtype, jnp.inexact)


@contextmanager
def _understood(where: str) -> Iterator[None]:
    """Turn every failure on documents that are valid JSON but describe no bundle into one kind of error."""
    try:
        yield
    except ArtefactError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, UnmixError) as error:
        problem = error.problem if isinstance(error, UnmixError) else f"{type(error).__name__}: {error}"
        raise ArtefactError(
            f"its documents do not describe a model ({' '.join(problem.split())[:200]})",
            where=where,
            remedy="Was it written by another version of unmixnet? Update, or train anew",
        ) from None
