r"""Recovery of coefficients from clean data: what recordings determine of the solver's coefficients.

Recordings of known mixtures are made by the model's own discretisation (8 cells, steps of a second) without noise; the
logarithms of all coefficients are fitted to them by least squares through the solver, from a perturbed start.

    r(p) = y(p) − y_true,    J = ∂r/∂p = U S Vᵀ

Directions of V whose singular value is under a tolerance are determined by no recording. They are a property of the
physics: the sensors see only k_ads c (an amount and a column of k_ads can be exchanged), and only β k and gain/k of a
readout gain · ln(1 + k Σ β θ)/k. A combination is identifiable if it has no part in them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float
from scipy.optimize import least_squares

from studies.simulator.coefficients import combinations, first_substances, log_coefficients, names_of, with_coefficients
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.rollout import Policy, rollout
from unmixnet.physics.state import Process, clean_air
from unmixnet.simulation.simulated_nose import Setting, true_process

__all__ = ["Combination", "Recovery", "recover"]

STEPS, DT_S = 60, 1.0
TOLERANCE = 2e-5
"""Singular values under this share of the largest count as zero: no measurement could use them.

With 12 substances and 4 sensors there are 4 values at rounding (β and k of a sensor), 12 from 1e-6 to 9e-6 (amount and
k_ads of a substance, separated only by the traces of gas that the surfaces take up), and then none before 3.5e-5.
"""


@dataclass(frozen=True, eq=False)
class Combination:
    """A product of powers of coefficients, e.g. amount · k_ads.

    Arguments:
        name: as printed.
        identifiable: for each entry, whether the recordings determine it.
        error: relative error of each entry after the fit.
    """

    name: str
    identifiable: np.ndarray
    error: np.ndarray

    @property
    def worst(self) -> float | None:
        """Largest relative error of an identifiable entry; None if there is none."""
        return float(self.error[self.identifiable].max()) if self.identifiable.any() else None


@dataclass(frozen=True, eq=False)
class Recovery:
    """Result of a fit to clean data.

    Arguments:
        combinations: with their errors.
        singular: singular values of the Jacobian at the end, relative to the largest.
        untold: directions that no recording determines, each by the coefficients that it moves most.
        misfit: root mean square of the residual at the start and at the end, in units of the signal.
        steps: evaluations of the fit.
    """

    combinations: tuple[Combination, ...]
    singular: np.ndarray
    untold: tuple[str, ...]
    misfit: tuple[float, float]
    steps: int

    @property
    def worst(self) -> float:
        """Largest relative error of all identifiable coefficients."""
        return max(combination.worst for combination in self.combinations if combination.worst is not None)

    def summary(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "combinations": [
                {
                    "name": combination.name,
                    "entries": len(combination.error),
                    "identifiable": int(combination.identifiable.sum()),
                    "median error": float(np.median(combination.error)),
                    "worst identifiable error": combination.worst,
                }
                for combination in self.combinations
            ],
            "worst identifiable error": self.worst,
            "untold directions": len(self.untold),
            "untold": list(self.untold),
            "smallest told singular value": float(self.singular[self.singular >= TOLERANCE].min()),
            "misfit before": self.misfit[0],
            "misfit after": self.misfit[1],
            "steps": self.steps,
        }


def recover(
    setting: Setting | None = None,
    *,
    substances: int | None = None,
    spread: float = 0.3,
    most_steps: int = 100,
    seed: int = 0,
    tick: Callable[[], None] = lambda: None,
) -> Recovery:
    """Perturb every coefficient of the simulated chamber by a factor of about e^spread, and fit it back.

    Arguments:
        substances: use only the first so many of the twelve.
        tick: called at each Jacobian of the fit.
    """
    with jax.enable_x64(True):
        problem = _RecoveryProblem(setting or Setting(), substances)
        rng = np.random.default_rng(seed)
        start = problem.truth + rng.normal(0, spread, len(problem.truth))

        def jacobian(moved: np.ndarray) -> np.ndarray:
            tick()
            return problem.jacobian(start + moved)

        fit = least_squares(
            lambda moved: problem.residuals(start + moved),
            np.zeros_like(start),  # departures from the start: the first trust region is as wide as `spread`
            jac=jacobian,  # pyright: ignore[reportArgumentType]
            x_scale=spread,
            ftol=None,  # pyright: ignore[reportArgumentType]
            xtol=1e-10,
            gtol=1e-14,
            max_nfev=most_steps,
        )
        before, after = (float(np.sqrt(np.mean(r**2))) for r in (problem.residuals(start), fit.fun))
        return _report(problem, start + fit.x, fit.jac, (before, after), fit.nfev)


class _RecoveryProblem:
    """Recordings of every pure substance and of neighbours in pairs, as a function of the log coefficients."""

    def __init__(self, setting: Setting, substances: int | None) -> None:
        process, geometry = true_process(setting), setting.chamber.geometry()
        process = process if substances is None else first_substances(process, substances)
        logs = log_coefficients(process)
        flat, self.unravel = ravel_pytree(logs)
        self.truth, self.names = np.asarray(flat), names_of(logs)
        pure = np.eye(len(logs["amount"]))
        shares = jnp.asarray(np.concatenate([pure, 0.5 * (pure + np.roll(pure, 1, axis=1))]))

        def trace(p: Float[Array, " p"], share: Float[Array, " K"]) -> Float[Array, " n"]:
            return jnp.ravel(_played(with_coefficients(process, self.unravel(p)), geometry, share))

        self._y = jax.jit(lambda p: jax.lax.map(lambda share: trace(p, share), shares))
        self._J = jax.jit(lambda p: jax.lax.map(lambda share: jax.jacfwd(trace)(p, share), shares))
        self._clean = np.asarray(self._y(flat))

    def residuals(self, p: np.ndarray) -> np.ndarray:
        """r(p), flat."""
        return (np.asarray(self._y(p)) - self._clean).ravel()

    def jacobian(self, p: np.ndarray) -> np.ndarray:
        """J(p)."""
        return np.asarray(self._J(p)).reshape(-1, len(p))

    def combined(self, p: np.ndarray) -> dict[str, np.ndarray]:
        """Logarithms of the combinations, each flat."""
        return {name: np.ravel(value) for name, value in combinations(self.unravel(jnp.asarray(p))).items()}


def _played(process: Process, geometry: Geometry, share: Float[Array, " K"]) -> Float[Array, "n M"]:
    """The trace of a mixture, by the discretisation of the model."""
    this = eqx.tree_at(lambda p: p.source.amount, process, process.source.amount * share)
    start, policy = clean_air(this, geometry), Policy(order=1)
    y = rollout(this, geometry, start, jnp.asarray(DT_S), STEPS, policy=policy).saved.y
    assert y is not None
    return y


def _report(
    problem: _RecoveryProblem, end: np.ndarray, J: np.ndarray, misfit: tuple[float, float], steps: int
) -> Recovery:
    _, S, Vt = np.linalg.svd(J, full_matrices=False)
    hidden = Vt[S / S[0] < TOLERANCE]
    true, fitted, base = (problem.combined(p) for p in (problem.truth, end, 0 * end))
    rows = [problem.combined(unit) for unit in np.eye(len(end))]
    combinations = []
    for name in true:
        C = np.stack([row[name] - base[name] for row in rows], axis=1)
        lost = np.sum((C @ hidden.T) ** 2, axis=1) / np.sum(C**2, axis=1)
        combinations.append(Combination(name, lost < 1e-3, np.abs(np.expm1(fitted[name] - true[name]))))
    return Recovery(tuple(combinations), S / S[0], tuple(_described(v, problem.names) for v in hidden), misfit, steps)


def _described(direction: np.ndarray, names: list[str], most: int = 6) -> str:
    """The coefficients that a direction moves most, with their signs."""
    order = np.argsort(-np.abs(direction))[:most]
    return ", ".join(f"{names[i]} {'↑' if direction[i] > 0 else '↓'}" for i in order)
