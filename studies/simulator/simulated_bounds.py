"""Cramér–Rao bounds of recordings of the `simulated` data sets: what the readings can tell at best.

Everything that training could teach (coefficients, sensors, pure amounts) is taken as known; ratios, strength, and the
session's gains and offsets are not, and these have the priors that they were drawn from.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from studies.simulator.bounds import Bound, cramer_rao, linearised, reading_sd
from unmixnet.recordings.datasets import Dataset
from unmixnet.recordings.simulated import (
    CLEAN_AIR,
    FULL_SCALE_COUNTS,
    GAIN_SD,
    OFFSET_SD,
    Setting,
    drift,
    noise_counts,
    plan_of,
    setting_of,
    shares,
)
from unmixnet.simulation.simulated_nose import RATE_HZ, ROWS, fine_chamber, true_process

__all__ = ["RecordingBounds", "forward_map", "recording_bounds"]


@dataclass(frozen=True, eq=False)
class RecordingBounds:
    """Bounds of one recording: with its components known, and among all components."""

    path: str
    known_support: Bound
    all_components: Bound


def recording_bounds(data: Dataset | Setting, indices: Sequence[int], *, fine: bool = True) -> list[RecordingBounds]:
    """Bounds of chosen recordings.

    Arguments:
        data: a simulated data set, or its setting.
        indices: places of the recordings among `data.entries`.
        fine: differentiate what made the recordings; False takes 8 cells and steps of a second, as a model would.
    """
    import jax

    setting = setting_of(data)
    K, M, plan, moved = len(setting.components), setting.sensors, plan_of(setting), drift(setting)
    names = (
        *setting.components,
        "log strength",
        *(f"{what} {m + 1}" for what in ("log gain", "offset") for m in range(M)),
    )
    prior = np.concatenate(
        [np.full(K, np.inf), [setting.world.strength_sd], np.full(M, GAIN_SD), np.full(M, OFFSET_SD)]
    )
    released, bounds = shares(setting), []
    with jax.enable_x64(False):
        at = linearised(forward_map(setting, fine=fine))
        for i in indices:
            strength, session = released[i].sum(), plan.sessions[i]
            drifted = (np.log(moved.gain[session]), moved.offset[session])
            y, J = at(np.concatenate([released[i] / strength, [np.log(strength)], *drifted]))
            noise = np.tile(noise_counts(M), len(y) // M)
            sd = reading_sd(FULL_SCALE_COUNTS / (1 + np.exp(-y)), noise)
            known, free = (
                cramer_rao(J, sd, prior, names=names, components=K, support=support)
                for support in (np.flatnonzero(released[i]).tolist(), None)
            )
            bounds.append(RecordingBounds(plan.paths[i], known, free))
    return bounds


def forward_map(setting: Setting, *, fine: bool = True):
    """Readings in logits at 10 Hz, (row, sensor), as a jax function of (ratios, log strength, log gains, offsets).

    With `fine` False each coarse step of a second stands for the ten readings within it.
    """
    import equinox as eqx
    import jax.numpy as jnp

    from unmixnet.physics.rollout import rollout
    from unmixnet.physics.state import clean_air

    chamber = fine_chamber(setting).chamber if fine else setting.chamber
    repeat = 1 if fine else round(RATE_HZ)
    geometry, process = chamber.geometry(), true_process(setting, chamber)
    K, M = len(setting.components), setting.sensors

    def forward(latent):
        a, log_strength, log_gain, offset = jnp.split(latent, (K, K + 1, K + 1 + M))
        this = eqx.tree_at(lambda p: p.source.amount, process, process.source.amount * a * jnp.exp(log_strength))
        dt = jnp.asarray(repeat / RATE_HZ)
        y = rollout(this, geometry, clean_air(this, geometry), dt, ROWS // repeat).saved.y
        assert y is not None
        return jnp.repeat(jnp.exp(log_gain) * y + offset + CLEAN_AIR, repeat, axis=0)

    return forward
