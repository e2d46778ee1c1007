"""The training loop: epochs, early stopping, log, checkpoints; stops at the first NaN."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import PyTree

from unmixnet.errors import UnmixError
from unmixnet.files import Artefact, ArtefactError, read_artefact, recover, write_artefact
from unmixnet.inference.bundle.storage import from_tensors, to_tensors
from unmixnet.training.epoch import (
    Arrays,
    EpochReport,
    TrainingPlan,
    TrainState,
    make_epoch,
    names_at,
    restored,
    start_state,
)
from unmixnet.training.objective import Recipe

__all__ = ["Fit", "TrainingError", "fit", "load_checkpoint", "save_checkpoint"]


class TrainingError(UnmixError):
    """Training had to stop."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A trained model.

    Arguments:
        model: with the weights of the best epoch.
        before_refit: the model before it was trained again on the validation recordings too; the same without a refit.
        score: validation error of that epoch.
        best_epoch, epochs: the best, and how many were run.
        history: one entry per epoch.
        interrupted: whether the user stopped it.
    """

    model: PyTree
    before_refit: PyTree
    score: float
    best_epoch: int
    epochs: int
    history: tuple[dict[str, float], ...] = field(repr=False)
    interrupted: bool = False


def fit(
    model: PyTree,
    arrays: Arrays,
    plan: TrainingPlan,
    recipe: Recipe,
    *,
    window: int,
    seed: int = 0,
    folder: Path | None = None,
    every: int = 5,
    until: int | None = None,
    resume: bool = False,
    tag: str = "",
    watch: Callable[[dict[str, Any]], None] = lambda entry: None,
    epoch_of: Callable[..., Any] | None = None,
) -> Fit:
    """Train until the validation score stops falling.

    Arguments:
        model: at its start; its structure decides the loss (closed loop, or L_mix alone for a baseline).
        folder: where checkpoints and `log.jsonl` go; None keeps nothing.
        every: epochs between checkpoints.
        until: epoch after which it stops, on the way to the plan's last.
        resume: continue from the folder's checkpoint if there is one.
        tag: hash of the configuration; a checkpoint of another one is refused.
        watch: called after every epoch with what is logged.
        epoch_of: another epoch than the one that model, plan and recipe make.
    """
    epoch = epoch_of or make_epoch(model, plan, recipe, window)
    state = start_state(model, plan)
    history: list[dict[str, float]] = []
    if folder is not None and resume:
        state, history = load_checkpoint(folder / "checkpoint", like=state, tag=tag) or (state, history)
    # a run that had stopped by itself before it was resumed stays stopped
    stop = _stalled(state, plan)
    log, end = _Log(folder, history), plan.epochs if until is None else until
    try:
        while int(state.epoch) < end and not stop:
            began = time.monotonic()
            state_after, report = epoch(state, arrays, seed)
            if report.bad_step >= 0:
                _refuse(report, model, int(state.epoch) + 1, folder)
            entry = _entry(state_after, report, time.monotonic() - began)
            state, history = state_after, [*history, entry]
            log.add(entry)
            watch(entry)
            stop = _stalled(state, plan)
            last = stop or int(state.epoch) == end
            if folder is not None and (last or int(state.epoch) % every == 0):
                save_checkpoint(folder / "checkpoint", state, history, tag=tag)
    except KeyboardInterrupt:
        if folder is not None:
            save_checkpoint(folder / "checkpoint", state, history, tag=tag)
        return _fit(state, model, history, interrupted=True)
    return _fit(state, model, history)


def _stalled(state: TrainState, plan: TrainingPlan) -> bool:
    """Whether the best epoch is too long ago."""
    return int(state.epoch) - int(state.best_epoch) >= plan.patience


def _fit(state: TrainState, model: PyTree, history: list[dict[str, float]], *, interrupted: bool = False) -> Fit:
    trained = restored(model, state.best if np.isfinite(float(state.best_score)) else state.ema)
    return Fit(
        trained,
        trained,
        float(state.best_score),
        int(state.best_epoch),
        int(state.epoch),
        tuple(history),
        interrupted,
    )


def _entry(state: TrainState, report: EpochReport, seconds: float) -> dict[str, float]:
    """What is logged of an epoch."""
    parts = {f"L_{name}": value for name, value in report.parts.items()}
    return {
        "epoch": int(state.epoch),
        "loss": report.loss,
        **parts,
        "validation": report.score,
        "best": float(state.best_score),
        "seconds": round(seconds, 3),
    }


def _refuse(report: EpochReport, model: PyTree, epoch: int, folder: Path | None) -> None:
    """Name the tensors whose gradient is not finite."""
    bad = names_at(model, report.bad)
    kept = f" The last good checkpoint is kept in {folder / 'checkpoint'}." if folder is not None else ""
    raise TrainingError(
        f"the gradient of {', '.join(bad[:3]) or 'no tensor, but the loss'} is not finite at step "
        f"{report.bad_step + 1} of epoch {epoch}" + (f" (and {len(bad) - 3} more tensors)" if len(bad) > 3 else ""),
        remedy=f"Lower training.rate, or check the recordings for extreme values.{kept}",
    )


class _Log:
    """`log.jsonl`: one line per epoch; lines of epochs that a resumed run repeats are replaced."""

    def __init__(self, folder: Path | None, history: list[dict[str, float]]) -> None:
        self.path = None if folder is None else folder / "log.jsonl"
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text("".join(json.dumps(entry) + "\n" for entry in history), encoding="utf-8")

    def add(self, entry: dict[str, float]) -> None:
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")


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
