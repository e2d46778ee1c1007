"""Where drift between sessions hurts: errors by session, and by distance from the levels of training."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.figures.failures import clustered, level_distance
from studies.figures.shares import COLOURS, MARKERS, PEER, label_of
from studies.figures.stored import AnswerTable, Caption, plain, rounded
from studies.harness.definitions import StudyFold
from studies.peers.tables import MIXTURE_RECORDINGS
from studies.peers.windows import gather_samples
from unmixnet.recordings.datasets import Dataset
from unmixnet.recordings.pieces import Piece, Recall
from unmixnet.recordings.preprocessing import Response
from unmixnet.recordings.samples import per_recording
from unmixnet.simulation.plot_style import MUTED, figure_style

__all__ = ["binned", "draw_drift", "drift_caption", "drift_record"]

_MAIN = "leave-session-out"
_NULL = "mean"
_BINS = 6
_AXES = {
    "drift": "distance from the same recipe in training [sd]",
    "nearest": "distance from the nearest training recording [sd]",
}


def _models(part: Mapping[str, Any]) -> list[str]:
    return [name for name in part["recordings"]["errors"] if name != _NULL]


def _look(model: str) -> tuple[str, str]:
    return COLOURS.get(model, PEER), MARKERS.get(model, "D")


def binned(x: np.ndarray, error: np.ndarray, bins: int = _BINS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean distance, mean error and its standard error in bins of equally many recordings."""
    known = np.flatnonzero(np.isfinite(x))
    parts = [part for part in np.array_split(known[np.argsort(x[known])], bins) if len(part)]
    spread = [error[part].std() / np.sqrt(len(part)) for part in parts]
    return np.array([x[p].mean() for p in parts]), np.array([error[p].mean() for p in parts]), np.array(spread)


def draw_drift(record: Mapping[str, Any]) -> Figure:
    """Sessions on the left, distances in the middle and on the right."""
    part = record["drift"][_MAIN]
    with figure_style():
        fig, axes = plt.subplots(1, 3, figsize=(14, 4.6), layout="constrained", width_ratios=(1.35, 1, 1), sharey=True)
        _sessions(axes[0], part)
        for ax, by in zip(axes[1:], _AXES, strict=True):
            _distances(ax, part, by)
        for ax in axes:
            ax.set_ylabel("error: mean |â − a|")
        axes[0].legend(fontsize=8.5, loc="upper left", ncols=2)
        low, high = axes[0].get_ylim()
        axes[0].set_ylim(low, high + 0.12 * (high - low))
    return fig


def _sessions(ax: Axes, part: Mapping[str, Any]) -> None:
    sessions = part["sessions"]
    x = np.arange(len(sessions))
    for k, model in enumerate(_models(part)):
        colour, marker = _look(model)
        y = [session["errors"][model] for session in sessions]
        ax.plot(x + 0.16 * (k - 0.5), y, marker, color=colour, ms=7, label=label_of(model))
    null = [session["errors"][_NULL] for session in sessions]
    ax.hlines(null, x - 0.38, x + 0.38, color=MUTED, lw=2, label="mean of training")
    names = [f"{session['session']}\n({session['recordings']})" for session in sessions]
    ax.set_xticks(x, names, fontsize=8.5)
    ax.set(xlabel="session (recordings)", title="Each session by models that saw only others")


def _distances(ax: Axes, part: Mapping[str, Any], by: str) -> None:
    x = np.array(part["recordings"][by], float)
    notes = []
    for model in _models(part):
        colour, marker = _look(model)
        error = np.array(part["recordings"]["errors"][model], float)
        middle, mean, spread = binned(x, error)
        ax.errorbar(middle, mean, 1.96 * spread, fmt=marker + "-", color=colour, ms=6, lw=1.5)
        row = next(row for row in part["rows"] if (row["model"], row["by"]) == (model, by))
        notes.append((colour, f"ρ = {row['rho']:.2f} [{row['lo']:.2f}, {row['hi']:.2f}]"))
    null = binned(x, np.array(part["recordings"]["errors"][_NULL], float))
    ax.plot(null[0], null[1], color=MUTED, lw=2)
    ax.set(xlabel=_AXES[by], title=f"{int(np.isfinite(x).sum())} recordings")
    for k, (colour, text) in enumerate(notes):
        ax.text(0.03, 0.96 - 0.065 * k, text, transform=ax.transAxes, fontsize=9.5, color=colour, va="top")
    ax.tick_params(labelleft=True)


def drift_caption(record: Mapping[str, Any]) -> Caption:
    """The caption."""
    part = record["drift"][_MAIN]
    sessions = part["sessions"]
    first = _models(part)[0]
    beaten = sum(session["errors"][first] >= session["errors"][_NULL] for session in sessions)
    thirds = "; ".join(
        f"{label_of(row['model'])}: {row['near_third']:.3f} in the third nearest to its recipe, {row['far_third']:.3f} "
        "in the furthest"
        for row in part["rows"]
        if row["by"] == "drift" and row["model"] != _NULL
    )
    count = sum(session["recordings"] for session in sessions)
    return Caption(
        "Where drift between sessions hurts",
        f"{count} measured recordings of {len(sessions)} sessions, each answered by a model that saw only other "
        f"sessions ({_MAIN}, six groups). The level of a recording is the mean logarithm of its conductance in the "
        "first minute; distances are RMS over channels, in standard deviations of the training levels. Bins hold "
        "equally many recordings; bars are 1.96 standard errors, which are too short, as recordings of a session go "
        f"together; the intervals of ρ resample whole sessions. In {beaten} of {len(sessions)} sessions "
        f"{label_of(first)} is no better than the mean of training. {thirds}.",
        "Distances need the true recipe (middle) or all of training (right): they explain errors, they cannot correct "
        "them. Labelled references of the session can; `python -m studies session` measures how far.",
    )


def drift_record(table: AnswerTable, folds: Sequence[StudyFold], recall: Recall) -> dict[str, Any]:
    """Every recording's session, distance from training, and errors; and whether distance predicts the error."""
    place = {path: i for i, path in enumerate(table.recordings)}
    n = len(table.recordings)
    session, nearest, drift = [""] * n, np.full(n, np.nan), np.full(n, np.nan)
    for fold in folds:
        tested = fold.tests[table.protocol]
        levels, training = _levels(fold.data, tested, recall), _levels(fold.data, fold.train, recall)
        known = np.array([_recipe(piece) for piece in fold.train])
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
    rounded_errors = {model: rounded(error) for model, error in errors.items()}
    return {"rows": rows, "sessions": by_session, "recordings": {**columns, "errors": rounded_errors}}


def _by_session(
    session: Sequence[str], supports: Sequence[str], measures: dict[str, np.ndarray], errors: dict[str, np.ndarray]
) -> list[dict[str, Any]]:
    names, rows = np.array(session), []
    for name in sorted(set(session), key=lambda text: (len(text), text)):
        mine = names == name
        held = {support for support, inside in zip(supports, mine, strict=True) if inside}
        medians = {key: _median(x[mine]) for key, x in measures.items()}
        mae = {model: float(error[mine].mean()) for model, error in errors.items()}
        rows.append({"session": name, "recordings": int(mine.sum()), "supports": len(held), **medians, "errors": mae})
    return rows


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
