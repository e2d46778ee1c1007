"""Checkpoints: the whole state of a training run as a self-verifying folder."""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from unmixnet.files import Artefact, ArtefactError, read_artefact, recover, write_artefact
from unmixnet.training.epoch import TrainState

__all__ = ["from_tensors", "load_checkpoint", "save_checkpoint", "to_tensors"]


def to_tensors(tree: PyTree) -> dict[str, np.ndarray]:
    """Every array of a tree under its path, e.g. `params.encoder.views.W_LP`; other leaves are no weights."""
    leaves = jax.tree_util.tree_leaves_with_path(eqx.filter(tree, _is_tensor))
    return {jax.tree_util.keystr(path).lstrip("."): np.asarray(leaf) for path, leaf in leaves}


def from_tensors(tensors: dict[str, np.ndarray], like: PyTree, where: str) -> PyTree:
    """The tree with these arrays; names, shapes and types must be those of `like`, leaves that are none stay."""
    wanted, rest = eqx.partition(like, _is_tensor)
    leaves, structure = jax.tree_util.tree_flatten_with_path(wanted)
    names = [jax.tree_util.keystr(path).lstrip(".") for path, _ in leaves]
    if missing := set(names) ^ set(tensors):
        raise ArtefactError(
            f"{len(missing)} tensors do not belong together, e.g. {min(missing)}",
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
    """Also of a shape that stands for an array."""
    return isinstance(leaf, (jax.Array, np.ndarray, jax.ShapeDtypeStruct))


def save_checkpoint(folder: Path, state: TrainState, history: list[dict[str, Any]], *, tag: str) -> str:
    """Write the state; the one that was there is replaced only when the new one is complete on disk."""
    documents = {"progress.json": {"tag": tag, "epoch": int(state.epoch), "history": history}}
    return write_artefact(folder, Artefact("checkpoint", to_tensors(state), documents, ""))


def load_checkpoint(folder: Path, *, like: TrainState, tag: str) -> tuple[TrainState, list[dict[str, Any]]] | None:
    """The state that was saved, or None if nothing was."""
    recover(folder)
    if not folder.exists():
        return None
    kept = read_artefact(folder, kind="checkpoint")
    progress = kept.documents["progress.json"]
    if progress["tag"] != tag:
        raise ArtefactError(
            "the checkpoint was made with another configuration",
            where=str(folder),
            remedy="Use the configuration that it was made with, or train into another folder",
        )
    return from_tensors(dict(kept.tensors), like, str(folder)), list(progress["history"])
