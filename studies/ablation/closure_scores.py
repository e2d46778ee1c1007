r"""Do a network's rollouts satisfy the equations, and are its fluxes the true ones? Per recording, for the ablation.

    flux RMSE            √(Σ (Ĵ − J)² / Σ J²)             odorants; predicting no flux at all gives 1
    concentration RMSE   √(Σ (ĉ − c)² / Σ c²)             likewise
    MS residual          mean |−g − Σⱼ (x̄ⱼJᵢ − x̄ᵢJⱼ)/(c̄Dᵢⱼ)| / ‖g‖, with the network's own D and with the true one
    mass error           Σ|R_mass| / Σ N                  odorants, of each step
    net flux             Σ |Σᵢ Jᵢ| / Σ Σᵢ |Jᵢ|            what remains of Σ J = 0, carrier included

Each score is a quotient of sums over recordings (or its root), so that recordings can be resampled. The residual is
that of the fluxes which the network's law gives in the states of its rollout. Every law moves moles from cell to cell,
so that none can lose any: the mass error is rounding whatever the law.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from studies.harness.benches import NetworkBench
from studies.states.state_scores import CellStates
from unmixnet.inference.scores import RESAMPLES, Row
from unmixnet.metrics import bootstrap_interval
from unmixnet.model.batches import samples_first
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.physics.closure import ms_residual
from unmixnet.physics.diffusion import composition, fluxes
from unmixnet.physics.state import with_samples
from unmixnet.recordings.pieces import Piece
from unmixnet.recordings.simulated import setting_of
from unmixnet.simulation.simulated_nose import true_process

__all__ = ["METRICS", "RatioTally", "closure_tallies", "state_tallies", "tally_row"]

METRICS = ("flux RMSE", "concentration RMSE", "MS residual", "MS residual, true D", "mass error", "net flux")
_BATCH = 16
"""Recordings that are solved at once."""


@dataclass(frozen=True)
class RatioTally:
    """A score of recordings: Σ part / Σ whole, or its root."""

    part: list[float]
    whole: list[float]
    root: bool = False

    def value(self, weight: np.ndarray | None = None) -> float:
        """The score, with a weight for each recording."""
        part, whole = (float(np.dot(np.ones(len(v)) if weight is None else weight, v)) for v in (self.part, self.whole))
        share = part / whole if whole > 0 else float("nan")
        return float(np.sqrt(share)) if self.root else share

    def joined(self, other: "RatioTally") -> "RatioTally":
        """Of the recordings of both."""
        return RatioTally([*self.part, *other.part], [*self.whole, *other.whole], self.root)


def closure_tallies(
    bench: NetworkBench, model: UnMixNet, pieces: Sequence[Piece], truth: CellStates | None = None
) -> dict[str, dict[str, Any]]:
    """Scores of the first window of every recording, ready for JSON; those against the truth where it is given."""
    data = bench.fold.data
    D = None if truth is None else np.asarray(true_process(setting_of(data)).diffusion.D)
    cut, owner = bench.windows(pieces)
    solutions = _solved_all(model, cut[np.unique(owner, return_index=True)[1]], D)
    ones = np.ones(len(pieces)).tolist()
    tallies = {
        "MS residual": RatioTally(solutions["own"].tolist(), ones),
        "mass error": RatioTally(solutions["mass"].tolist(), ones),
        "net flux": RatioTally(solutions["net"].tolist(), solutions["moved"].tolist()),
    }
    if truth is not None:
        tallies["MS residual, true D"] = RatioTally(solutions["true"].tolist(), ones)
        N, J = (solutions[name][:, :, 1:].swapaxes(2, 3) for name in ("N", "J"))
        guess = CellStates(N / model.chamber.volume_m3[:, None], J, np.zeros(0))
        tallies |= state_tallies(guess, truth)
    return {name: asdict(tallies[name]) for name in METRICS if name in tallies}


def state_tallies(guess: CellStates, truth: CellStates) -> dict[str, RatioTally]:
    """Normalised errors of flux and concentration."""

    def tally(x_hat: np.ndarray, x: np.ndarray) -> RatioTally:
        rest = (1, 2, 3)
        return RatioTally(np.sum((x_hat - x) ** 2, axis=rest).tolist(), np.sum(x**2, axis=rest).tolist(), root=True)

    return {
        "flux RMSE": tally(guess.flux, truth.flux),
        "concentration RMSE": tally(guess.concentration, truth.concentration),
    }


def tally_row(about: tuple[str, str, str, str], tallies: Sequence[RatioTally], groups: Sequence[str]) -> Row:
    """A row from one tally for each seed.

    Arguments:
        about: protocol, split, model, metric.
        groups: what is resampled, one name for each recording.
    """
    protocol, split, model, metric = about
    values = [tally.value() for tally in tallies]
    nothing = np.zeros(len(groups))
    interval = bootstrap_interval(
        lambda _, __, weight: tallies[0].value(weight), nothing, nothing, groups, resamples=RESAMPLES
    )
    spread = (float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)
    over = (interval.lo, interval.hi, interval.groups, len(values))
    return Row(protocol, split, "recording", model, metric, *spread, *over)


def _solved_all(model: UnMixNet, windows: np.ndarray, D: np.ndarray | None) -> dict[str, np.ndarray]:
    """Rollouts of the solver, in batches of one size so that it compiles once."""
    filled = np.resize(windows, (-(-len(windows) // _BATCH) * _BATCH, *windows.shape[1:]))
    with jax.enable_x64(False):
        true = None if D is None else jnp.asarray(D, jnp.float32)
        batches = np.split(filled, len(filled) // _BATCH)
        parts = [jax.device_get(_solved(model, jnp.asarray(part, jnp.float32), true)) for part in batches]
    return {name: np.concatenate([part[name] for part in parts])[: len(windows)].astype(float) for name in parts[0]}


@eqx.filter_jit
def _solved(model: UnMixNet, windows: jax.Array, D: jax.Array | None) -> PyTree:
    geometry, save = with_samples(model.chamber.geometry()), ("N", "J", "y", "closure")
    solved = model.reconstruct_all(jax.vmap(model)(windows), windows[:, 0], windows.shape[1], save=save)
    saved, law = solved.rollout.saved, solved.process.diffusion
    assert saved.N is not None and saved.J is not None and saved.closure is not None

    def residuals(N: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        x, c, _ = composition(N, geometry.volume)
        J = fluxes(N, law, geometry)[0]
        own = ms_residual(x, c, J / law.scale, law.D, geometry)
        true = jnp.zeros_like(own) if D is None else ms_residual(x, c, J, D, geometry)
        net, moved = jnp.sum(jnp.abs(jnp.sum(J, axis=0)), axis=0), jnp.sum(jnp.abs(J), axis=(0, 1))
        return own, true, net, moved

    own, true, net, moved = jax.vmap(residuals)(saved.N)
    scores = {
        "N": saved.N,
        "J": saved.J,
        "own": jnp.mean(own, axis=0),
        "true": jnp.mean(true, axis=0),
        "mass": jnp.mean(saved.closure.mass_error, axis=0),
        "net": jnp.sum(net, axis=0),
        "moved": jnp.sum(moved, axis=0),
    }
    return samples_first(scores, len(windows))
