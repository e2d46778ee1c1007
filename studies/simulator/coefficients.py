"""Coefficients that training found on simulated recordings, beside those that made them.

The model solves 8 cells in steps of a second, the recordings were made on 32 in steps of 0.1 s: its coefficients absorb
the difference, so errors are given as they come. What no recording can tell (`recovery`) is named and not compared.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from studies.harness.benches import NetworkBench
from studies.simulator.coefficient_table import combinations, log_coefficients
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.physics.state import Process
from unmixnet.recordings.simulated import setting_of, true_process

__all__ = ["UNTOLD", "CoefficientError", "coefficient_errors"]

UNTOLD = ("amount", "k_ads", "beta", "gain", "bend")
"""Known only in products: amount · k_ads, beta · bend, gain / bend."""


@dataclass(frozen=True)
class CoefficientError:
    """Relative errors |x̂/x − 1| of a group of coefficients."""

    name: str
    entries: int
    median: float
    largest: float


def coefficient_errors(bench: NetworkBench, model: UnMixNet) -> list[CoefficientError]:
    """Errors of the identifiable combinations of a trained model's global coefficients."""
    config = bench.config
    seconds = config.model.step_s * ((config.window - 1) // config.settings.stride)
    with jax.enable_x64(False):
        typical = model.uninformed()
        learned = model.process(typical, jnp.ones_like(typical.a), duration_s=seconds)
        true = true_process(setting_of(bench.turn.data))
    found, wanted = (_logs(process) for process in (learned, true))
    # the model's signal is in standard deviations of the training rows, the true one in logits
    found["gain"] = found["gain"] + np.log(np.array(bench.prepared.ready.sd))
    x_hat, x = combinations(found), combinations(wanted)
    errors = {name: np.abs(np.expm1(x_hat[name] - x[name])) for name in x if name not in UNTOLD}
    return [CoefficientError(name, e.size, float(np.median(e)), float(e.max())) for name, e in errors.items()]


def _logs(process: Process) -> dict[str, np.ndarray]:
    return {name: np.asarray(values, float) for name, values in log_coefficients(process).items()}
