"""The training objective L = Σ λ L, each term for one sample; those of a rollout also for many, samples last."""

import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from unmixnet.errors import ConfigError
from unmixnet.physics import closure
from unmixnet.physics.adsorption import Surface, adsorb
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.readout import read
from unmixnet.physics.state import Process, Reservoirs, State

__all__ = [
    "Weights",
    "adsorption_loss",
    "class_loss",
    "conservation_loss",
    "fast_part",
    "flux_loss",
    "flux_residual",
    "frequency_loss",
    "incoherence_loss",
    "mixture_loss",
    "ratio",
    "reconstruction_loss",
    "slow_part",
    "source_entropy",
]


@dataclass(frozen=True)
class Weights:
    """Weight of every term; 0 leaves it out.

    Arguments:
        mix: presence and ratios, where a mixture is known.
        rec: reconstruction.
        ms: Maxwell–Stefan residual; vanishes for the full solver, for which it is a diagnostic.
        cons: conservation; likewise.
        ads: sensor boundary; likewise.
        freq: slow and fast parts of the reconstruction residual.
        ident: incoherence of the pure fingerprints.
        entropy: entropy of an inferred source place.
        virtual: presence and ratios of virtual recordings.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid", "allow_inf_nan": False}

    mix: float = 1.0
    rec: float = 0.3
    ms: float = 0.0
    cons: float = 0.0
    ads: float = 0.0
    freq: float = 0.1
    ident: float = 0.0
    entropy: float = 0.01
    virtual: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a weight that would reward an error."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not (value >= 0 and math.isfinite(value)):
                raise ConfigError(
                    f"a weight is a finite number, not negative, saw {value}",
                    where=field.name,
                    remedy="Use 0 to leave a term out",
                )


def ratio(part: Float[Array, "*n"], whole: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """part/whole, or 0 where the whole is too small to be squared: the derivative of 1/w is −1/w²."""
    some = whole >= jnp.sqrt(jnp.finfo(whole.dtype).tiny)
    return jnp.where(some, part / jnp.where(some, whole, 1), 0)


def mixture_loss(z_logits: Float[Array, " K"], a_hat: Float[Array, " K"], a: Float[Array, " K"]) -> Float[Array, ""]:
    """Presence by cross-entropy, ratios by their total absolute error; zero for a confident and correct answer."""
    # BCE of a logit l is ln(1 + e^l) if the odorant is absent and ln(1 + e^−l) if it is present
    presence = jax.nn.softplus(jnp.where(a > 0, -z_logits, z_logits))
    return jnp.mean(presence) + jnp.sum(jnp.abs(a_hat - a))


def class_loss(a_hat: Float[Array, " K"], a: Float[Array, " K"], *, epsilon: float = 1e-8) -> Float[Array, ""]:
    """Cross-entropy of class probabilities; a negative probability counts as none."""
    # not by `maximum`, whose derivative is one half at zero: there the push upwards matters most
    return -jnp.sum(a * jnp.log(jnp.where(a_hat < 0, 0, a_hat) + epsilon))


def reconstruction_loss(Y: Float[Array, "T M *B"], Y_hat: Float[Array, "T M *B"]) -> Float[Array, "*B"]:
    """Mean squared residual."""
    return jnp.mean((Y - Y_hat) ** 2, axis=(0, 1))


_WINDOW_S = 5.0
_LAGS_S = (1.0, 2.0, 5.0)


def frequency_loss(
    Y: Float[Array, "T M *B"], Y_hat: Float[Array, "T M *B"], rate_Hz: float | int
) -> Float[Array, "*B"]:
    """Mean squares of the slow part and of the fast parts, added; `rate_Hz` is the sampling rate, a plain number."""
    if not rate_Hz > 0:
        raise ConfigError(
            f"a sampling rate is positive, saw {rate_Hz}", where="rate_Hz", remedy="Give samples per second"
        )
    residual = Y - Y_hat
    return slow_part(residual, rate_Hz) + fast_part(residual, rate_Hz)


def slow_part(residual: Float[Array, "T M *B"], rate_Hz: float | int) -> Float[Array, "*B"]:
    """Mean square of the moving average."""
    n, ones = min(_samples(_WINDOW_S, rate_Hz), residual.shape[0]), (1,) * (residual.ndim - 1)
    sums = jax.lax.reduce_window(residual, 0.0, jax.lax.add, (n, *ones), (1, *ones), "VALID")
    return jnp.mean((sums / n) ** 2, axis=(0, 1))


def fast_part(residual: Float[Array, "T M *B"], rate_Hz: float | int) -> Float[Array, "*B"]:
    """Mean squares of the lag differences, added."""
    lags = {_samples(lag, rate_Hz) for lag in _LAGS_S}
    short = [n for n in sorted(lags) if n < residual.shape[0]]
    squares = [jnp.mean((residual[n:] - residual[:-n]) ** 2, axis=(0, 1)) for n in short]
    return sum(squares, jnp.zeros(residual.shape[2:], residual.dtype))


def _samples(seconds: float, rate_Hz: float | int) -> int:
    return max(1, round(seconds * rate_Hz))


def flux_loss(ms_residual: Float[Array, "T *B"], J: Float[Array, "T S E *B"]) -> Float[Array, "*B"]:
    """Residual and net flux of a rollout, from `saved.closure.ms_residual` and `saved.J`."""
    net = ratio(jnp.abs(jnp.sum(J, axis=1)), jnp.sum(jnp.abs(J), axis=1))
    return jnp.mean(ms_residual, axis=0) + jnp.mean(net, axis=(0, 1))


def flux_residual(
    x: Float[Array, "T S V *B"],
    c: Float[Array, "T V *B"],
    J: Float[Array, "T S E *B"],
    D: Float[Array, "S S"] | Float[Array, "S S #E *#b"],
    geometry: Geometry,
) -> Float[Array, "T *B"]:
    """The residual of every step of a trajectory that another model predicts; D is positive.

    Not for the x that a rollout saves: that is the composition after the step, and the flux belongs to the one that
    diffusion found. There, use the closure that the rollout saves.
    """
    c = jnp.where(c >= jnp.sqrt(jnp.finfo(c.dtype).tiny), c, 1)  # no gas, no gradient, no residual
    return jax.vmap(lambda x, c, J: closure.ms_residual(x, c, J, D, geometry))(x, c, J)


def conservation_loss(
    N: Float[Array, "T S V *B"],
    theta: Float[Array, "T S M *B"],
    reservoirs: Reservoirs,
    start: State,
    sites: Float[Array, "M *#b"],
) -> Float[Array, "*B"]:
    """Relative imbalance of the odorants, from what a rollout saves and the state that it began with."""
    # a saved state that is continued brings its reservoirs along
    moved: Reservoirs = jax.tree.map(jnp.subtract, reservoirs, start.reservoirs)
    had = _moles(start.N, start.theta, sites)
    have = jax.vmap(_moles, in_axes=(0, 0, None))(N, theta, sites)
    come = had + moved.source + moved.inlet + moved.boundary + moved.reaction
    through = had + moved.source + moved.inlet + jnp.abs(moved.boundary)
    imbalance = jnp.abs(have + moved.outlet + moved.wall - come)
    return jnp.mean(ratio(jnp.sum(imbalance[:, 1:], axis=1), jnp.sum(through[:, 1:], axis=1)), axis=0)


def _moles(
    N: Float[Array, "S V *B"], theta: Float[Array, "S M *B"], sites: Float[Array, "M *#b"]
) -> Float[Array, "S *B"]:
    """Moles of each species in the gas and on the surfaces; entry 0 of θ is the empty site and is not looked at."""
    return jnp.sum(N, axis=1) + jnp.sum(sites * theta, axis=1)


def adsorption_loss(
    N: Float[Array, "T S V *B"],
    theta: Float[Array, "T S M *B"],
    y: Float[Array, "T M *B"],
    start: State,
    process: Process,
    geometry: Geometry,
    dt: Float[Array, ""],
) -> Float[Array, "*B"]:
    """Inconsistency of saved moles, coverages and signals with the surfaces and the readout of a process."""
    theta_before = jnp.concatenate([start.theta[None], theta[:-1]])
    y_before = jnp.concatenate([start.y[None], y[:-1]])
    reacted = jax.vmap(_reacted, in_axes=(0, 0, 0, None, None, None))(
        N, theta, theta_before, process.surface, geometry, dt
    )
    # a sensor reads no negative coverage: its transduction has no value there
    signal = jax.vmap(read, in_axes=(0, 0, None, None, None))(
        y_before, jnp.where(theta < 0, 0, theta), process.readout, process.conditions, dt
    )
    each = (0, 1, 2)
    simplex = jnp.mean((jnp.sum(theta, axis=1) - 1) ** 2, axis=(0, 1)) + jnp.mean(jnp.minimum(theta, 0) ** 2, axis=each)
    return simplex + jnp.mean((theta - reacted) ** 2, axis=each) + jnp.mean((y - signal) ** 2, axis=(0, 1))


def _reacted(
    N: Float[Array, "S V *B"],
    theta: Float[Array, "S M *B"],
    theta_before: Float[Array, "S M *B"],
    surface: Surface | Any,
    geometry: Geometry,
    dt: Float[Array, ""],
) -> Float[Array, "S M *B"]:
    """What the exact reaction makes of the coverages before it, in the gas before it."""
    taken = geometry.on_cells(surface.sites * (theta - theta_before)[1:])
    gas = N.at[1:].add(taken)
    return adsorb(jnp.where(gas < 0, 0, gas), _on_simplex(theta_before), surface, geometry, dt)[1]


def _on_simplex(theta: Float[Array, "S M *B"]) -> Float[Array, "S M *B"]:
    """Coverages that a reaction can start from; one of sum zero is empty. The defect itself counts elsewhere."""
    some = jnp.where(theta < 0, 0, theta)
    total = jnp.sum(some, axis=0)
    possible = total >= jnp.sqrt(jnp.finfo(theta.dtype).tiny)
    empty = jnp.zeros_like(theta).at[0].set(1)
    return jnp.where(possible, some / jnp.where(possible, total, 1), empty)


def incoherence_loss(H: Float[Array, "K P"], *, centre: bool = True) -> Float[Array, ""]:
    """Mean cos² over pairs, between 0 and 1; a component without a trace of its own is confused with every other.

    Two fingerprints without their mean are opposite whatever they are, so that with K = 2 nothing is removed.
    """
    K = H.shape[0]
    if K < 2:
        return jnp.zeros((), H.dtype)
    limits, own = jnp.finfo(H.dtype), H
    least = jnp.sqrt(limits.tiny)
    if centre and K > 2:
        own = H - jnp.mean(H, axis=0)
        # what is left of equal fingerprints is rounding
        least = jnp.maximum(least, 8 * limits.eps * jnp.max(jnp.abs(H)))
    # in units of its own size, which the cosine does not see and its derivative need not
    size = jax.lax.stop_gradient(jnp.max(jnp.abs(own), axis=1, keepdims=True))
    audible = size > least
    own = jnp.where(audible, own / jnp.where(audible, size, 1), 1)
    unit = own / jnp.sqrt(jnp.sum(own * own, axis=1, keepdims=True))
    cos2 = jnp.where(audible & audible.T, (unit @ unit.T) ** 2, 1)
    return jnp.sum(jnp.triu(cos2, 1)) / (K * (K - 1) / 2)


def source_entropy(p_src: Float[Array, " V"]) -> Float[Array, ""]:
    """Entropy in nats; a cell that is excluded stays excluded, with a zero derivative instead of an infinite one."""
    some = p_src > 0
    return -jnp.sum(jnp.where(some, p_src * jnp.log(jnp.where(some, p_src, 1)), 0))
