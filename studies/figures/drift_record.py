"""Errors by session and by distance from the levels of training."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from studies.figures.failures import clustered, level_distance
from studies.figures.plain_values import plain, rounded
from studies.figures.stored import Table
from studies.harness.folds import Turn
from studies.peers.tables import MIXTURE_RECORDINGS
from unmixnet.recordings.datasets import Dataset
from unmixnet.recordings.pieces import Piece
from unmixnet.recordings.recall import Recall
from unmixnet.recordings.response import Response
from unmixnet.recordings.samples import gather_samples, per_recording

__all__ = ["drift_record"]


def drift_record(table: Table, turns: Sequence[Turn], recall: Recall) -> dict[str, Any]:
    """Every recording's session, distance from training, and errors; and whether distance foretells the error."""
    place = {path: i for i, path in enumerate(table.recordings)}
    n = len(table.recordings)
    session, nearest, drift = [""] * n, np.full(n, np.nan), np.full(n, np.nan)
    for turn in turns:
        tested = turn.tests[table.protocol]
        levels, training = _levels(turn.data, tested, recall), _levels(turn.data, turn.train, recall)
        known = np.array([_recipe(piece) for piece in turn.train])
        same = np.array([known == _recipe(piece) for piece in tested])
        near, far = level_distance(levels, training, same)
        for k, piece in enumerate(tested):
            i = place[piece.path]
            session[i], nearest[i], drift[i] = piece.session or "", near[k], far[k]
    errors = {model: table.error(model) for model in (*table.compared, "mean")}
    measures = {"nearest": nearest, "drift": drift}
    rows = [
        {"model": model, "by": by, **plain(clustered(x, error, session)), **_thirds(x, error)}
        for model, error in errors.items()
        for by, x in measures.items()
    ]
    columns = {"session": session, **{key: rounded(x) for key, x in measures.items()}}
    by_session = _by_session(session, table.supports, measures, errors)
    told = {model: rounded(error) for model, error in errors.items()}
    return {"rows": rows, "sessions": by_session, "recordings": {**columns, "errors": told}}


def _by_session(
    session: Sequence[str], supports: Sequence[str], measures: dict[str, np.ndarray], errors: dict[str, np.ndarray]
) -> list[dict[str, Any]]:
    names, found = np.array(session), []
    for name in sorted(set(session), key=lambda text: (len(text), text)):
        mine = names == name
        held = {support for support, inside in zip(supports, mine, strict=True) if inside}
        told = {key: _median(x[mine]) for key, x in measures.items()}
        mae = {model: float(error[mine].mean()) for model, error in errors.items()}
        found.append({"session": name, "recordings": int(mine.sum()), "supports": len(held), **told, "errors": mae})
    return found


def _median(x: np.ndarray) -> float | None:
    known = x[np.isfinite(x)]
    return float(np.median(known)) if len(known) else None


def _thirds(x: np.ndarray, error: np.ndarray) -> dict[str, float]:
    """Mean error of the third that is nearest to training, and of the third that is furthest."""
    known = np.flatnonzero(np.isfinite(x))
    parts = np.array_split(known[np.argsort(x[known])], 3)
    return {"near_third": float(error[parts[0]].mean()), "far_third": float(error[parts[2]].mean())}


def _levels(data: Dataset, pieces: Sequence[Piece], recall: Recall) -> np.ndarray:
    """Mean logarithm of the conductance in the first minute of each recording, shape (n, M)."""
    recordings = [recall(data, piece) for piece in pieces]
    made = replace(MIXTURE_RECORDINGS, response=Response.LOG_CONDUCTANCE).fit(recordings[:1])
    samples = gather_samples(recordings, made, data.components)
    return per_recording(samples.windows.mean(axis=1), samples.recordings)


def _recipe(piece: Piece) -> str:
    assert piece.label is not None, "recordings of a study have labels"
    pairs = sorted(zip(piece.label.names, np.round(piece.label.ratios, 2), strict=True))
    return " ".join(f"{name}:{share:g}" for name, share in pairs)
