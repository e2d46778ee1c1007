"""A made-up but physical problem of any size, for benchmarks and property tests."""

import jax.numpy as jnp
import numpy as np

from unmixnet.physics.adsorption import Surface
from unmixnet.physics.conditions import Conditions
from unmixnet.physics.maxwell_stefan import Form, MaxwellStefan
from unmixnet.physics.readout import PowerLaw, Readout
from unmixnet.physics.source import RiseDecay, Source
from unmixnet.physics.state import Process, Schedule
from unmixnet.simulation.chamber import Chamber

__all__ = ["made_up_process"]


def made_up_process(
    chamber: Chamber,
    n_odorants: int,
    *,
    seed: int = 0,
    odorant_fraction: float = 1e-4,
    spread: float = 5.0,
    form: Form = "exact",
    wall_per_s: float = 1e-3,
) -> Process:
    """Coefficients for a chamber and K odorants: D spread over `spread`, sensors that answer within seconds.

    The source releases enough to bring the chamber to about `odorant_fraction`.
    """
    rng = np.random.default_rng(seed)
    K, V, M = n_odorants, len(chamber.cells), len(chamber.sensors)
    D = 1e-5 * np.exp(rng.uniform(0, np.log(spread), (K + 1, K + 1)))
    D = np.sqrt(D * D.T)
    air = np.zeros((1, K + 1, V))
    air[:, 0] = 1
    moles = odorant_fraction * 40.9 * chamber.volume_m3.sum() * rng.dirichlet(np.ones(K))
    p_src = np.zeros(V)
    p_src[chamber.cells_of("source")[:1] if chamber.cells_of("source").size else 0] = 1
    typical = 40.9 * odorant_fraction / K
    array = lambda value: jnp.asarray(value, float)  # noqa: E731
    return Process(
        source=Source(
            array(moles),
            RiseDecay(array(rng.uniform(2, 8, K)), array(rng.uniform(20, 80, K)), array(100.0)),
            array(p_src),
            array(np.zeros(K)),
            array(np.zeros(K)),
        ),
        flow=chamber.velocities(),
        diffusion=MaxwellStefan(array(D), array(np.ones(len(chamber.edges))), form=form),
        wall=array(np.pad(np.full((K, V), wall_per_s), ((1, 0), (0, 0)))),
        surface=Surface(
            array(rng.uniform(0.05, 0.5, (M, K)).T / typical),
            array(rng.uniform(0.05, 0.5, (M, K)).T),
            array(np.full(M, 1e-4 * moles.sum())),
        ),
        readout=Readout(
            beta=array(rng.uniform(0.2, 1, (M, K)).T),
            g=PowerLaw(array(np.full(M, 5.0)), array(rng.uniform(0.3, 0.7, M))),
            gain=array(np.ones(M)),
            sign=array(np.where(np.arange(M) % 4 == 0, -1.0, 1.0)),
            baseline=array(rng.uniform(0.2, 0.5, M)),
            tau_rise=array(rng.uniform(1, 5, M)),
            tau_recovery=array(rng.uniform(5, 20, M)),
            baseline_slopes=array(np.zeros((2, M))),
            gain_slopes=array(np.zeros((2, M))),
        ),
        conditions=Conditions.of(),
        inlet=Schedule(array([0.0]), array(air)),
    )
