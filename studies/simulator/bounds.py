r"""Cramér–Rao bound: how well any unbiased estimate of the ratios can do, given the sensors, the noise and the drift.

    F = Σ Jᵀ J/σ² + diag(1/s²),    cov(â) ≥ T (Tᵀ F T)⁻¹ Tᵀ

J = ∂y/∂latent is the Jacobian of one recording, σ the noise of each reading, s the prior sd of each nuisance (infinite
where there is none). The latent vector is (a, η): ratios a on the simplex, nuisances η (log strength, gains, offsets).
T spans the directions that stay on the simplex, Σ δa = 0, either within the true support or among all components.

A ratio of zero cannot fall, which the tangent space ignores: the bound over all components is that of the
unconstrained problem, and conservative (too large) for recordings at the boundary, which all sparse mixtures are. The
bound of the known support is too small in turn. Gaussian errors of that size have the expected MAE √(2/π) mean sd.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unmixnet.errors import UnmixError
from unmixnet.recordings.datasets import Dataset
from unmixnet.recordings.simulated import (
    CLEAN_AIR,
    FULL_SCALE_COUNTS,
    GAIN_SD,
    OFFSET_SD,
    Setting,
    drift,
    noise_counts,
    plan_of,
    setting_of,
    shares,
)
from unmixnet.simulation.simulated_nose import RATE_HZ, ROWS, fine_chamber, true_process

if TYPE_CHECKING:
    import jax

__all__ = [
    "Bound",
    "RecordingBounds",
    "cramer_rao",
    "fisher",
    "forward_map",
    "linearised",
    "reading_sd",
    "recording_bounds",
    "tangent",
]

_ROUNDING_VARIANCE = 1 / 12
"""Variance that rounding to whole counts adds [counts²]."""
_SINGULAR = 1e-12
"""Eigenvalues of the scaled information below this share of the largest carry no information."""


@dataclass(frozen=True, eq=False)
class Bound:
    """Smallest standard deviations of the ratios of one recording.

    Arguments:
        names: of the components, K of them.
        sd: bound of each ratio, shape (K,); infinite where the readings leave it open, zero outside a known support.
        silent: parameters on which no reading depends; a nuisance among them keeps its prior.
    """

    names: tuple[str, ...]
    sd: np.ndarray
    silent: tuple[str, ...]

    @property
    def expected_mae(self) -> float:
        """Mean absolute error of Gaussian errors of this size, over all K components: √(2/π) mean sd."""
        return float(np.sqrt(2 / np.pi) * np.mean(self.sd))


def linearised(forward: Callable[["jax.Array"], "jax.Array"]) -> Callable[[Any], tuple[np.ndarray, np.ndarray]]:
    """Readings y and J = ∂y/∂latent, (readings,) and (readings, latents), of a jax function of one flat vector.

    By forward mode, compiled once.
    """
    import jax
    import jax.numpy as jnp

    def flat(latent):
        y = jnp.ravel(forward(latent))
        return y, y

    both = jax.jit(jax.jacfwd(flat, has_aux=True))

    def at(latent: Any) -> tuple[np.ndarray, np.ndarray]:
        J, y = both(jnp.asarray(latent, float))
        return np.asarray(y, dtype=float), np.asarray(J, dtype=float)

    return at


def reading_sd(counts: np.ndarray, noise_counts: np.ndarray, full_scale: float = 1023.0) -> np.ndarray:
    """sd of a reading in logits: noise and rounding [counts] over the slope of the divider, full scale · p(1 − p)."""
    p = np.clip(counts / full_scale, 0.5 / full_scale, 1 - 0.5 / full_scale)
    return np.sqrt(np.square(noise_counts) + _ROUNDING_VARIANCE) / (full_scale * p * (1 - p))


def fisher(J: np.ndarray, noise_sd: np.ndarray, prior_sd: np.ndarray) -> np.ndarray:
    """F = Jᵀ diag(1/σ²) J + diag(1/s²), shape (latents, latents); an infinite s adds nothing."""
    J, noise_sd, prior_sd = (np.asarray(value, dtype=float) for value in (J, noise_sd, prior_sd))
    noise_sd = np.broadcast_to(noise_sd, J.shape[:1])
    if prior_sd.shape != J.shape[1:] or not np.all(np.isfinite(J)):
        raise UnmixError(
            f"a Jacobian of shape {J.shape} and {prior_sd.size} prior sds, expected finite numbers and one for each "
            "latent",
            where="fisher",
            remedy="Give an infinite prior sd to latents without a prior",
        )
    if not (np.all(noise_sd > 0) and np.all(prior_sd > 0)):
        raise UnmixError("a noise or prior sd is not positive", where="fisher", remedy="Noise includes rounding")
    weighted = J / noise_sd[:, None]
    return weighted.T @ weighted + np.diag(1 / np.square(prior_sd))


def tangent(K: int, support: Sequence[int]) -> np.ndarray:
    """Orthonormal directions that move the ratios of a support and keep their sum, shape (K, n − 1)."""
    chosen = sorted(set(support))
    if not chosen or not all(0 <= i < K for i in chosen):
        raise UnmixError(f"support {chosen} of {K} components", where="tangent", remedy="Give indices of components")
    within = np.linalg.svd(np.ones((1, len(chosen))))[2][1:].T
    directions = np.zeros((K, len(chosen) - 1))
    directions[chosen] = within
    return directions


def cramer_rao(
    J: np.ndarray,
    noise_sd: np.ndarray,
    prior_sd: np.ndarray,
    *,
    names: Sequence[str],
    components: int,
    support: Sequence[int] | None = None,
) -> Bound:
    """Bound on the ratios of one recording.

    Arguments:
        J: Jacobian of the readings, ratios first, then nuisances.
        noise_sd: of the readings, in their unit; one number, or one for each.
        prior_sd: of every latent; infinite for the ratios and for nuisances without a prior.
        names: of every latent.
        components: how many of the latents are ratios, K.
        support: components that are known to be present; None takes all K.
    """
    F = fisher(J, noise_sd, prior_sd)
    if len(names) != len(F):
        raise UnmixError(f"{len(names)} names for {len(F)} latents", where="cramer_rao", remedy="Name every latent")
    Z = tangent(components, range(components) if support is None else support)
    T = np.zeros((len(F), Z.shape[1] + len(F) - components))
    T[:components, : Z.shape[1]], T[components:, Z.shape[1] :] = Z, np.eye(len(F) - components)
    quiet = tuple(name for name, column in zip(names, np.asarray(J).T, strict=True) if not np.any(column))
    return Bound(tuple(names[:components]), np.sqrt(_variances(T.T @ F @ T, T[:components])), quiet)


def _variances(F: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Diagonal of rows F⁻¹ rowsᵀ; infinite where a row has a part in a direction without information."""
    if not len(F):
        return np.zeros(len(rows))
    # latents have different units: in units of their own information the spectrum shows what is singular
    size = np.sqrt(np.where(np.diag(F) > 0, np.diag(F), 1))
    values, vectors = np.linalg.eigh(F / np.outer(size, size))
    parts = (rows / size) @ vectors
    informed = values > _SINGULAR * max(values.max(), np.finfo(float).tiny)
    variance = np.sum(np.square(parts[:, informed]) / values[informed], axis=1)
    lost = np.sum(np.square(parts[:, ~informed]), axis=1) > 1e-12 * np.sum(np.square(rows / size), axis=1)
    return np.where(lost, np.inf, variance)


@dataclass(frozen=True, eq=False)
class RecordingBounds:
    """Bounds of one recording: with its components known, and among all components."""

    path: str
    known_support: Bound
    all_components: Bound


def recording_bounds(data: Dataset | Setting, indices: Sequence[int], *, fine: bool = True) -> list[RecordingBounds]:
    """Bounds of chosen recordings.

    Arguments:
        data: a simulated data set, or its setting.
        indices: places of the recordings among `data.entries`.
        fine: differentiate what made the recordings; False takes 8 cells and steps of a second, as a model would.
    """
    import jax

    setting = setting_of(data)
    K, M, plan, moved = len(setting.components), setting.sensors, plan_of(setting), drift(setting)
    names = (
        *setting.components,
        "log strength",
        *(f"{what} {m + 1}" for what in ("log gain", "offset") for m in range(M)),
    )
    prior = np.concatenate(
        [np.full(K, np.inf), [setting.world.strength_sd], np.full(M, GAIN_SD), np.full(M, OFFSET_SD)]
    )
    released, bounds = shares(setting), []
    with jax.enable_x64(False):
        at = linearised(forward_map(setting, fine=fine))
        for i in indices:
            strength, session = released[i].sum(), plan.sessions[i]
            drifted = (np.log(moved.gain[session]), moved.offset[session])
            y, J = at(np.concatenate([released[i] / strength, [np.log(strength)], *drifted]))
            noise = np.tile(noise_counts(M), len(y) // M)
            sd = reading_sd(FULL_SCALE_COUNTS / (1 + np.exp(-y)), noise)
            known, free = (
                cramer_rao(J, sd, prior, names=names, components=K, support=support)
                for support in (np.flatnonzero(released[i]).tolist(), None)
            )
            bounds.append(RecordingBounds(plan.paths[i], known, free))
    return bounds


def forward_map(setting: Setting, *, fine: bool = True):
    """Readings in logits at 10 Hz, (row, sensor), as a jax function of (ratios, log strength, log gains, offsets).

    With `fine` False each coarse step of a second stands for the ten readings within it.
    """
    import equinox as eqx
    import jax.numpy as jnp

    from unmixnet.physics.rollout import Policy, rollout
    from unmixnet.physics.state import clean_air

    chamber = fine_chamber(setting).chamber if fine else setting.chamber
    repeat = 1 if fine else round(RATE_HZ)
    geometry, process = chamber.geometry(), true_process(setting, chamber)
    K, M = len(setting.components), setting.sensors

    def forward(latent):
        a, log_strength, log_gain, offset = jnp.split(latent, (K, K + 1, K + 1 + M))
        this = eqx.tree_at(lambda p: p.source.amount, process, process.source.amount * a * jnp.exp(log_strength))
        dt = jnp.asarray(repeat / RATE_HZ)
        y = rollout(this, geometry, clean_air(this, geometry), dt, ROWS // repeat, policy=Policy(order=1)).saved.y
        assert y is not None
        return jnp.repeat(jnp.exp(log_gain) * y + offset + CLEAN_AIR, repeat, axis=0)

    return forward
