r"""Traces of unseen mixtures, rebuilt: by UnMixNet's solver, and by ridge projections from ADR-GNN's hidden states.

ADR-GNN reconstructs nothing by itself. Two projections are fitted on training recordings alone, their penalties chosen
on validation recordings:

    of each moment   y(t) ≈ P h(t) + b        h(t) holds the mean of the last samples up to t: nearly a copy
    of the window    y(·) ≈ P h(T) + b        one vector for the whole window, as narrow as the answer is read from

Beside them the null that no model is needed for: the window's first sample, held. UnMixNet's solver starts from that
sample, too, and gets nothing else of the trace but the inferred mixture and bounded coefficients.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.figures.stored import Caption
from studies.harness.benches import NetworkBench, trained
from studies.harness.definitions import Study, StudyFold, chosen, study_folds
from studies.harness.jobs import Options, config_of, fold_jobs
from studies.harness.variants import BASELINES, UNMIXNET
from studies.harness.work import Work
from studies.states.networks import fit_projection
from unmixnet.errors import ConfigError
from unmixnet.inference.bundle import load_model
from unmixnet.model.predict import encode, reconstruct, respond
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.recordings.pieces import Recall
from unmixnet.recordings.protocols import hold_out
from unmixnet.simulation.plot_style import INK, MUTED, PALETTE, figure_style

__all__ = ["MODELS", "draw_reconstruction", "gather_reconstruction", "reconstruction_caption", "reconstruction_record"]

MODELS = ("UnMixNet", "ADR-GNN, each moment", "ADR-GNN, window", "first sample held")
_STUDY, _UNSEEN = "clean", "smellnet-mixture:clean:unseen"


def gather_reconstruction(root: Path | None, work: Work) -> dict[str, Any]:
    """Windows of the clean unseen recordings and their reconstructions; ADR-GNN is trained for it, once."""
    study, options = chosen("smellnet", (_STUDY,))[0], Options()
    fold, recall = study_folds(study.protocols, root)[0], Recall(root)
    ours = NetworkBench(config_of(study, UNMIXNET, options), fold, recall)
    model, source = _unmixnet(ours, study, fold, work, options)
    adr = next(variant for variant in BASELINES if variant.name == "adr-gnn")
    theirs = NetworkBench(config_of(study, adr, options), fold, recall)
    fit = theirs.fit(0, lambda entry: None)
    Y, owner = ours.windows(fold.tests[_UNSEEN])
    stride = model.settings.stride
    with jax.enable_x64(False):
        made = np.asarray(reconstruct(model, encode(model, Y), Y), float)
    rows = np.arange(stride, made.shape[1] * stride + 1, stride)
    moment, window = _projected(theirs, fit.model, Y)
    rebuilt: dict[str, np.ndarray] = dict(
        zip(MODELS, (made, moment[:, rows], window[:, rows], _held(Y, rows)), strict=True)
    )
    ready = ours.prepared.preprocessing
    about = {
        "channels": list(ready.channels),
        "sd": np.asarray(ready.sd, float).tolist(),
        "rate_Hz": ours.config.model.rate_Hz,
        "unmixnet": source,
        "adr_gnn_epochs": fit.epochs,
    }
    names = [piece.label.names for piece in fold.tests[_UNSEEN] if piece.label]
    shares = [piece.label.ratios for piece in fold.tests[_UNSEEN] if piece.label]
    labels = [
        ", ".join(f"{name} {100 * share:.0f} %" for name, share in zip(n, s, strict=True))
        for n, s in zip(names, shares, strict=True)
    ]
    return about | reconstruction_record(Y[:, rows], rebuilt, owner, labels, rows / ours.config.model.rate_Hz)


def _unmixnet(bench: NetworkBench, study: Study, fold: StudyFold, work: Work, options: Options) -> tuple[UnMixNet, str]:
    """UnMixNet as the study trained it, else as the shipped bundle has it, which is the same recipe and split."""
    job = next(job for job in fold_jobs(study, fold, options) if job.variant is UNMIXNET and job.seed == 0)
    if work.read_weights(job) is not None:
        return trained(bench, job, work), f"weights {work.digest(job)} of the study {study.name}"
    bundle = load_model("smellnet-mixture")
    mine, shipped = bench.prepared.preprocessing, bundle.preprocessing
    if not np.allclose([mine.mean, mine.sd], [shipped.mean, shipped.sd], rtol=1e-4):
        raise ConfigError(
            "the shipped bundle was trained on other recordings than the clean study has",
            where=str(work.folder),
            remedy="Name a --work folder in which `python -m studies smellnet` has trained unmixnet",
        )
    return bundle.model, f"shipped bundle {bundle.name} {bundle.digest[:12]}"


def _projected(bench: NetworkBench, model: Any, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Windows (n, T, M) rebuilt from the hidden state of each moment, and from the last one."""
    inner = hold_out(bench.fold.train, share=bench.config.data.validation)
    known = [bench.windows(side)[0] for side in (inner.train, inner.test)]
    hidden = [np.asarray(respond(model, cut).hidden, float) for cut in (*known, Y)]

    def flat(array: np.ndarray) -> np.ndarray:
        return array.reshape(-1, array.shape[2])

    train, held = ((flat(h), flat(y)) for h, y in zip(hidden[:2], known, strict=True))
    moment = fit_projection(train, held)(hidden[2])
    train, held = ((h[:, -1], y.reshape(len(y), -1)) for h, y in zip(hidden[:2], known, strict=True))
    return moment, fit_projection(train, held)(hidden[2][:, -1]).reshape(Y.shape)


def _held(Y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.repeat(Y[:, :1], len(rows), axis=1)


def reconstruction_record(
    measured: np.ndarray, rebuilt: dict[str, np.ndarray], owner: np.ndarray, labels: list[str], time_s: np.ndarray
) -> dict[str, Any]:
    """Residuals of all windows, and the traces of the recording whose residual of UnMixNet is the median.

    Arguments:
        measured: windows (n, T, M) in standard deviations of the training signal; `owner`: recording of each.
        rebuilt: the same by model; the first is UnMixNet's.
    """
    count = len(labels)
    rms: dict[str, np.ndarray] = {}
    for name, made in rebuilt.items():
        square = np.mean((measured - made) ** 2, axis=1)
        rms[name] = np.sqrt([square[owner == r].mean(axis=0) for r in range(count)])
    first = np.sqrt(np.mean(next(iter(rms.values())) ** 2, axis=1))
    which = int(np.argsort(first)[(count - 1) // 2])
    window = int(np.flatnonzero(owner == which)[0])
    return {
        "recordings": count,
        "label": labels[which],
        "time_s": time_s.tolist(),
        "measured": np.round(measured[window], 5).tolist(),
        "rebuilt": {name: np.round(made[window], 5).tolist() for name, made in rebuilt.items()},
        "rms": {name: np.sqrt(np.mean(values**2, axis=0)).tolist() for name, values in rms.items()},
        "rms_recordings": {name: np.round(np.sqrt(np.mean(v**2, axis=1)), 5).tolist() for name, v in rms.items()},
    }


_COLOURS = dict(zip(MODELS, (PALETTE[0], PALETTE[5], PALETTE[1], MUTED), strict=True))
_DASHES = dict(zip(MODELS, ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (1, 3))), strict=True))


def draw_reconstruction(record: Mapping[str, Any]) -> Figure:
    """Traces above, residual maps below, and the residuals of all recordings."""
    channels, time = record["channels"], np.array(record["time_s"])
    with figure_style():
        fig = plt.figure(figsize=(11, 7.6), layout="constrained")
        grid = fig.add_gridspec(2, len(channels), height_ratios=(1, 1.15))
        for m, name in enumerate(channels):
            _trace(fig.add_subplot(grid[0, m]), record, m, time, name)
        below = grid[1, :].subgridspec(1, 2, width_ratios=(1.55, 1))
        _maps(fig, below[0].subgridspec(len(MODELS), 1), record, time)
        _all(fig.add_subplot(below[1]), record)
        handles, names = fig.axes[0].get_legend_handles_labels()
        fig.legend(handles, names, loc="outside upper center", ncols=5, fontsize=10)
    return fig


def _trace(ax: Axes, record: Mapping[str, Any], m: int, time: np.ndarray, name: str) -> None:
    ax.plot(time, np.array(record["measured"])[:, m], color="#b5b5b5", lw=5, label="measured")
    for model in MODELS:
        made = np.array(record["rebuilt"][model])[:, m]
        ax.plot(time, made, color=_COLOURS[model], ls=_DASHES[model], lw=1.9, label=model)
    ax.set(title=name, xlabel="time [s]", xlim=(0, time[-1]))
    ax.margins(y=0.25)
    ax.set_ylabel("signal [sd of training]" if m == 0 else "signal [sd]")


def _maps(fig: Figure, grid: Any, record: Mapping[str, Any], time: np.ndarray) -> None:
    """Residuals, one map for each model, all in the same colours."""
    left = {name: np.array(record["measured"]) - np.array(record["rebuilt"][name]) for name in MODELS}
    top = max(float(np.quantile(np.abs(part), 0.98)) for part in left.values()) or 1.0
    axes = []
    for k, (name, part) in enumerate(left.items()):
        ax = fig.add_subplot(grid[k])
        edges = (float(time[0]), float(time[-1]), len(record["channels"]) - 0.5, -0.5)
        drawn = ax.imshow(
            part.T, aspect="auto", cmap="PuOr", vmin=-top, vmax=top, extent=edges, interpolation="nearest"
        )
        ax.set_yticks(range(len(record["channels"])), record["channels"], fontsize=8)
        ax.set_title(f"Residual map: {name}", fontsize=9.5)
        ax.grid(False)
        ax.tick_params(labelbottom=k == len(MODELS) - 1)
        axes.append(ax)
    axes[-1].set_xlabel("time [s]")
    fig.colorbar(drawn, ax=axes, label="measured − rebuilt [sd of training]", shrink=0.9, pad=0.015)


def _all(ax: Axes, record: Mapping[str, Any]) -> None:
    """RMS residual of every recording, with the value over all of them and the median."""
    rng = np.random.default_rng(0)
    for k, name in enumerate(MODELS):
        values = np.array(record["rms_recordings"][name])
        total, middle = _summary(record, name)
        ax.plot(values, k + rng.uniform(-0.16, 0.16, len(values)), "o", ms=3.5, color=_COLOURS[name], alpha=0.55, mew=0)
        ax.plot([total, total], [k - 0.3, k + 0.3], color=INK, lw=2, label="" if k else "RMS of all")
        ax.plot(middle, k, "D", color="white", mec=INK, mew=1.4, ms=6.5, label="" if k else "median")
        ax.annotate(f"{total:.3f}", (total, k - 0.33), ha="center", va="bottom", fontsize=9, color=INK)
    ax.set_yticks(range(len(MODELS)), [name.replace(", ", ",\n") for name in MODELS], fontsize=9)
    ax.set(ylim=(len(MODELS) - 0.4, -0.65), xlabel="RMS residual [sd of training]", xscale="log")
    ax.set_title(f"All {record['recordings']} recordings")
    ax.legend(fontsize=8.5, loc="upper left")


def _summary(record: Mapping[str, Any], name: str) -> tuple[float, float]:
    """RMS over all recordings, and the median of theirs."""
    values = np.array(record["rms_recordings"][name])
    return float(np.sqrt(np.mean(values**2))), float(np.median(values))


def reconstruction_caption(record: Mapping[str, Any]) -> Caption:
    """The caption."""
    scores = "; ".join("{} {:.3f} ({:.3f})".format(name, *_summary(record, name)) for name in MODELS)
    return Caption(
        f"An unseen mixture rebuilt ({record['label']})",
        "Signals are logarithms of the conductance, in standard deviations of training. The recording is the one whose "
        f"residual of UnMixNet is the median of the {record['recordings']} clean unseen recordings; its first window "
        f"is drawn. UnMixNet ({record['unmixnet']}) gets the first sample, the mixture that its encoder inferred and "
        "bounded coefficients; its solver makes the rest. ADR-GNN "
        f"(trained for {record['adr_gnn_epochs']} epochs) rebuilds nothing by itself: ridge projections from its "
        "hidden states to the trace were fitted on training recordings only. The state of each moment holds the last "
        "samples, so that this projection nearly copies them; from the last state alone it has to know the whole "
        f"window. RMS residual over all recordings, median in brackets: {scores}.",
        "A small residual speaks for the physics only where it is below that of the first sample held, and most of "
        "these traces hardly move within a window. Recordings with an onset could tell more; so could a solver that "
        "has to find the level by itself.",
    )
