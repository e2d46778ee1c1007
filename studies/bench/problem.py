"""The problem of every solver: a portable e-nose, made-up coefficients, a background of odorants."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from unmixnet.physics.geometry import Geometry
from unmixnet.physics.maxwell_stefan import Form
from unmixnet.physics.rollout import Policy
from unmixnet.physics.state import Process, State, clean_air, with_samples
from unmixnet.physics.transport import stages_needed
from unmixnet.simulation.builders import portable_enose
from unmixnet.simulation.validation.synthetic_problem import made_up_process

__all__ = ["DURATION_S", "METHODS", "TIMES_S", "Method", "amounts", "batch", "coefficients", "policy", "start"]

DURATION_S = 50.0
TIMES_S = tuple(DURATION_S * k / 10 for k in range(1, 11))
"""Where trajectories are compared."""
_BACKGROUND = 1e-5


@dataclass(frozen=True)
class Method:
    """One way to take fixed steps with the library: form of the flux, order in time, and how coverage is solved."""

    form: Form
    order: int
    dense_adsorption: bool = False


METHODS = {
    "ours": Method("exact", order=2),
    "before": Method("exact", order=1),
    "plain": Method("ideal", order=1, dense_adsorption=True),
}
"""The symmetric step, the paper's splitting, and the paper's formulas taken literally."""


def learned(p: Process) -> tuple:
    """Coefficients that a model would learn and that the gradient is taken for, shared by the batch."""
    return p.diffusion.D, p.surface.k_ads, p.surface.k_des, p.readout.beta, p.readout.tau_rise, p.readout.tau_recovery


def start(process: Process, geometry: Geometry) -> State:
    """Air with a background of all odorants, 1e-5 in total: in clean air the plain path's KKT matrix is singular."""
    state = clean_air(process, geometry)
    background = _BACKGROUND / process.source.amount.shape[0]
    return eqx.tree_at(lambda s: s.N, state, state.N.at[1:].set(background * state.N[:1]))


def amounts(n_odorants: int, samples: int) -> jax.Array:
    """Released moles of each sample; the first one releases what the made-up process says."""
    usual = made_up_process(portable_enose(), n_odorants).source.amount
    factor = np.random.default_rng(0).uniform(0.5, 1.5, (samples, n_odorants))
    factor[0] = 1
    return usual * jnp.asarray(factor, usual.dtype)


def coefficients(n_odorants: int, form: Form = "exact") -> tuple:
    """The shared coefficients that gradients are taken for."""
    return learned(made_up_process(portable_enose(), n_odorants, form=form))


def batch(shared: tuple, amount: jax.Array, *, form: Form = "exact") -> tuple[Process, Geometry]:
    """Process and geometry of a batch that has all but the released amounts in common."""
    chamber = portable_enose()
    process = made_up_process(chamber, amount.shape[1], form=form)
    process = with_samples(eqx.tree_at(learned, process, shared))
    return eqx.tree_at(lambda p: p.source.amount, process, amount.T), with_samples(chamber.geometry())


def policy(method: Method, process: Process, geometry: Geometry, dt_s: float) -> Policy:
    """Policy of a method for steps of a given length.

    Upwind, since that is what Radau's and diffrax's equations say; with as many stages as stability needs, a fixed
    number that reverse-mode derivatives can pass.
    """
    if method.order == 1:
        return Policy(order=1, dense_adsorption=method.dense_adsorption)
    stages = int(stages_needed(process, geometry, jnp.asarray(dt_s), slopes=False))
    return Policy(order=2, stages=stages, slopes=False, dense_adsorption=method.dense_adsorption)
