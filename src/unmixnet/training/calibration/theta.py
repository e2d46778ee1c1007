"""The parameter set Θ of the supplement as logarithms, and its prior."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from unmixnet.model.kinetics import K_ADS, K_DES, SITES_MOL
from unmixnet.model.release import CONCENTRATION, TAU_DECAY_S, TAU_RISE_S
from unmixnet.model.transduction import RECOVERY, TAU_S
from unmixnet.model.unmixnet import draught
from unmixnet.physics.adsorption import Surface
from unmixnet.physics.conditions import Conditions
from unmixnet.physics.maxwell_stefan import MaxwellStefan
from unmixnet.physics.readout import Logarithmic, Readout
from unmixnet.physics.source import Constant, RiseDecay, Source
from unmixnet.physics.state import Process, Schedule
from unmixnet.simulation.chamber import Chamber

__all__ = ["Jar", "NuisancePrior", "Theta", "ThetaPrior", "in_omega", "pair_places", "prior_of", "process_of"]


class Theta(eqx.Module):
    """Natural logarithms of the coefficients in SI units, but for the level b."""

    alpha: Float[Array, " K"]
    """ln α: release of the pure substance, in typical ones [–]."""
    rise: Float[Array, " K"]
    """ln τ_rise of the release [s]."""
    decay: Float[Array, " K"]
    """ln τ_decay of the release [s]."""
    wall: Float[Array, " K"]
    """ln κ_wall of the cells that are walls [1/s]."""
    D: Float[Array, " pairs"]
    """ln D of the pairs i < j, carrier first [m²/s]."""
    k_ads: Float[Array, "M K"]
    """[m³/(mol s)]."""
    k_des: Float[Array, "M K"]
    """[1/s]."""
    beta: Float[Array, "M K"]
    """Sensitivities, in units of the signal."""
    gain: Float[Array, " M"]
    bend: Float[Array, " M"]
    """k of the transduction gain · ln(1 + k r)/k."""
    tau: Float[Array, " M"]
    """ln τ of the readout while it rises [s]."""
    recovery: Float[Array, " M"]
    """ln of how many times slower it recovers [–]."""
    b: Float[Array, " M"]
    """Level in clean air; no logarithm."""
    u: Float[Array, ""]
    """ln of the factor on the chamber's velocities [–]."""

    def of(self, active: Int[Array, " A"]) -> "Theta":
        """Coefficients of some of the substances."""
        columns = {name: getattr(self, name)[active] for name in ("alpha", "rise", "decay", "wall")}
        tables = {name: getattr(self, name)[:, active] for name in ("k_ads", "k_des", "beta")}
        K, A = self.alpha.shape[0], active.shape[0]
        places = jnp.asarray(pair_places(K))
        with_carrier = jnp.concatenate([jnp.zeros(1, active.dtype), active + 1])
        i, j = np.triu_indices(A + 1, 1)
        D = self.D[places[with_carrier[i], with_carrier[j]]]
        rest = {name: getattr(self, name) for name in ("gain", "bend", "tau", "recovery", "b", "u")}
        return Theta(D=D, **columns, **tables, **rest)


def pair_places(K: int) -> np.ndarray:
    """Place of the pair (i, j) in the row of pairs, shape (K + 1, K + 1); the diagonal is unused and 0."""
    table = np.zeros((K + 1, K + 1), int)
    i, j = np.triu_indices(K + 1, 1)
    table[i, j] = table[j, i] = np.arange(len(i))
    return table


class Jar(eqx.Module):
    """What is known and not fitted: the chamber, the directions of the sensors, how a recording begins and releases.

    Arguments:
        seconds: length of a recording, over which a rise–decay release integrates to one.
    """

    chamber: Chamber = eqx.field(static=True)
    sign: tuple[float, ...] = eqx.field(static=True)
    start: Literal["clean air", "exposed"] = eqx.field(static=True)
    release: Literal["constant", "rise-decay"] = eqx.field(static=True)
    step_s: float = eqx.field(static=True)
    seconds: float = eqx.field(static=True)

    @property
    def steps(self) -> int:
        """Of the solver."""
        return int(self.seconds / self.step_s + 1e-6)


def process_of(theta: Theta, jar: Jar) -> Process:
    """The process of pure substances at strength one, for as many of them as Θ has."""
    chamber, K = jar.chamber, theta.alpha.shape[0]
    dtype = theta.alpha.dtype
    V, E, M = len(chamber.cells), len(chamber.edges), len(jar.sign)
    zero, flat = jnp.zeros(K, dtype), jnp.zeros((2, M), dtype)
    p_src, wall, air = np.zeros(V), np.zeros(V), np.zeros((1, K + 1, V))
    p_src[chamber.cells_of("source")] = 1
    wall[chamber.cells_of("wall")] = 1
    air[:, 0] = 1
    rate = CONCENTRATION * draught(chamber) * jnp.exp(theta.alpha)
    constant = jar.release == "constant"
    profile = (
        Constant()
        if constant
        else RiseDecay(jnp.exp(theta.rise), jnp.exp(theta.decay), jnp.asarray(jar.seconds, dtype))
    )
    velocities = chamber.velocities()
    factor = jnp.exp(theta.u)
    tau = jnp.exp(theta.tau)
    places = pair_places(K)
    return Process(
        source=Source(
            rate * (1 if constant else jar.seconds), profile, jnp.asarray(p_src / p_src.sum(), dtype), zero, zero
        ),
        flow=type(velocities)(*(jnp.asarray(factor * part, dtype) for part in _parts(velocities))),
        diffusion=MaxwellStefan(jnp.exp(theta.D[places]), jnp.ones(E, dtype)),
        wall=jnp.concatenate([jnp.zeros(1, dtype), jnp.exp(theta.wall)])[:, None] * jnp.asarray(wall, dtype),
        surface=Surface(jnp.exp(theta.k_ads).T, jnp.exp(theta.k_des).T, jnp.full(M, SITES_MOL, dtype)),
        readout=Readout(
            beta=jnp.exp(theta.beta).T,
            g=Logarithmic(jnp.exp(theta.bend)),
            gain=jnp.exp(theta.gain),
            sign=jnp.asarray(jar.sign, dtype),
            baseline=theta.b,
            tau_rise=tau,
            tau_recovery=tau * jnp.exp(theta.recovery),
            baseline_slopes=flat,
            gain_slopes=flat,
        ),
        conditions=Conditions(*(jnp.asarray(value, dtype) for value in (298.15, 10.0, 101325.0))),
        inlet=Schedule(jnp.zeros(1, dtype), jnp.asarray(air, dtype)),
    )


def in_omega(process: Process) -> bool:
    """Whether Ω holds: D symmetric and positive, rates and sensitivities not negative, lags positive, all finite."""
    D = np.asarray(process.diffusion.D)
    off = ~np.eye(D.shape[0], dtype=bool)
    lags = (process.readout.tau_rise, process.readout.tau_recovery)
    weights = (process.surface.k_ads, process.surface.k_des, process.readout.beta, process.readout.gain)
    finite = all(np.all(np.isfinite(np.asarray(part))) for part in (D[off], *lags, *weights))
    positive = all(np.all(np.asarray(part) > 0) for part in (D[off], *lags))
    return bool(
        finite
        and positive
        and np.array_equal(D, np.swapaxes(D, 0, 1))
        and all(np.all(np.asarray(part) >= 0) for part in weights)
    )


def _parts(module: eqx.Module) -> tuple[Array, ...]:
    return tuple(getattr(module, each.name) for each in fields(module))  # pyright: ignore[reportArgumentType]


_D, _WALL = 7e-6, 1e-3
_TYPICAL: dict[str, tuple[float, float]] = {
    "alpha": (0.0, 0.1),
    "rise": (math.log(TAU_RISE_S), 1.0),
    "decay": (math.log(TAU_DECAY_S), 1.0),
    "wall": (math.log(_WALL), 1.0),
    "D": (math.log(_D), 0.3),
    "k_ads": (math.log(K_ADS), 1.0),
    "k_des": (math.log(K_DES), 0.7),
    "beta": (0.0, 0.7),
    "gain": (1.0, 1.0),
    "bend": (0.7, 0.5),
    "tau": (math.log(TAU_S), 0.7),
    "recovery": (math.log(RECOVERY), 0.5),
    "b": (0.0, 0.5),
    "u": (0.0, 0.3),
}
"""Mean and sd of the logarithm; b is a level, whose mean comes from the data set."""


@dataclass(frozen=True, eq=False)
class ThetaPrior:
    """Mean and standard deviation of every entry of Θ."""

    mean: Theta
    sd: Theta


@dataclass(frozen=True)
class NuisancePrior:
    """How recordings of one mixture differ: standard deviations.

    Arguments:
        strength: of the logarithm of a recording's strength.
        exposure: of the logarithm of the share of the steady concentration that is there at its start.
        gain: of the logarithm of a sensor's gain in a session.
        offset: of a sensor's level in a session, in standard deviations of the training signal.
    """

    strength: float = 0.25
    exposure: float = 0.1
    gain: float = 0.1
    offset: float = 0.3


def prior_of(K: int, air: Sequence[float]) -> ThetaPrior:
    """For K substances and the sensors whose signals in clean air are given."""
    M = len(air)
    shapes = dict.fromkeys(("alpha", "rise", "decay", "wall"), (K,))
    shapes |= dict.fromkeys(("k_ads", "k_des", "beta"), (M, K))
    shapes |= dict.fromkeys(("gain", "bend", "tau", "recovery", "b"), (M,)) | {"D": ((K + 1) * K // 2,), "u": ()}
    mean = {name: jnp.full(shape, _TYPICAL[name][0]) for name, shape in shapes.items()}
    sd = {name: jnp.full(shape, _TYPICAL[name][1]) for name, shape in shapes.items()}
    mean["b"] = jnp.asarray(np.asarray(air, float), mean["u"].dtype)
    return ThetaPrior(Theta(**mean), Theta(**sd))
