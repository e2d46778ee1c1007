r"""Fit of the plateau law: exchange of the chamber, competitive adsorption and readout, all sensors at once.

    ln G_m(n) = response(x(n); P_m) + a_m u(t(n)) + ε,        x(n) = exchange(c(1) … c(n))

Set points c are known for the rows that are fitted; the rows that are too short to settle still change the gas that
follows them. The drift u is 0, e^{−t/τ_warm} or t/10⁴ s, as the form says.

Every parameter but b has a wide Gaussian prior about its start (`PRIOR_SD`, in units of its logarithm): a sensor that
never saturates, or never answers to a gas, leaves some of them undetermined, and standard errors then say so: they are
those of the prior.
"""

from dataclasses import dataclass

import numpy as np

from studies.uci.least_squares import RobustFit, robust_fit
from studies.uci.steady_response import SCALE_PPM, Exchange, Form, columns, response
from unmixnet.errors import UnmixError
from unmixnet.recordings.formats.uci_plateaus import Plateaus

__all__ = ["PlateauLaw", "fit_plateaus", "prior_sd", "scaled"]

SETTLED_S = 30.0
"""Shorter plateaus are not fitted."""
WARM_S = 3000.0
"""τ_warm [s]."""
_OUTLIER = 0.03
"""ln G at which a residual starts to count as an outlier."""
_NOISE = 0.03
"""ln G: the size of a residual, against which the priors are weighed."""
_EXCHANGE_NAMES = ("log delay", "log tau fast", "log tau slow", "logit slow 1", "logit slow 2")
_EXCHANGE_START = np.array([np.log(5.0), np.log(20.0), np.log(200.0), -3.0, -3.0])


@dataclass(frozen=True, eq=False)
class PlateauLaw:
    """Result of a fit.

    Arguments:
        form: which parameters were free.
        gases: names of the two gases.
        exchange: of the chamber.
        P: parameters of each sensor, shape (M, 8).
        drift: a, shape (M,).
        covariance: of the residuals between sensors, shape (M, M).
        names: of the fitted numbers, in the order of the solution.
        solution: the fitted numbers with their covariance.
    """

    form: Form
    gases: tuple[str, ...]
    exchange: Exchange
    P: np.ndarray
    drift: np.ndarray
    covariance: np.ndarray
    names: tuple[str, ...]
    solution: RobustFit

    def log_conductance(self, x: np.ndarray, start_s: np.ndarray) -> np.ndarray:
        """ln G for concentrations at the sensors (in units of SCALE_PPM), shape (N, M)."""
        return response(self.P, x)[0] + _drift(self.form, start_s)[:, None] * self.drift


@dataclass(frozen=True, eq=False)
class _PlateauProblem:
    """The rows that are fitted and the shape of the parameter vector."""

    c: np.ndarray
    duration_s: np.ndarray
    trend: np.ndarray
    y: np.ndarray
    chosen: np.ndarray
    place: np.ndarray
    drifts: bool
    prior: np.ndarray
    prior_sd: np.ndarray
    root_weight: np.ndarray

    def unpack(self, z: np.ndarray) -> tuple[Exchange, np.ndarray, np.ndarray]:
        sensors = z[5:]
        P = np.where(self.place >= 0, sensors[np.maximum(self.place, 0)], _FIXED)
        drift = sensors[-len(P) :] if self.drifts else np.zeros(len(P))
        return _exchange(z[:5]), P, drift

    def residuals(self, z: np.ndarray) -> np.ndarray:
        exchange, P, drift = self.unpack(z)
        x = exchange.along(self.c, self.duration_s)[self.chosen]
        r = response(P, x)[0] + self.trend[self.chosen, None] * drift - self.y[self.chosen]
        prior = _NOISE * (z - self.prior) / self.prior_sd
        return np.concatenate([(r * self.root_weight[:, None]).ravel(), prior])

    def jacobian(self, z: np.ndarray) -> np.ndarray:
        exchange, P, _ = self.unpack(z)
        x = exchange.along(self.c, self.duration_s)[self.chosen]
        y, by_P, by_x = response(P, x)
        J = np.zeros((*y.shape, len(z)))
        for k in range(5):
            moved = z[:5] + 1e-5 * (np.arange(5) == k)
            dx = (_exchange(moved).along(self.c, self.duration_s)[self.chosen] - x) / 1e-5
            J[..., k] = np.einsum("nmg,ng->nm", by_x, dx)
        for m, row in enumerate(self.place):
            free = row >= 0
            J[:, m, 5 + row[free]] = by_P[:, m, free]
            if self.drifts:
                J[:, m, len(z) - len(P) + m] = self.trend[self.chosen]
        J *= self.root_weight[:, None, None]
        return np.concatenate([J.reshape(-1, len(z)), np.diag(_NOISE / self.prior_sd)])


PRIOR_SD = {
    **dict.fromkeys(_EXCHANGE_NAMES, 1.0),
    "log delay": 0.5,
    "b": 1e3,
    **dict.fromkeys(("log A1", "log A2", "log K1", "log K2"), 2.0),
    "log γ": 0.7,
    **dict.fromkeys(("log n1", "log n2"), 0.5),
    "drift": 0.2,
}
"""Width of the priors."""
_FIXED = np.array([0.0, 0.0, 0.0, -np.inf, -np.inf, 0.0, 0.0, 0.0])


def fit_plateaus(table: Plateaus, form: Form, *, fitted: np.ndarray | None = None, steps: int = 150) -> PlateauLaw:
    """Fit to a table whose set points are known.

    Arguments:
        table: consecutive plateaus from clean air.
        form: the law.
        fitted: rows to fit, as a mask; all that have settled if None.
        steps: most evaluations.
    """
    chosen = table.duration_s >= SETTLED_S if fitted is None else fitted & (table.duration_s >= SETTLED_S)
    if len(table.gases) != 2 or chosen.sum() < 20:
        raise UnmixError(
            f"{chosen.sum()} settled plateaus of {len(table.gases)} gases, expected at least 20 of two",
            remedy="Give a longer table",
        )
    place, start, names = columns(form, len(table.sensors))
    drifts = form.drift != "none"
    y = np.log(table.readings)
    start[: len(table.sensors)] = np.quantile(y[chosen], 0.05, axis=0)
    z = np.concatenate([_EXCHANGE_START, start, np.zeros(len(table.sensors) * drifts)])
    names = (*_EXCHANGE_NAMES, *names, *(f"drift {name}" for name in table.sensors if drifts))
    sd = np.array([prior_sd(name) for name in names])
    age_s = table.start_s[-1] - table.start_s[chosen]
    root = np.exp(-age_s / form.recency_s / 2)
    trend = _drift(form, table.start_s)
    problem = _PlateauProblem(scaled(table), table.duration_s, trend, y, chosen, place, drifts, z, sd, root)
    solution = robust_fit(problem.residuals, problem.jacobian, z, width=sd, scale=_OUTLIER, steps=steps)
    left = solution.residuals[: -len(z)].reshape(-1, len(table.sensors))
    exchange, P, drift = problem.unpack(solution.z)
    return PlateauLaw(form, table.gases, exchange, P, drift, _shrunk(left, root), names, solution)


def prior_sd(name: str) -> float:
    """Width of the prior of a parameter, whichever sensor or type it belongs to."""
    return PRIOR_SD[name] if name in PRIOR_SD else PRIOR_SD[name.rsplit(" ", 1)[0]]


def scaled(table: Plateaus) -> np.ndarray:
    """Set points in units of SCALE_PPM, shape (N, 2)."""
    return table.exposure_ppm / np.array([SCALE_PPM[gas] for gas in table.gases])


def _exchange(z: np.ndarray) -> Exchange:
    return Exchange(float(np.exp(z[0])), np.exp(z[1:3]), 1 / (1 + np.exp(-z[3:5])))


def _drift(form: Form, start_s: np.ndarray) -> np.ndarray:
    """u(t), shape (N,)."""
    t = np.asarray(start_s, float)
    return {"none": np.zeros_like(t), "warming": np.exp(-t / WARM_S), "linear": t / 1e4}[form.drift]


def _shrunk(left: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Covariance of weighted residuals about zero, a tenth moved towards its diagonal: it can be inverted."""
    C = left.T @ left / np.sum(root**2)
    return 0.9 * C + 0.1 * np.diag(np.diag(C))
