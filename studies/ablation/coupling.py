r"""What Maxwell–Stefan can and cannot change: the true coefficients, one law replaced, from 1 ppm to half of the air.

    departure of the signal    max |y − y_MS| / max |y_MS|              over seconds and sensors
    departure of the flux      √(Σ (J − J_MS)² / Σ J_MS²)               over seconds, edges and odorants
    departure of the mass      Σ |M − M_MS| / Σ M_MS                    moles of each odorant in the chamber

beside the closure of each law itself (`physics.closure`) and what remains of Σ J = 0, Σ|Σᵢ Jᵢ| / Σ Σᵢ|Jᵢ|. Nothing is
trained. Amounts are scaled so that the largest fraction of odorants in the chamber has the wanted value, adsorption by
the inverse, so that the sensors' signals stay what they are. Double precision, but for the rows that say otherwise:
networks run in single precision.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from unmixnet.physics.maxwell_stefan import Form
from unmixnet.physics.readout import Linear
from unmixnet.physics.rollout import Policy, Saved, rollout
from unmixnet.physics.state import Process, clean_air, with_samples
from unmixnet.recordings.simulated import HIGH_COUPLING
from unmixnet.simulation.chamber import Chamber
from unmixnet.simulation.simulated_nose import Setting, true_process

__all__ = ["CASES", "FRACTIONS", "LAWS", "Departure", "FluxLaw", "coupling", "departures", "draw_coupling", "solved"]

FRACTIONS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 5e-1)
"""Largest total fraction of odorants anywhere in the chamber."""


@dataclass(frozen=True)
class FluxLaw:
    """What is solved in place of Maxwell–Stefan.

    Arguments:
        form: of the flux.
        linear: whether the sensors answer in proportion, with gains fitted to the true signal.
        single: in single precision.
    """

    form: Form = "exact"
    linear: bool = False
    single: bool = False


LAWS = {
    "fick": FluxLaw("fick"),
    "unconstrained flux": FluxLaw("unconstrained"),
    "paper-literal projection": FluxLaw("regularised"),
    "paper-literal projection, float32": FluxLaw("regularised", single=True),
    "projection of the main text": FluxLaw("weighted"),
    "linear readout": FluxLaw(linear=True),
    "maxwell–stefan, float32": FluxLaw(single=True),
}
"""By name, as the ablations call them."""
CASES = {
    "12 foods in air, draught of 2 ml/s": Setting(),
    "6 gases in air, draught of 0.2 ml/s": Setting(world=HIGH_COUPLING),
}
"""The hand-held e-nose as in `simulated`, and as in `high-coupling`, where diffusion carries more."""
SECONDS, _STEP_S = 60, 0.5


@dataclass(frozen=True)
class Departure:
    """How far a law departs from Maxwell–Stefan at one fraction; `closure` values are the law's own."""

    case: str
    fraction: float
    law: str
    signal: float
    flux: float
    mass: float
    ms_residual: float
    mass_error: float
    net_flux: float


def coupling(fractions: Sequence[float] = FRACTIONS) -> list[Departure]:
    """Every law in both cases at every fraction."""
    return [row for case in CASES for fraction in fractions for row in departures(case, fraction)]


def departures(case: str, fraction: float, laws: Sequence[str] = tuple(LAWS)) -> list[Departure]:
    """Laws beside Maxwell–Stefan (which comes first, with departures of zero)."""
    process, chamber = _process(case, fraction), CASES[case].chamber
    truth = solved(process, chamber, FluxLaw())
    rows = [_compared(case, fraction, "maxwell–stefan", truth, truth)]
    for name in laws:
        rollouts = solved(process, chamber, LAWS[name])
        rows.append(_compared(case, fraction, name, _fitted(rollouts, truth) if LAWS[name].linear else rollouts, truth))
    return rows


def solved(process: Process, chamber: Chamber, law: FluxLaw) -> Saved:
    """Rollouts of pairs of substances by a law, leaves of shape (pair, second, species, place) or fewer."""
    with jax.enable_x64(not law.single):
        governed: Process = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), process)
        governed = eqx.tree_at(lambda p: p.diffusion, governed, replace(governed.diffusion, form=law.form))
        governed = eqx.tree_at(lambda p: p.readout.g, governed, Linear()) if law.linear else governed
        return jax.tree.map(lambda leaf: np.moveaxis(np.asarray(leaf, float), -1, 0), _rollouts(governed, chamber))


def _fitted(rollouts: Saved, truth: Saved) -> Saved:
    """With one gain for each sensor that brings the signals closest."""
    y, goal = np.asarray(rollouts.y), np.asarray(truth.y)
    gain = np.sum(y * goal, axis=(0, 1)) / np.sum(y * y, axis=(0, 1))
    return eqx.tree_at(lambda saved: saved.y, rollouts, y * gain)


def _process(case: str, fraction: float) -> Process:
    """The true process with amounts at which the largest fraction of odorants is the wanted one.

    x/(1 − x) is nearly proportional to the amounts: a few corrections suffice.
    """
    setting, scale, made = CASES[case], 1.0, None
    with jax.enable_x64(True):
        process = true_process(setting)
        for _ in range(3):
            made = _scaled(process, scale)
            N = np.asarray(_rollouts(made, setting.chamber).N)
            reached = float(np.max(np.sum(N[:, 1:], axis=1) / N[:, 0]))
            scale *= fraction / (1 - fraction) / reached
        return jax.tree.map(np.asarray, made)


def _scaled(process: Process, scale: float) -> Process:
    return eqx.tree_at(
        lambda p: (p.source.amount, p.surface.k_ads, p.surface.sites),
        process,
        (process.source.amount * scale, process.surface.k_ads / scale, process.surface.sites * scale),
    )


def pairs(K: int) -> np.ndarray:
    """Equal parts of every substance and the next, (K, K)."""
    return 0.5 * (np.eye(K) + np.roll(np.eye(K), 1, axis=1))


@eqx.filter_jit
def _rollouts(process: Process, chamber: Chamber) -> Saved:
    """Leaves of shape (second, species, place, pair) or fewer."""
    every, shares = round(1 / _STEP_S), jnp.asarray(pairs(process.source.amount.shape[0]).T)
    process, geometry = with_samples((process, chamber.geometry()))
    this = eqx.tree_at(lambda p: p.source.amount, process, process.source.amount * shares)
    run = rollout(
        this,
        geometry,
        clean_air(this, geometry),
        jnp.asarray(_STEP_S),
        SECONDS * every,
        save=("N", "J", "y", "closure"),
        policy=Policy(checkpoint="none", order=1),
    )
    return jax.tree.map(lambda leaf: leaf[every - 1 :: every], run.saved)


def _compared(case: str, fraction: float, law: str, rollouts: Saved, truth: Saved) -> Departure:
    y, y_true, J, J_true = (np.asarray(leaf) for leaf in (rollouts.y, truth.y, rollouts.J, truth.J))
    M, M_true = (np.asarray(saved.N)[:, :, 1:].sum(axis=-1) for saved in (rollouts, truth))
    closure: Any = rollouts.closure
    return Departure(
        case,
        fraction,
        law,
        float(np.max(np.abs(y - y_true)) / np.max(np.abs(y_true))),
        float(np.sqrt(np.sum((J - J_true)[:, :, 1:] ** 2) / np.sum(J_true[:, :, 1:] ** 2))),
        float(np.sum(np.abs(M - M_true)) / np.sum(M_true)),
        float(np.mean(closure.ms_residual)),
        float(np.mean(closure.mass_error)),
        float(np.sum(np.abs(np.sum(J, axis=2))) / np.sum(np.abs(J))),
    )


_FLOOR = 1e-10
_LINES = {
    "fick": ("Fick", 0, "-"),
    "unconstrained flux": ("unconstrained flux", 5, "--"),
    "projection of the main text": ("projection of the paper's main text", 3, "-"),
    "paper-literal projection, float32": ("projection of its supplement, float32", 6, "-"),
    "maxwell–stefan, float32": ("Maxwell–Stefan, float32", 2, ":"),
    "linear readout": ("linear readout", 7, "-."),
}
"""Law: its name in the legend, its colour and its dashes."""
_QUANTITIES = {"signal": "sensor signal: max |y − y_MS| / max |y_MS|", "flux": "flux: relative RMS of J − J_MS"}


def draw_coupling(rows: Sequence[dict[str, Any]], path: str | Path) -> Path:
    """One row of panels for each case, signal on the left and flux on the right."""
    import matplotlib.pyplot as plt

    from unmixnet.simulation.plot_style import MUTED, PALETTE, figure_style

    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    cases = list(dict.fromkeys(row["case"] for row in rows))
    with figure_style():
        fig, axes = plt.subplots(
            len(cases), 2, figsize=(11, 3.9 * len(cases)), layout="constrained", squeeze=False, sharex=True, sharey=True
        )
        for case, pair in zip(cases, axes, strict=True):
            for (quantity, title), ax in zip(_QUANTITIES.items(), pair, strict=True):
                for law, (name, colour, dashes) in _LINES.items():
                    mine = [row for row in rows if (row["case"], row["law"]) == (case, law)]
                    x, y = [row["fraction"] for row in mine], [row[quantity] for row in mine]
                    if max(y, default=0) > _FLOOR:
                        ax.plot(x, y, dashes, color=PALETTE[colour], label=name, marker="o", ms=3)
                ax.axvspan(1e-6, 1e-3, color="#f1f1f1", zorder=0)
                ax.set(xscale="log", yscale="log", ylim=(1e-9, 3), title=f"{case}\n{title}")
        for ax in axes[-1]:
            ax.set_xlabel("largest total mole fraction of odorants in the chamber")
        for ax in axes[:, 0]:
            ax.set_ylabel("departure from Maxwell–Stefan")
        axes[0, 0].text(3e-5, 1.6e-9, "ppm: where noses work", ha="center", color=MUTED, fontsize=8)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        fig.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
        fig.savefig(path)
        plt.close(fig)
    return path
