"""The coefficients of a process as named logarithms, and the combinations of them that recordings determine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from studies.harness.benches import NetworkBench
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.physics.state import Process
from unmixnet.recordings.simulated import setting_of, true_process

__all__ = [
    "UNIDENTIFIABLE",
    "CoefficientError",
    "coefficient_errors",
    "combinations",
    "first_substances",
    "log_coefficients",
    "names_of",
    "with_coefficients",
]

_WHERE: dict[str, Callable[[Any], Array]] = {
    "amount": lambda p: p.source.amount,
    "release rise": lambda p: p.source.profile.tau_rise,
    "release decay": lambda p: p.source.profile.tau_decay,
    "k_ads": lambda p: p.surface.k_ads,
    "k_des": lambda p: p.surface.k_des,
    "beta": lambda p: p.readout.beta,
    "gain": lambda p: p.readout.gain,
    "bend": lambda p: p.readout.g.k,
    "lag rise": lambda p: p.readout.tau_rise,
    "lag recovery": lambda p: p.readout.tau_recovery,
}
"""Places of the coefficients; that of the diffusivities in air is a row of a symmetric table."""
_TABLES = ("k_ads", "k_des", "beta")
"""Named and ordered as a table is, sensor by sensor; a process has the substances first."""
_AIR = "D in air"
Logs = Mapping[str, Any]


def log_coefficients(process: Process) -> dict[str, np.ndarray]:
    """Logarithms of all coefficients but the flow; those of a sensor and a substance as (sensor, substance)."""
    values = {name: where(process) for name, where in _WHERE.items()} | {_AIR: process.diffusion.D[0, 1:]}
    return {name: np.log(_turned(name, np.asarray(value))) for name, value in values.items()}


def _turned(name: str, values: Any) -> Any:
    return values.T if name in _TABLES else values


def with_coefficients(process: Process, logs: Logs) -> Process:
    """The process with these coefficients."""
    D_air = jnp.exp(logs[_AIR])
    D = process.diffusion.D.at[0, 1:].set(D_air).at[1:, 0].set(D_air)
    values = (D, *(jnp.exp(_turned(name, logs[name])) for name in _WHERE))
    return eqx.tree_at(lambda p: (p.diffusion.D, *(where(p) for where in _WHERE.values())), process, values)


def first_substances(process: Process, K: int) -> Process:
    """The process of the first K substances alone."""
    odorants = process.source.amount.shape[0]

    def cut(leaf: Array) -> Array:
        """Axes as long as there are odorants, or species, lose those beyond K."""
        for axis, length in enumerate(leaf.shape):
            if length in (odorants, odorants + 1):
                leaf = jax.lax.slice_in_dim(leaf, 0, K + length - odorants, axis=axis)
        return leaf

    parts = lambda p: (p.source.amount, p.source.profile, p.source.vaporisation, p.source.humidity_slope)  # noqa: E731
    more = lambda p: (*parts(p), p.diffusion.D, p.surface.k_ads, p.surface.k_des, p.readout.beta, p.inlet.values)  # noqa: E731
    return eqx.tree_at(more, process, jax.tree.map(cut, more(process)))


def names_of(logs: Logs) -> list[str]:
    """A name for every entry, e.g. "k_ads 2·1" (sensor 2, substance 1), in the order in which jax ravels them."""
    return [
        f"{key} {'·'.join(str(i + 1) for i in index)}" for key in sorted(logs) for index in np.ndindex(logs[key].shape)
    ]


def combinations(logs: Logs) -> dict[str, np.ndarray]:
    """Logarithms of what is compared: identifiable products first, then the coefficients in them."""
    alone = ("lag rise", "lag recovery", "release rise", "release decay", _AIR, "amount", "k_ads", "beta", "gain")
    return {
        "amount · k_ads": logs["amount"] + logs["k_ads"],
        "k_des": logs["k_des"],
        "beta · bend": logs["beta"] + logs["bend"][:, None],
        "gain / bend": logs["gain"] - logs["bend"],
        **{name: logs[name] for name in (*alone, "bend")},
    }


UNIDENTIFIABLE = ("amount", "k_ads", "beta", "gain", "bend")
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
        true = true_process(setting_of(bench.fold.data))
    fitted, expected = (_logs(process) for process in (learned, true))
    # the model's signal is in standard deviations of the training rows, the true one in logits
    fitted["gain"] = fitted["gain"] + np.log(np.array(bench.prepared.preprocessing.sd))
    x_hat, x = combinations(fitted), combinations(expected)
    errors = {name: np.abs(np.expm1(x_hat[name] - x[name])) for name in x if name not in UNIDENTIFIABLE}
    return [CoefficientError(name, e.size, float(np.median(e)), float(e.max())) for name, e in errors.items()]


def _logs(process: Process) -> dict[str, np.ndarray]:
    return {name: np.asarray(values, float) for name, values in log_coefficients(process).items()}
