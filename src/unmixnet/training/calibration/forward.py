"""What a recording of a recipe looks like under given parameters: by the solver, or by one level per substance."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from unmixnet.model.lifting import lift
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.rollout import Policy, rollout
from unmixnet.training.calibration.setup import Recordings
from unmixnet.training.calibration.theta import Jar, Theta, process_of
from unmixnet.training.calibration.trajectories import released, steady_concentration

__all__ = [
    "Forward",
    "Levels",
    "LinearLaw",
    "Nuisances",
    "Physics",
    "Slopes",
    "flat",
    "observed",
    "places_of",
    "predicted_traces",
    "slopes",
    "traces",
]

_D_MOST, _U_MOST = 3e-5, 3.0
"""Diffusivity [m²/s] and factor on the flow up to which the number of substeps is safe."""


class Forward(Protocol):
    """A law: the trace of shares of some substances, and the level in clean air."""

    def trace(self, local: Any, shares: Array, log_strength: Array, log_exposure: Array) -> Float[Array, "T M"]:
        """At the ends of the solver's steps."""
        ...

    def air(self, local: Any) -> Float[Array, " M"]:
        """Signal without any substance."""
        ...


class Physics(eqx.Module):
    """The solver with the coefficients Θ."""

    jar: Jar
    geometry: Geometry
    policy: Policy

    @classmethod
    def of(cls, jar: Jar) -> "Physics":
        """For a chamber and a way to record."""
        step, chamber = jar.step_s, jar.chamber
        advection = math.ceil(_U_MOST * chamber.cfl(step) - 1e-9)
        diffusion = math.ceil(2 * chamber.diffusion_number(step, _D_MOST) - 1e-9)
        return cls(jar, chamber.geometry(), Policy(max(1, advection), max(1, diffusion), order=1))

    def trace(self, local: Theta, shares: Array, log_strength: Array, log_exposure: Array) -> Float[Array, "T M"]:
        """No sample of the recording enters: a lag that is long enough would explain any trace by its first sample."""
        process = released(process_of(local, self.jar), shares * jnp.exp(log_strength))
        c = jnp.exp(log_exposure) * steady_concentration(process) if self.jar.start == "exposed" else None
        start = lift(process, self.geometry, None, c)
        dt = jnp.asarray(self.jar.step_s, shares.dtype)
        y = rollout(process, self.geometry, start, dt, self.jar.steps, policy=self.policy).saved.y
        assert y is not None
        return y

    def air(self, local: Theta) -> Float[Array, " M"]:
        """b."""
        return local.b


class Levels(eqx.Module):
    """h_i: one level per substance and sensor, the parameters of the null laws."""

    h: Float[Array, "K M"]

    def of(self, active: Int[Array, " A"]) -> "Levels":
        """Those of some of the substances."""
        return Levels(self.h[active])


class LinearLaw(eqx.Module):
    """y = air + s (Σ a_i h_i − air), flat in time: a table of levels, without physics."""

    level: Float[Array, " M"]
    steps: int = eqx.field(static=True)

    def trace(self, local: Levels, shares: Array, log_strength: Array, log_exposure: Array) -> Float[Array, "T M"]:
        """The same level at every step."""
        y = self.level + jnp.exp(log_strength) * (shares @ local.h - self.level)
        return jnp.broadcast_to(y + 0 * log_exposure, (self.steps, *y.shape))

    def air(self, local: Levels) -> Float[Array, " M"]:
        """Signal in clean air, given."""
        return self.level


_BATCH = 32


@dataclass(frozen=True, eq=False)
class Nuisances:
    """What differs from recording to recording and from session to session, found beside Θ.

    Arguments:
        log_strength, log_exposure: of recordings, shape (n,).
        log_gain, offset: of sessions and sensors, shape (S, M).
    """

    log_strength: np.ndarray
    log_exposure: np.ndarray
    log_gain: np.ndarray
    offset: np.ndarray

    @classmethod
    def none(cls, n: int, sessions: int, M: int) -> "Nuisances":
        """All zero."""
        return cls(np.zeros(n), np.zeros(n), np.zeros((sessions, M)), np.zeros((sessions, M)))

    def of(self, session: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gain and offset of recordings, shape (n, M); one and zero where the session is unknown (−1)."""
        known = (session >= 0)[:, None]
        if not len(self.log_gain):
            M = self.log_gain.shape[1]
            return np.ones((len(session), M)), np.zeros((len(session), M))
        return np.where(known, np.exp(self.log_gain[session]), 1), np.where(known, self.offset[session], 0)


@dataclass(frozen=True, eq=False)
class Slopes:
    """Traces y of the law with their derivatives, before session gains.

    Arguments:
        y: shape (n, T, M).
        air: shape (M,).
        y_theta: by the parameters of its substances, shape (n, T, M, L); `air_theta` likewise, shape (n, M, L).
        y_strength, y_exposure: by the recording's nuisances, shape (n, T, M).
    """

    y: np.ndarray
    air: np.ndarray
    y_theta: np.ndarray
    air_theta: np.ndarray
    y_strength: np.ndarray
    y_exposure: np.ndarray


def traces(forward: Any, params: Any, recordings: Recordings, log_strength: np.ndarray, log_exposure: np.ndarray):
    """y of the law, shape (n, T, M), and its level in clean air, shape (M,)."""
    parts = [_traces(forward, params, *batch) for batch in _batches(recordings, log_strength, log_exposure)]
    y, air = (_together([part[i] for part in parts], len(recordings)) for i in range(2))
    return y, air[0]


def slopes(
    forward: Any, params: Any, recordings: Recordings, log_strength: np.ndarray, log_exposure: np.ndarray
) -> Slopes:
    """The traces and how they change with the parameters of their substances."""
    parts = [_slopes(forward, params, *batch) for batch in _batches(recordings, log_strength, log_exposure)]
    y, air, y_theta, air_theta, strength, exposure = (
        _together([part[i] for part in parts], len(recordings)) for i in range(6)
    )
    return Slopes(y, air[0], y_theta, air_theta, strength, exposure)


def observed(y: np.ndarray, air: np.ndarray, gain: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Ŷ = air + o + g (y − air)."""
    return air + offset[:, None] + gain[:, None] * (y - air)


def predicted_traces(forward: Any, params: Any, recordings: Recordings, nuisances: Nuisances) -> np.ndarray:
    """Ŷ of recordings with their nuisances, shape (n, T, M)."""
    y, air = traces(forward, params, recordings, nuisances.log_strength, nuisances.log_exposure)
    return observed(y, air, *nuisances.of(recordings.session))


def flat(params: Any) -> np.ndarray:
    """All entries in one row, double precision."""
    return np.asarray(ravel_pytree(params)[0], float)


def places_of(params: Any, recordings: Recordings) -> np.ndarray:
    """For each recording the places, in the row of all parameters, of the columns that `slopes` gives, shape (n, L)."""
    row, unravel = ravel_pytree(params)
    # indices travel as floats, exact up to 2²⁴
    numbered = unravel(jnp.arange(row.size).astype(row.dtype))
    local = jax.vmap(lambda active: ravel_pytree(numbered.of(active))[0])(jnp.asarray(recordings.active()[0]))
    return np.asarray(local).round().astype(int)


def _batches(recordings: Recordings, log_strength: np.ndarray, log_exposure: np.ndarray) -> Iterator[tuple[Any, ...]]:
    """Batches of one size, the last one filled up, so that a law compiles once whatever the number of recordings."""
    active, shares = recordings.active()
    rows = np.arange(-(-len(recordings) // _BATCH) * _BATCH) % len(recordings)
    dtype = jnp.zeros(()).dtype
    for some in np.split(rows, len(rows) // _BATCH):
        yield jnp.asarray(active[some]), *(jnp.asarray(x[some], dtype) for x in (shares, log_strength, log_exposure))


def _together(parts: Sequence[Any], n: int) -> np.ndarray:
    return np.concatenate([np.asarray(part, float) for part in parts])[:n]


@eqx.filter_jit
def _traces(forward: Any, params: Any, active, shares, log_strength, log_exposure):
    def of_recording(active, *rest):
        local = params.of(active)
        return forward.trace(local, *rest), forward.air(local)

    return jax.vmap(of_recording)(active, shares, log_strength, log_exposure)


@eqx.filter_jit
def _slopes(forward: Any, params: Any, active, shares, log_strength, log_exposure):
    def of_recording(active, shares, log_strength, log_exposure):
        row, unravel = ravel_pytree(params.of(active))

        def trace(row, log_strength, log_exposure):
            local = unravel(row)
            value = forward.trace(local, shares, log_strength, log_exposure), forward.air(local)
            return value, value

        by, (y, air) = jax.jacfwd(trace, argnums=(0, 1, 2), has_aux=True)(row, log_strength, log_exposure)
        (y_theta, y_strength, y_exposure), (air_theta, _, _) = by
        return y, air, y_theta, air_theta, y_strength, y_exposure

    return jax.vmap(of_recording)(active, shares, log_strength, log_exposure)
