"""Checkpoints: the whole state of a training run as a self-verifying folder."""

from pathlib import Path
from typing import Any

from unmixnet.files import Artefact, ArtefactError, read_artefact, recover, write_artefact
from unmixnet.inference.bundle.storage import from_tensors, to_tensors
from unmixnet.training.epoch import TrainState

__all__ = ["load_checkpoint", "save_checkpoint"]


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
