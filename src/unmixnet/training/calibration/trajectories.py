r"""Pseudo-reference states of simulated recordings, and the scalar trajectories of the supplement.

    C*_{m,i}(t_n) = c_{v(m),i}(t_n)        concentration in the cell that sensor m breathes [mol/m³]
    J*_{e,i}(t_n)                          diffusive flux through edge e [mol/(m² s)]
    θ*_{m,i}(t_n)                          coverage of sensor m by substance i [–]
    M*_i(t_n) = Σ_v N_{v,i}(t_n)           moles of substance i in the gas of the whole chamber [mol]

t_n are the ends of the solver's steps, n = 1 … T. They say what an assumed closure implies, not what was measured.
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["Trajectories"]


@dataclass(frozen=True, eq=False)
class Trajectories:
    """States of n recordings at T instants, for M sensors, E edges and K substances (the carrier is left out).

    Arguments:
        time_s: ends of the solver's steps, shape (T,).
        concentration: C*, shape (n, T, M, K) [mol/m³].
        flux: J*, shape (n, T, E, K) [mol/(m² s)].
        coverage: θ*, shape (n, T, M, K) [–].
        mass: M*, shape (n, T, K) [mol].
        signal: of the sensors, shape (n, T, M), in the units of the calibrated signal.
        first: signal at t = 0, shape (n, M).
        ms_residual, mass_error: mean Maxwell–Stefan residual and mass error of each recording, shape (n,) [–].
    """

    time_s: np.ndarray
    concentration: np.ndarray
    flux: np.ndarray
    coverage: np.ndarray
    mass: np.ndarray
    signal: np.ndarray
    first: np.ndarray
    ms_residual: np.ndarray
    mass_error: np.ndarray

    def __len__(self) -> int:
        return len(self.signal)

    @property
    def mean_concentration(self) -> np.ndarray:
        """C*(t) = mean over sensors and substances, shape (n, T)."""
        return self.concentration.mean(axis=(2, 3))

    @property
    def mean_flux(self) -> np.ndarray:
        """J*(t) = mean of |J| over edges and substances, shape (n, T)."""
        return np.abs(self.flux).mean(axis=(2, 3))

    @property
    def mean_coverage(self) -> np.ndarray:
        """Θ*(t) = mean over sensors and substances, shape (n, T)."""
        return self.coverage.mean(axis=(2, 3))

    @property
    def total_mass(self) -> np.ndarray:
        """M*(t) = Σ_i M*_i(t), shape (n, T) [mol]."""
        return self.mass.sum(axis=2)

    def trace(self, rate_Hz: float) -> np.ndarray:
        """The signal from t = 0 at a steady rate, shape (n, rows, M), straight lines between the solver's steps.

        A window of it is what an encoder sees; its first row is the start of the recording.
        """
        ends = np.concatenate([[0.0], self.time_s])
        rows = np.arange(int(np.floor(ends[-1] * rate_Hz + 1e-6)) + 1) / rate_Hz
        after = np.clip(np.searchsorted(ends, rows, side="right"), 1, len(ends) - 1)
        part = ((rows - ends[after - 1]) / (ends[after] - ends[after - 1]))[:, None]
        y = np.concatenate([self.first[:, None], self.signal], axis=1)
        return (1 - part) * y[:, after - 1] + part * y[:, after]
