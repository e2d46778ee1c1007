"""A frozen simulator without a calibration: the global coefficients of an untrained model."""

from collections.abc import Sequence

import jax.numpy as jnp

from unmixnet.model.unmixnet import UnMixNet
from unmixnet.training.calibration import FrozenSimulator


def frozen_model(model: UnMixNet, components: Sequence[str], *, seconds: float) -> FrozenSimulator:
    """The global coefficients of a model; a release is spread over `seconds`."""
    typical, settings = model.uninformed(), model.settings
    process = model.process(typical, jnp.ones_like(typical.a), duration_s=seconds)
    exposed = settings.start != "clean air"
    rates = (settings.rate_Hz, settings.step_s)
    return FrozenSimulator(tuple(components), model.chamber, process, *rates, exposed, origin={"made from": "model"})
