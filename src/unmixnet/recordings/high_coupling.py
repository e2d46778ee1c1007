r"""The `high-coupling` data set: gases at a tenth to a half of the air, where Maxwell–Stefan and Fick part.

    total odorant fraction .1 to .5 at its peak,    max D_ij / min D_ij ≥ 5

Six gases, hydrogen among them, are released into the hand-held e-nose as the foods of `simulated` are, but thousands of
times as much and into a draught of a tenth, so that diffusion carries them; sensors adsorb as much less, so that their
signals are alike. At such fractions a gas drags the others along. The chamber keeps its volume: what is released comes
on top of the air, and D stays that of one atmosphere.
"""

from unmixnet.recordings.datasets import Dataset
from unmixnet.recordings.simulated import simulated_dataset
from unmixnet.simulation.simulated_world import FOODS, World

__all__ = ["HIGH_COUPLING", "TYPICAL_MOL", "high_coupling_dataset"]

TYPICAL_MOL = 1e-3
"""Order of what is released [mol], 25 ml of gas: what a model may know beforehand."""
_GASES = ("hydrogen", "methane", "ammonia", "acetaldehyde", "isobutane", "isoprene")
_AMOUNT_MOL = 1.2e-3
HIGH_COUPLING = World(
    "high-coupling",
    tuple((name, name) for name in _GASES),
    amount_mol=_AMOUNT_MOL,
    k_ads=FOODS.k_ads * FOODS.amount_mol / _AMOUNT_MOL,
    strength_sd=0.25,
    seen=9,
    unseen=6,
    repeats=3,
    substeps=2,
    flow_m3_s=2e-7,
)
"""Every gas of it can be at half an atmosphere at room temperature."""


def high_coupling_dataset() -> Dataset:
    """The data set; the traces are solved when the first recording is read."""
    return simulated_dataset(world=HIGH_COUPLING)
