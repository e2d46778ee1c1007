"""Networks on the high-coupling recordings: they know the chamber, and the order of magnitude of what is released.

UnMixNet starts at 100 ppm, and the sensors see only k_ads c: from there no gradient leads to a tenth of the air. Here
its release starts at `TYPICAL_MOL` and its adsorption as much lower, in every variant alike; everything else is the
recipe's. Calibration draws its batches, and the solver its virtual mixtures, alike for every seed: the programs that do
it are then the same, and a cache of compiled programs finds them.
"""

import dataclasses

import equinox as eqx
import numpy as np
from jaxtyping import PyTree

from studies.harness.benches import NetworkBench
from studies.harness.folds import Turn
from unmixnet.model.baselines.interface import Baseline
from unmixnet.model.release import CONCENTRATION
from unmixnet.model.unmixnet import UnMixNet, draught
from unmixnet.recordings.simulated import HIGH_COUPLING, TYPICAL_MOL, setting_of

__all__ = ["ConcentratedBench", "at_amount", "bench_for"]


def bench_for(turn: Turn) -> type[NetworkBench]:
    """The bench of a turn's networks."""
    return ConcentratedBench if turn.data.name == HIGH_COUPLING.name else NetworkBench


def at_amount(model: UnMixNet, moles: float, seconds: float) -> UnMixNet:
    """The model with a release of `moles` in so many seconds, and with adsorption slower by what the air then holds.

    Arguments:
        moles: of a substance alone, at strength one.
    """
    released = CONCENTRATION * draught(model.chamber) * seconds
    held = moles / float(np.sum(model.chamber.volume_m3))
    more, less = np.log(moles / released), np.log(held / CONCENTRATION)
    release, kinetics = model.release.coefficients, model.kinetics.pairs.W
    assert release.bias is not None and kinetics.bias is not None
    return eqx.tree_at(
        lambda m: (m.release.coefficients.bias, m.kinetics.pairs.W.bias),
        model,
        (release.bias.at[0].add(more), kinetics.bias.at[0].add(-less)),
    )


class ConcentratedBench(NetworkBench):
    """As every network, from a start at high concentrations."""

    lessons = 0

    def model(self, seed: int) -> PyTree:
        """The model before training."""
        drawn = super().model(seed)
        if isinstance(drawn, Baseline):
            return drawn
        config = self.config
        seconds = config.model.step_s * ((config.window - 1) // config.settings.stride)
        placed = dataclasses.replace(drawn, chamber=setting_of(self.turn.data).chamber)
        return at_amount(placed, TYPICAL_MOL, seconds)
