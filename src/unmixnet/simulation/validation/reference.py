r"""The same chamber written a second time, as a chemist would in NumPy, for SciPy's stiff integrators.

    dN/dt = q(t) p_src + B(transport) − κ N − Σ_m sites θ̇,    θ̇ᵢ = k_ads cᵢ θ₀ − k_des θᵢ,    ẏ = (s* − y)/τ

Method of lines: space is cut into the chamber's cells, time is left continuous, nothing is split. Shares no code with
`unmixnet.physics`. Diffusion uses the textbook form of the Maxwell–Stefan equations, J = −c B⁻¹ ∇x with
B_ii = xᵢ/D_i0 + Σ_{k≠i} x_k/D_ik and B_ij = −xᵢ(1/D_ij − 1/D_i0) (Taylor & Krishna 1993, eq. 2.1.21), which
is regular at x = 0. The unknowns are u = (N, θ₁…θ_K, y), flattened; θ₀ = 1 − Σθ. Here the species come last, as in a
table; a process has them first.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import expit

from unmixnet.errors import SolveError

__all__ = ["ChamberEquations", "Trajectory"]

_R = 8.31446261815324


@dataclass(frozen=True)
class Trajectory:
    """Solution at the requested times, and its cost."""

    t: np.ndarray
    N: np.ndarray
    """Moles, (time, cell, species)."""
    theta: np.ndarray
    """Coverages with the empty site first, (time, sensor, species)."""
    y: np.ndarray
    """Readout, (time, sensor)."""
    evaluations: int
    """Calls of the right-hand side."""


class ChamberEquations:
    """Right-hand side and initial state of the semi-discrete chamber, from a process and its geometry."""

    def __init__(self, process: Any, geometry: Any) -> None:
        flow = process.flow
        if not hasattr(flow, "velocity"):
            raise SolveError(
                "the reference needs edge velocities, the process has scores", where="flow", remedy="Use Velocities"
            )
        self.process, self.geometry = process, geometry
        self.V, self.S = len(geometry.volume), process.diffusion.D.shape[0]
        self.M, self.K = len(geometry.sensor_cell), self.S - 1
        self.volume, self.length, self.area = map(_np, (geometry.volume, geometry.length, geometry.area))
        self.tail, self.head = np.asarray(geometry.tail), np.asarray(geometry.head)
        self.seat, self.fixed = np.asarray(geometry.sensor_cell), np.asarray(geometry.fixed)
        self.incidence = np.zeros((self.V, len(self.tail)))
        np.add.at(self.incidence, (self.head, np.arange(len(self.head))), 1)
        np.add.at(self.incidence, (self.tail, np.arange(len(self.tail))), -1)
        self.seats = np.zeros((self.V, self.M))
        for cells in (self.seat,) if geometry.beside is None else (self.seat, np.asarray(geometry.beside)):
            self.seats[cells, np.arange(self.M)] += 1
        self.seats /= np.maximum(self.seats.sum(axis=0), 1)
        self.flow = _np(flow.velocity) * self.area
        self.outlet, self.inlet = _np(flow.outlet_flow), _np(flow.inlet_flow)
        self.k_ads, self.k_des = _np(process.surface.k_ads).T, _np(process.surface.k_des).T
        self.sites = _np(process.surface.sites)
        self.wall = 0.0 if process.wall is None else _np(process.wall).T
        # one matrix per edge, whether the edges share it or not; symmetric
        D = _np(process.diffusion.D).T * _np(process.diffusion.scale)[:, None, None]
        off = ~np.eye(self.S, dtype=bool)
        self.friction = np.where(off, 1 / np.where(off, D, 1), 0)
        self.T, self.p = float(process.conditions.temperature), float(process.conditions.pressure)
        air = process.conditions.air
        # of each cell, where their temperatures or pressures differ
        self.c_air = np.broadcast_to(self.p / (_R * self.T) if air is None else _np(air), (self.V,))
        self.moisture = np.log(max(float(process.conditions.humidity), 1e-6) / 10)
        self._climate()

    def _climate(self) -> None:
        """Effect of temperature and humidity on release, gain and baseline."""
        source, readout = self.process.source, self.process.readout
        arrhenius = -_np(source.vaporisation) / _R * (1 / self.T - 1 / 298.15)
        self.amount = _np(source.amount) * np.exp(arrhenius + _np(source.humidity_slope) * self.moisture)
        self.p_src = _np(source.p_src)
        climate = np.array([self.T - 298.15, self.moisture])
        self.gain = _np(readout.sign) * _np(readout.gain) * np.exp(climate @ _np(readout.gain_slopes))
        self.baseline = _np(readout.baseline) + climate @ _np(readout.baseline_slopes)
        self.beta, self.sign = _np(readout.beta).T, _np(readout.sign)
        self.tau_rise, self.tau_recovery = _np(readout.tau_rise), _np(readout.tau_recovery)

    # ------------------------------------------------------------ the unknowns

    def pack(self, N: np.ndarray, theta: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(N, θ with its empty site, y) → u."""
        return np.concatenate([_np(N).ravel(), _np(theta)[:, 1:].ravel(), _np(y).ravel()])

    def unpack(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """u → (N, θ without its empty site, y); a second axis of u becomes the leading axis of each."""
        lead, a = u.shape[1:], self.V * self.S
        b = a + self.M * self.K
        return u[:a].T.reshape(*lead, self.V, self.S), u[a:b].T.reshape(*lead, self.M, self.K), u[b:].T

    def clean_air(self) -> np.ndarray:
        """Every cell full of carrier, surfaces empty, sensors at their baseline."""
        N = np.zeros((self.V, self.S))
        N[:, 0] = self.c_air * self.volume
        return self.pack(N, np.zeros((self.M, self.S)), self.baseline + self.gain * self._transduce(np.zeros(self.M)))

    # ------------------------------------------------------------ the equations

    def rhs(self, t: float, u: np.ndarray) -> np.ndarray:
        """du/dt; u may have one column per state, as `solve_ivp(vectorized=True)` passes it."""
        N, theta, y = self.unpack(u)
        N = self._held(t, N)
        c = self.seats.T @ (N[..., 1:] / self.volume[:, None])
        empty = 1 - theta.sum(-1, keepdims=True)
        dtheta = self.k_ads * c * empty - self.k_des * theta
        dN = self._transport(t, N) - self.wall * N
        dN[..., 1:] += self.p_src[:, None] * self.amount * self._profile(t)
        dN[..., 1:] -= self.seats @ (self.sites[:, None] * dtheta)
        dN[..., self.fixed, :] = 0
        goal = self.baseline + self.gain * self._transduce((self.beta * theta).sum(-1))
        tau = np.where(self.sign * (goal - y) >= 0, self.tau_rise, self.tau_recovery)
        lead = N.shape[:-2]
        parts = [dN.reshape(*lead, -1), dtheta.reshape(*lead, -1), (goal - y) / tau]
        return np.concatenate(parts, axis=-1).T

    def _transport(self, t: float, N: np.ndarray) -> np.ndarray:
        """Upwind advection, openings and Maxwell–Stefan diffusion [mol/s]."""
        conc = N / self.volume[:, None]
        upwind = np.where(self.flow[:, None] > 0, conc[..., self.tail, :], conc[..., self.head, :])
        along = self.flow[:, None] * upwind + self.area[:, None] * self.flux(N)
        gain = self.incidence @ along - self.outlet[:, None] * conc
        inlet = self.process.inlet
        return gain if inlet is None else gain + (self.inlet * self.c_air)[:, None] * _at(inlet, t)

    def flux(self, N: np.ndarray) -> np.ndarray:
        """J of every edge [mol/(m² s)]: one K × K linear system each, the carrier closes the sum."""
        total = N.sum(-1)
        x, c = N / total[..., None], total / self.volume
        x_tail, x_head = x[..., self.tail, :], x[..., self.head, :]
        mean, gradient = 0.5 * (x_tail + x_head), (x_head - x_tail) / self.length[:, None]
        c_edge = 0.5 * (c[..., self.tail] + c[..., self.head])
        R = self.friction
        with_carrier = R[:, 1:, 0]
        B = -mean[..., 1:, None] * (R[:, 1:, 1:] - with_carrier[..., None])
        i = np.arange(self.K)
        B[..., i, i] = mean[..., 1:] * with_carrier + (R @ mean[..., None])[..., 1:, 0]
        J = np.linalg.solve(B, -c_edge[..., None, None] * gradient[..., 1:, None])[..., 0]
        return np.concatenate([-J.sum(-1, keepdims=True), J], axis=-1)

    def _held(self, t: float, N: np.ndarray) -> np.ndarray:
        boundary = self.process.boundary
        if boundary is None:
            return N
        return np.where(self.fixed[:, None], (self.c_air * self.volume)[:, None] * _at(boundary, t), N)

    def _profile(self, t: float) -> np.ndarray:
        """ρ(t) [1/s], or 1 for a constant release."""
        profile = self.process.source.profile
        if hasattr(profile, "rates"):
            times, rates = _np(profile.times), _np(profile.rates)
            return np.array([np.interp(t, times, rate, left=0, right=0) for rate in rates.T])
        if not hasattr(profile, "tau_rise"):
            return np.full(self.K, float(t >= 0))
        rise, decay, t_max = _np(profile.tau_rise), _np(profile.tau_decay), float(profile.t_max)
        both = rise * decay / (rise + decay)
        integral = decay * (1 - np.exp(-t_max / decay)) - both * (1 - np.exp(-t_max / both))
        return -np.expm1(-t / rise) * np.exp(-t / decay) / integral

    def _transduce(self, r: np.ndarray) -> np.ndarray:
        g = self.process.readout.g
        match type(g).__name__:
            case "Linear":
                return r
            case "Logarithmic":
                return np.log(1 + _np(g.k) * r) / _np(g.k)
            case "PowerLaw":
                return (1 + _np(g.k) * r) ** _np(g.n) - 1
            case "Sips":
                k, n, r0 = _np(g.k), _np(g.n), _np(g.r0)
                return expit(n * np.log(k * (r + r0))) - expit(n * np.log(k * r0))
        raise SolveError(
            f"the reference does not implement {type(g).__name__}", where="readout.g", remedy="Use PowerLaw"
        )

    # ------------------------------------------------------------ the integration

    def tolerance(self, rtol: float) -> np.ndarray:
        """Absolute tolerances that go with `rtol`: a thousandth of each unknown's natural size.

        Odorants are measured against what the source would spread evenly over the chamber, so that traces count.
        """
        odorant = np.max(self.amount) * self.volume / self.volume.sum() + 1e-12 * self.c_air * self.volume
        N = np.repeat(odorant[:, None], self.S, axis=1)
        N[:, 0] = self.c_air * self.volume
        return 1e-3 * rtol * self.pack(N, np.ones((self.M, self.S)), np.ones(self.M))

    def solve(
        self, t_end: float, *, rtol: float = 1e-10, times: np.ndarray | None = None, start: np.ndarray | None = None
    ) -> Trajectory:
        """Integrate from t = 0 (clean air unless `start` is given) by Radau IIA of order five."""
        times = np.array([t_end]) if times is None else times
        u = self.clean_air() if start is None else start
        result = solve_ivp(
            self.rhs, (0.0, t_end), u, "Radau", times, vectorized=True, rtol=rtol, atol=self.tolerance(rtol)
        )
        if not result.success:
            raise SolveError(f"Radau stopped: {result.message}", where="reference", remedy="Loosen rtol")
        N, theta, y = self.unpack(result.y)
        N = np.stack([self._held(t, n) for t, n in zip(result.t, N, strict=True)])
        theta = np.concatenate([1 - theta.sum(-1, keepdims=True), theta], axis=-1)
        return Trajectory(result.t, N, theta, y, int(result.nfev))


def _np(a: Any) -> np.ndarray:
    return np.asarray(a, dtype=np.float64)


def _at(schedule: Any, t: float) -> np.ndarray:
    """A schedule at time t, (cell, species): piecewise linear through its knots, constant beyond them."""
    times, values = _np(schedule.times), _np(schedule.values).swapaxes(1, 2)
    if len(times) == 1:
        return values[0]
    k = int(np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2))
    part = np.clip((t - times[k]) / (times[k + 1] - times[k]), 0, 1)
    return (1 - part) * values[k] + part * values[k + 1]
