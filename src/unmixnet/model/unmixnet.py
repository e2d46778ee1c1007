r"""UnMixNet: (ẑ, â, Ψ̂, h_Y) = E(Y, e), then Ŷ = F(ẑ, â, Ψ̂, h_Y, e; G) by the solver.

Networks set the coefficients, operators advance the state. Every method is for ONE window, which `vmap` lifts; only
the solver takes many at once (`reconstruct_all`).
"""

import math
from collections.abc import Iterable, Sequence
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.batches import made_for_each
from unmixnet.model.diffusivity import D_MAX, Diffusivity
from unmixnet.model.encoder import Encoder, Inference, uninformed
from unmixnet.model.flow import Flow
from unmixnet.model.kinetics import Kinetics
from unmixnet.model.layers import N_CELL, cell_features, edge_features
from unmixnet.model.lifting import lift
from unmixnet.model.release import Release
from unmixnet.model.settings import Settings, shape_of
from unmixnet.model.transduction import Transduction
from unmixnet.physics.conditions import Conditions
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.rollout import Policy, Rollout, rollout
from unmixnet.physics.state import Process, Schedule, State, with_samples
from unmixnet.simulation.chamber import Chamber

__all__ = ["Solved", "UnMixNet"]


class Solved(eqx.Module):
    """A rollout with the coefficients and the start that it was made from; of many windows, samples last."""

    rollout: Rollout
    process: Process
    start: State

    @property
    def y(self) -> Float[Array, "n M *B"]:
        """The reconstructed trace, at the ends of the steps."""
        assert self.rollout.saved.y is not None, "every rollout of a model saves y"
        return self.rollout.saved.y


class UnMixNet(eqx.Module):
    """An inverse encoder and the networks that set the solver's coefficients.

    Arguments:
        species: embeddings r, carrier first, shape (K + 1, p).
        materials: embeddings of the sensors' materials, shape (M, p).
        settings, chamber: static.
    """

    encoder: Encoder
    species: Float[Array, "S p"]
    materials: Float[Array, "M p"]
    release: Release
    flow: Flow
    diffusivity: Diffusivity
    kinetics: Kinetics
    transduction: Transduction
    settings: Settings = eqx.field(static=True)
    chamber: Chamber = eqx.field(static=True)

    @classmethod
    def of(
        cls,
        settings: Settings,
        chamber: Chamber,
        K: int,
        *,
        air: Sequence[float] | None = None,
        sign: Sequence[float] | None = None,
        properties: np.ndarray | None = None,
        key: PRNGKeyArray,
    ) -> "UnMixNet":
        """Draw a model for the sensors of a chamber and K odorants.

        Arguments:
            air: signal of each sensor in clean air; zero if not given.
            sign: −1 for a sensor whose signal falls; +1 if not given.
            properties: what is known of the species (GC-MS, molecular properties), shape (K + 1, n); they give the
                embeddings their start.
        """
        M, keys = len(chamber.sensors), jax.random.split(key, 8)
        p = shape_of(settings.size).embedding
        return cls(
            Encoder.of(settings, M, keys[0]),
            _embeddings(K + 1, p, properties, keys[1]),
            jax.random.normal(keys[2], (M, p)),
            Release.of(settings, keys[3]),
            Flow.of(settings, keys[4]),
            Diffusivity.of(settings, keys[5]),
            Kinetics.of(settings, keys[6]),
            Transduction.of(
                settings,
                jnp.zeros(M) if air is None else jnp.asarray(air, float),
                (1.0,) * M if sign is None else tuple(map(float, sign)),
                keys[7],
            ),
            settings,
            chamber,
        )

    def __call__(
        self, Y: Float[Array, "T M"], e: Float[Array, " 2"] | None = None, *, key: PRNGKeyArray | None = None
    ) -> Inference:
        """What the encoder infers from a window; e = (warmth, moisture), zero when unknown.

        The embeddings belong to the physics: the encoder uses them without passing gradients to them, whose noise the
        coefficients would follow.
        """
        r, mat = jax.lax.stop_gradient((self.species[1:], self.materials))
        return self.encoder(Y, r, mat, _known(e, Y.dtype), key=key)

    @property
    def sensor_count(self) -> int:
        """Sensors that a window has."""
        return self.materials.shape[0]

    def uninformed(self) -> Inference:
        """The inference without a trace; its coefficients are the global ones."""
        return uninformed(self.species.shape[0] - 1, self.sensor_count, shape_of(self.settings.size).width)

    def process(
        self,
        inference: Inference,
        shares: Float[Array, " K"],
        e: Float[Array, " 2"] | None = None,
        *,
        duration_s: float,
    ) -> Process:
        """The coefficients of one sample, for given shares ẑ â."""
        settings, chamber, h_Y = self.settings, self.chamber, inference.h_Y
        e = _known(e, shares.dtype)
        r, r_i = self.species, self.species[1:]
        conditions = Conditions(298.15 + e[0], 10.0 * jnp.exp(e[1]), jnp.asarray(101325.0, shares.dtype))
        air = np.zeros((1, r.shape[0], len(chamber.cells)))
        air[:, 0] = 1
        return Process(
            source=self.release(
                shares,
                inference.log_strength,
                r_i,
                h_Y,
                self.source_place(inference),
                flow_m3_s=draught(chamber),
                duration_s=duration_s,
                constant=settings.release == "constant",
            ),
            flow=self._flow(h_Y),
            diffusion=self.diffusivity(r, jnp.asarray(edge_features(chamber)), h_Y, settings),
            wall=None,
            surface=self.kinetics(r_i, self.materials, e, h_Y),
            readout=self.transduction(r_i, self.materials, inference.h_m),
            conditions=conditions,
            inlet=Schedule(jnp.zeros(1, shares.dtype), jnp.asarray(air, shares.dtype)),
        )

    def source_place(self, inference: Inference) -> Float[Array, " V"]:
        """p_src: the chamber's source cells, or inferred from h_Y."""
        if self.settings.source == "inferred":
            return self.release.inferred_place(jnp.asarray(cell_features(self.chamber)), inference.h_Y)
        place = np.zeros(len(self.chamber.cells))
        place[self.chamber.cells_of("source")] = 1
        return jnp.asarray(place / place.sum(), inference.h_Y.dtype)

    def reconstruct(
        self,
        inference: Inference,
        first: Float[Array, " M"] | None,
        T: int,
        e: Float[Array, " 2"] | None = None,
        *,
        shares: Float[Array, " K"] | None = None,
        save: Iterable[str] = ("y",),
    ) -> "Solved":
        """Solve forward over a window of T samples from the inferred mixture (or from given shares).

        Of the measured trace only the first sample enters; without it the sensors start settled.
        """
        process, start = self._begin(inference, first, e, shares, self._steps(T))
        return self._solved(process, self.chamber.geometry(), start, T, save)

    def reconstruct_all(
        self,
        inference: Inference,
        first: Float[Array, "B M"] | None,
        T: int,
        *,
        shares: Float[Array, "B K"] | None = None,
        save: Iterable[str] = ("y",),
    ) -> "Solved":
        """Solve forward over many windows at once; arrays of the result have a last axis of samples.

        Fields of the inference that the windows share need no first axis of samples.
        """
        alone = jax.eval_shape(self.uninformed)
        own = jax.tree.map(lambda leaf, one: 0 if leaf.ndim > one.ndim else None, inference, alone)
        axes = (own, None if first is None else 0, None, None if shares is None else 0)
        begin = partial(self._begin, steps=self._steps(T))
        process, start = made_for_each(begin, inference, first, None, shares, in_axes=axes)
        return self._solved(process, with_samples(self.chamber.geometry()), start, T, save)

    def _begin(
        self,
        inference: Inference,
        first: Float[Array, " M"] | None,
        e: Float[Array, " 2"] | None,
        shares: Float[Array, " K"] | None,
        steps: int,
    ) -> tuple[Process, State]:
        """Coefficients and start of one window."""
        settings, seconds = self.settings, steps * self.settings.step_s
        process = self.process(
            inference, inference.z * inference.a if shares is None else shares, e, duration_s=seconds
        )
        exposure = {"clean air": None, "exposed": 1.0, "inferred": inference.exposure}[settings.start]
        c = None if exposure is None else exposure * self._steady_concentration(process, seconds)
        return process, lift(process, self.chamber.geometry(), first, c)

    def _solved(self, process: Process, geometry: Geometry, start: State, T: int, save: Iterable[str]) -> "Solved":
        dt = jnp.asarray(self.settings.step_s, start.N.dtype)
        run = rollout(process, geometry, start, dt, self._steps(T), save=save, policy=self.policy())
        return Solved(run, process, start)

    def _steps(self, T: int) -> int:
        """Solver steps within a window."""
        return (T - 1) // self.settings.stride

    def _steady_concentration(self, process: Process, duration_s: float) -> Float[Array, " K"]:
        """q_i / Q [mol/m³]: release rate over the draught, as it was learned."""
        rate = process.source.amount / (1 if self.settings.release == "constant" else duration_s)
        flow = jnp.sum(process.flow.inlet_flow)
        return rate / jnp.where(flow > 0, flow, draught(self.chamber))

    def observed(self, Y: Float[Array, "T M *B"]) -> Float[Array, "n M *B"]:
        """The samples at the ends of the solver's steps, which a reconstruction is compared with."""
        stride = self.settings.stride
        return Y[stride : self._steps(Y.shape[0]) * stride + 1 : stride]

    def policy(self) -> Policy:
        """Substeps, or stages, that stay stable for every coefficient the networks can set."""
        step = self.settings.step_s
        faster = math.exp(1 + self.settings.modulation)
        advection = self.chamber.cfl(step) * min(faster, 2.0)
        most = D_MAX * math.exp(self.settings.modulation * (2 if self.settings.edgewise else 1))
        diffusion = self.chamber.diffusion_number(step, most)
        if self.settings.scheme == "second order":
            # with limited slopes an edge may carry twice the mean of the cell behind it
            return Policy(order=2, stages=1 + max(1, math.ceil(2 * advection + diffusion - 1e-9)))
        return Policy(max(1, math.ceil(advection - 1e-9)), max(1, math.ceil(diffusion - 1e-9)), order=1)

    def _flow(self, h_Y: Float[Array, " d"]):
        chamber = self.chamber.velocities()
        if self.settings.flow == "velocities":
            return self.flow.velocities(chamber, h_Y)
        forward = edge_features(self.chamber)
        swapped = [*range(N_CELL, 2 * N_CELL), *range(N_CELL), 2 * N_CELL, 2 * N_CELL + 1, 2 * N_CELL + 2]
        backward = forward[:, swapped] * np.where(np.arange(forward.shape[1]) == 2 * N_CELL + 2, -1, 1)
        cells = jnp.asarray(cell_features(self.chamber))
        return self.flow.scores(chamber, jnp.asarray(forward), jnp.asarray(backward, jnp.float32), cells, self.species)


def draught(chamber: Chamber) -> float:
    """Flow through the chamber [m³/s]; 1 ml/s where there is none, only to scale the release."""
    total = sum(cell.inlet_m3_s for cell in chamber.cells)
    return total if total > 0 else 1e-6


def _known(e: Float[Array, " 2"] | None, dtype) -> Float[Array, " 2"]:
    return jnp.zeros(2, dtype) if e is None else e


def _embeddings(S: int, p: int, properties: np.ndarray | None, key: PRNGKeyArray) -> Float[Array, "S p"]:
    """Random embeddings; with properties, random combinations of them and a little noise."""
    a, b = jax.random.split(key)
    noise = jax.random.normal(a, (S, p))
    if properties is None:
        return noise
    known = np.asarray(properties, float)
    known = (known - known.mean(axis=0)) / np.maximum(known.std(axis=0), 1e-9)
    mixed = jnp.asarray(known, float) @ jax.random.normal(b, (known.shape[1], p)) / math.sqrt(known.shape[1])
    return mixed + 0.3 * noise
