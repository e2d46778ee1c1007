"""Pictures of the states: trajectories of a new mixture, and the phase space of the two residuals."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from studies.harness.benches import NetworkBench
from studies.harness.jobs import Options, config_of
from studies.harness.work import Work
from studies.states.gather import PROTOCOLS, Judged, network_verdict
from studies.states.judge import MASS, MS, predicted_states
from studies.states.networks import restored
from studies.states.physical import PhysicalStates
from studies.states.residuals import mass_errors, ms_residuals
from studies.states.worlds import StateWorld
from unmixnet.recordings.pieces import Piece, Recall
from unmixnet.simulation.plot_style import INK, MUTED, PALETTE, figure_style

__all__ = ["draw_phase_space", "draw_states", "draw_trajectories"]

_UNSEEN = PROTOCOLS[1]
_LABELS = {
    "C": ("Concentration at the sensors", "C [µmol/m³]", 1e6),
    "J": ("Diffusive flux", "mean |J| [nmol/(m² s)]", 1e9),
    "θ": ("Coverage of the sensors", "Θ [–]", 1.0),
    "M": ("Odorants in the gas", "M [nmol]", 1e9),
}
_NAMES = {"adr-gnn": "ADR-GNN, projected", "unmixnet": "UnMixNet, one factor per substance"}


def draw_states(
    judged: Sequence[Judged], work: Work, options: Options, root: str | Path | None, folder: Path
) -> list[Path]:
    """Every picture for which ADR-GNN and UnMixNet are finished, with seed 0."""
    folder.mkdir(parents=True, exist_ok=True)
    recall, made = Recall(root), []
    for result in judged:
        world, predicted, verdicts = result.world, {}, {}
        for job in result.jobs:
            if job.variant.name in _NAMES and job.seed == 0 and work.read_weights(job) is not None:
                bench = NetworkBench(config_of(job.study, job.variant, options), world.fold, recall)  # pyright: ignore[reportArgumentType]
                model = restored(bench, job, work)
                predicted[job.variant.name] = predicted_states(world, bench, model, world.fold.tests[_UNSEEN])
                verdicts |= network_verdict(world, job, work, options, recall)["verdict"]
        if len(predicted) == len(_NAMES):
            made.append(draw_trajectories(world, predicted, folder / f"states_{world.name}_trajectories.png"))
            if world.laws is not None:
                made.append(draw_phase_space(world, verdicts, folder / f"states_{world.name}_phase.png"))
    return made


def draw_trajectories(world: StateWorld, predicted: dict[str, PhysicalStates], path: Path) -> Path:
    """C(t), J(t), Θ(t), M(t) of one recording of a new mixture: the middle one of the list, the same in every world."""
    pieces = world.fold.tests[_UNSEEN]
    truth = world.of(pieces)
    which = len(pieces) // 2
    with figure_style():
        fig, axes = plt.subplots(2, 2, figsize=(10, 6), sharex=True, layout="constrained")
        for ax, (what, (title, label, unit)) in zip(axes.flat, _LABELS.items(), strict=True):
            curve = unit * truth.scalars()[what][which]
            seconds = np.arange(1, len(curve) + 1)
            ax.plot(seconds, curve, color=INK, lw=2.4, label="reference")
            for name, states in predicted.items():
                colour, dashes = (PALETTE[0], "-") if name == "unmixnet" else (PALETTE[5], (0, (4, 2)))
                ax.plot(seconds, unit * states.scalars()[what][which], color=colour, ls=dashes, label=_NAMES[name])
            ax.set(title=title, ylabel=label)
            lowest = min(line.get_ydata().min() for line in ax.lines)  # pyright: ignore[reportAttributeAccessIssue]
            ax.set_ylim(bottom=min(0, 1.05 * lowest))
        for ax in axes[1]:
            ax.set_xlabel("time since the recording began [s]")
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        fig.suptitle(f"{_WORLD[world.name]}: {_recipe(pieces[which])}", x=0.01, ha="left", fontsize=10)
        fig.savefig(path)
        plt.close(fig)
    return path


_WORLD = {
    "real": "A measured trace; the reference is the frozen simulator's answer to the known recipe",
    "frozen": "A trace made by the frozen simulator",
    "sips": "A trace made by the Sips simulator",
}


def draw_phase_space(world: StateWorld, verdicts: dict[str, dict[str, dict[str, list[float]]]], path: Path) -> Path:
    """Every test recording at (MS residual, mass error), with the reference itself as the floor of a projection."""
    with figure_style():
        fig, ax = plt.subplots(figsize=(7.5, 5.2), layout="constrained")
        shown = {
            "adr-gnn": ("ADR-GNN, projected", PALETTE[5], "o"),
            "unmixnet, projected": ("UnMixNet, projected like a baseline", PALETTE[2], "s"),
            "unmixnet": ("UnMixNet, its own rollout (rounding, by construction)", PALETTE[0], "o"),
        }
        for reading, (label, colour, marker) in shown.items():
            points = [np.array([part[MS], part[MASS]]) for part in verdicts[reading].values()]
            _cloud(ax, np.concatenate(points, axis=1), label, colour, marker)
        at = np.concatenate([_floor(world, pieces) for pieces in world.fold.tests.values()], axis=1)
        _cloud(ax, at, "reference, read like a projection: the floor", MUTED, "^")
        ax.legend(loc="center left", fontsize=8)
        ax.set(xscale="log", yscale="log", xlabel="mean Maxwell–Stefan residual [–]", ylabel="mass error [–]")
        count = sum(map(len, world.fold.tests.values()))
        ax.set_title(f"Closure of {count} test recordings, {_TRACES[world.name]}")
        fig.savefig(path)
        plt.close(fig)
    return path


_TRACES = {
    "real": "measured traces",
    "frozen": "traces of the frozen simulator",
    "sips": "traces of the other simulator",
}


def _floor(world: StateWorld, pieces: Sequence[Piece]) -> np.ndarray:
    """Residuals of the reference itself, (2, n)."""
    assert world.laws is not None, "only drawn where there are laws"
    truth, shares = world.of(pieces), world.shares[world.rows(pieces)]
    return np.array([ms_residuals(truth, world.laws, shares), mass_errors(truth, world.laws, shares)])


def _cloud(ax: Axes, points: np.ndarray, label: str, colour: str, marker: str) -> None:
    """Points, and a cross at their geometric mean."""
    points = np.maximum(points, 1e-12)
    ax.plot(*points, marker, ms=4, alpha=0.4, mew=0, color=colour, label=label)
    ax.plot(*np.exp(np.log(points).mean(axis=1)), "+", ms=14, mew=2, color=colour)


def _recipe(piece: Piece) -> str:
    assert piece.label is not None
    shares = zip(piece.label.names, piece.label.ratios, strict=True)
    return ", ".join(f"{name} {100 * ratio:.0f} %" for name, ratio in shares)
