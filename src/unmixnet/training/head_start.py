"""A head start: networks that have learned how sensors answer, for sensors and substances that they do not know.

Nothing in the encoder or in the networks of the physics has the number of sensors or of substances in its shape; what
belongs to them (their embeddings, gains, lags, levels) stays as it was drawn.
"""

from typing import Any

import equinox as eqx
import jax

from unmixnet.model.unmixnet import UnMixNet

__all__ = ["TEACHER", "with_head_start"]

TEACHER = "simulated"
"""The packaged bundle that is learned from."""


def with_head_start(model: UnMixNet, teacher: UnMixNet) -> UnMixNet:
    """The model with the teacher's networks, as far as they have the same shapes; another rate has another encoder."""
    for part in (_physics, _encoder):
        mine, theirs = part(model), part(teacher)
        if _shapes(mine) == _shapes(theirs):
            model = eqx.tree_at(part, model, theirs)
    return model


def _encoder(model: UnMixNet) -> Any:
    return model.encoder


def _physics(model: UnMixNet) -> Any:
    readout = model.transduction
    return (
        model.release,
        model.flow,
        model.diffusivity,
        model.kinetics,
        readout.pairs,
        readout.modulation,
        readout.offset,
    )


def _shapes(tree: Any) -> Any:
    leaves, structure = jax.tree.flatten(eqx.filter(tree, eqx.is_array))
    return [leaf.shape for leaf in leaves], structure
