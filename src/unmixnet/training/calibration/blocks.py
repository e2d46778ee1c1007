"""Traces of many recordings and their slopes: every recording depends on its own substances and nuisances only.

The Jacobian is therefore a few dense blocks, small enough to be written down, and the normal matrix of all parameters
is their sum. (Where the parameters are networks it is not, and `training.gauss_newton` works without it.)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from unmixnet.training.calibration.recordings import Recordings

__all__ = ["Nuisances", "Slopes", "flat", "observed", "places_of", "seen", "slopes", "traces"]

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


def traces(forward: Any, params: Any, told: Recordings, log_strength: np.ndarray, log_exposure: np.ndarray):
    """y of the law, shape (n, T, M), and its level in clean air, shape (M,)."""
    parts = [_traces(forward, params, *batch) for batch in _batches(told, log_strength, log_exposure)]
    y, air = (_together([part[i] for part in parts], len(told)) for i in range(2))
    return y, air[0]


def slopes(forward: Any, params: Any, told: Recordings, log_strength: np.ndarray, log_exposure: np.ndarray) -> Slopes:
    """The traces and how they change with the parameters of their substances."""
    parts = [_slopes(forward, params, *batch) for batch in _batches(told, log_strength, log_exposure)]
    y, air, y_theta, air_theta, strength, exposure = (
        _together([part[i] for part in parts], len(told)) for i in range(6)
    )
    return Slopes(y, air[0], y_theta, air_theta, strength, exposure)


def observed(y: np.ndarray, air: np.ndarray, gain: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Ŷ = air + o + g (y − air)."""
    return air + offset[:, None] + gain[:, None] * (y - air)


def seen(forward: Any, params: Any, told: Recordings, nuisances: Nuisances) -> np.ndarray:
    """Ŷ of recordings with their nuisances, shape (n, T, M)."""
    y, air = traces(forward, params, told, nuisances.log_strength, nuisances.log_exposure)
    return observed(y, air, *nuisances.of(told.session))


def flat(params: Any) -> np.ndarray:
    """All entries in one row, double precision."""
    return np.asarray(ravel_pytree(params)[0], float)


def places_of(params: Any, told: Recordings) -> np.ndarray:
    """For each recording the places, in the row of all parameters, of the columns that `slopes` gives, shape (n, L)."""
    row, unravel = ravel_pytree(params)
    # indices travel as floats, exact up to 2²⁴
    numbered = unravel(jnp.arange(row.size).astype(row.dtype))
    local = jax.vmap(lambda active: ravel_pytree(numbered.of(active))[0])(jnp.asarray(told.active()[0]))
    return np.asarray(local).round().astype(int)


def _batches(told: Recordings, log_strength: np.ndarray, log_exposure: np.ndarray) -> Iterator[tuple[Any, ...]]:
    """Batches of one size, the last one filled up, so that a law compiles once whatever the number of recordings."""
    active, shares = told.active()
    rows = np.arange(-(-len(told) // _BATCH) * _BATCH) % len(told)
    dtype = jnp.zeros(()).dtype
    for some in np.split(rows, len(rows) // _BATCH):
        yield jnp.asarray(active[some]), *(jnp.asarray(x[some], dtype) for x in (shares, log_strength, log_exposure))


def _together(parts: Sequence[Any], n: int) -> np.ndarray:
    return np.concatenate([np.asarray(part, float) for part in parts])[:n]


@eqx.filter_jit
def _traces(forward: Any, params: Any, active, shares, log_strength, log_exposure):
    def one(active, *rest):
        local = params.of(active)
        return forward.trace(local, *rest), forward.air(local)

    return jax.vmap(one)(active, shares, log_strength, log_exposure)


@eqx.filter_jit
def _slopes(forward: Any, params: Any, active, shares, log_strength, log_exposure):
    def one(active, shares, log_strength, log_exposure):
        row, unravel = ravel_pytree(params.of(active))

        def trace(row, log_strength, log_exposure):
            local = unravel(row)
            value = forward.trace(local, shares, log_strength, log_exposure), forward.air(local)
            return value, value

        by, (y, air) = jax.jacfwd(trace, argnums=(0, 1, 2), has_aux=True)(row, log_strength, log_exposure)
        (y_theta, y_strength, y_exposure), (air_theta, _, _) = by
        return y, air, y_theta, air_theta, y_strength, y_exposure

    return jax.vmap(one)(active, shares, log_strength, log_exposure)
