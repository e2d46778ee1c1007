"""The `simulated` data set: recordings made by the solver, always available, with the truth known.

Twelve foods, each standing for its best-known volatile, are released into the hand-held e-nose, pure and in recipes of
two or three; four (or more) made-up MOX sensors answer in log-conductance, read through a 10-bit divider with the noise
of a real board. Every session has its own sensor gains and offsets. Pairs held out of training, and triples, make the
unseen split. One seed fixes everything.
"""

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unmixnet.data.datasets import Dataset, Entry
from unmixnet.data.labels import COMPONENTS
from unmixnet.data.recording import ChannelHealth, Mixture, Recording

if TYPE_CHECKING:
    from unmixnet.physics.state import Process

__all__ = ["VOLATILES", "Plan", "simulated_dataset"]

VOLATILES = {
    "banana": "isoamyl acetate",
    "orange": "limonene",
    "pear": "hexyl acetate",
    "apple": "ethyl butyrate",
    "mango": "myrcene",
    "peach": "gamma-decalactone",
    "strawberry": "ethyl acetate",
    "clove": "eugenol",
    "coriander": "linalool",
    "garlic": "diallyl disulfide",
    "almond": "benzaldehyde",
    "cumin": "cuminaldehyde",
}
"""The volatile that each food stands for."""

_RATE_HZ, _ROWS = 10.0, 600
_COUNTS, _NOISE_COUNTS = 1023, 1.0
_SEEN, _UNSEEN = 24, 12
"""Pairs of foods in training, and pairs held out."""


@dataclass(frozen=True)
class Plan:
    """What is recorded: one row per recording."""

    paths: tuple[str, ...]
    splits: tuple[str, ...]
    labels: tuple[Mixture, ...]
    sessions: tuple[int, ...]


def simulated_dataset(*, sensors: int = 4, sessions: int = 6, seed: int = 0) -> Dataset:
    """The data set; the traces are solved when the first recording is read."""
    plan = _plan(sessions, seed)
    rows = zip(plan.paths, plan.splits, plan.labels, plan.sessions, strict=True)
    entries = tuple(Entry(path, split, label, f"session{session}") for path, split, label, session in rows)

    def read(_: Dataset, entry: Entry) -> Recording:
        counts = _counts(sensors, sessions, seed)[plan.paths.index(entry.path)]
        return Recording(
            time_s=np.arange(_ROWS) / _RATE_HZ,
            readings=counts.astype(float),
            channels=tuple(f"MOX{m + 1}" for m in range(sensors)),
            units=("counts",) * sensors,
            sample_rate_Hz=_RATE_HZ,
            device="simulated hand-held e-nose",
            path=entry.path,
            label=entry.label,
            health=(ChannelHealth.OK,) * sensors,
        )

    return Dataset("simulated", Path("simulated"), entries, COMPONENTS, read)


@cache
def _plan(sessions: int, seed: int) -> Plan:
    """Pure foods and seen pairs in every session (the last one only for testing), unseen pairs and triples apart."""
    rng = np.random.default_rng([seed, 1])
    pairs = list(combinations(COMPONENTS, 2))
    chosen = [pairs[i] for i in rng.permutation(len(pairs))[: _SEEN + _UNSEEN]]
    triples = [tuple(rng.permutation(COMPONENTS)[:3].tolist()) for _ in range(_UNSEEN)]
    rows: list[tuple[str, Mixture, int]] = []
    for session in range(sessions):
        split = "test_seen" if session == sessions - 1 else "training"
        rows += [(split, Mixture.from_parts([food], [100.0]), session) for food in COMPONENTS]
        for k, pair in enumerate(chosen[:_SEEN]):
            share = (20.0, 50.0, 80.0)[(session + k) % 3]
            rows.append((split, Mixture.from_parts(pair, [share, 100 - share]), session))
    for k, support in enumerate([*chosen[_SEEN:], *triples]):
        parts = (50.0, 50.0) if len(support) == 2 else (33.0, 33.0, 34.0)
        rows.append(("test_unseen", Mixture.from_parts(support, parts), k % sessions))
    paths = [f"{split}/{_recipe(label)}.s{session}" for split, label, session in rows]
    splits, labels, when = zip(*rows, strict=True)
    return Plan(tuple(paths), splits, labels, when)


def _recipe(label: Mixture) -> str:
    shares = zip(label.names, label.ratios, strict=True)
    return "_".join(f"{name}{round(100 * ratio)}" for name, ratio in shares)


@cache
def _counts(sensors: int, sessions: int, seed: int) -> np.ndarray:
    """Converter counts of all recordings, (recording, row, sensor)."""
    plan, rng = _plan(sessions, seed), np.random.default_rng([seed, 2])
    ratios = np.array([label.vector(COMPONENTS) for label in plan.labels])
    strength = np.exp(rng.normal(0, 0.2, len(plan.paths)))
    y = _solve(sensors, seed, strength[:, None] * ratios)
    gain = np.exp(rng.normal(0, 0.1, (sessions, 1, sensors)))[list(plan.sessions)]
    offset = rng.normal(0, 0.15, (sessions, 1, sensors))[list(plan.sessions)]
    counts = _COUNTS / (1 + np.exp(-(gain * y + offset - 1.5))) + rng.normal(0, _NOISE_COUNTS, y.shape)
    return np.clip(np.round(counts), 0, _COUNTS)


def _solve(sensors: int, seed: int, ratios: np.ndarray) -> np.ndarray:
    """Log-conductance of every recording by the solver, 32 at a time, (recording, row, sensor)."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from unmixnet.builders import portable_enose
    from unmixnet.physics.rollout import rollout
    from unmixnet.physics.state import clean_air

    chamber = portable_enose(sensors=tuple(f"MOX{m + 1}" for m in range(sensors)))
    with jax.enable_x64(False):
        geometry, process = chamber.geometry(), _process(chamber, sensors, seed)

        @jax.jit
        @jax.vmap
        def traces(shares):
            this = eqx.tree_at(lambda p: p.source.amount, process, process.source.amount * shares)
            return rollout(this, geometry, clean_air(this, geometry), jnp.asarray(1 / _RATE_HZ), _ROWS).saved.y

        padded = np.resize(ratios, (-(-len(ratios) // 32) * 32, ratios.shape[1]))
        batches = [np.asarray(traces(jnp.asarray(batch, float))) for batch in np.split(padded, len(padded) // 32)]
    return np.concatenate(batches)[: len(ratios)].astype(float)


def _process(chamber: Any, sensors: int, seed: int) -> "Process":
    """Diffusivities of the twelve volatiles; sensors whose selectivities overlap, as those of MOX sensors do."""
    import jax.numpy as jnp

    from unmixnet.physics.adsorption import Surface
    from unmixnet.physics.conditions import Conditions
    from unmixnet.physics.maxwell_stefan import MaxwellStefan
    from unmixnet.physics.readout import Logarithmic, Readout
    from unmixnet.physics.source import RiseDecay, Source
    from unmixnet.physics.species import fuller_diffusivity, species
    from unmixnet.physics.state import Process, Schedule

    rng, K, V = np.random.default_rng([seed, 3]), len(COMPONENTS), len(chamber.cells)
    rows = [species("air"), *(species(VOLATILES[food]) for food in COMPONENTS)]
    conditions = Conditions.of()

    def array(value: Any) -> Any:
        return jnp.asarray(np.asarray(value), float)

    masses, volumes = array([row.molar_mass_g_mol for row in rows]), array([row.diffusion_volume for row in rows])
    D = fuller_diffusivity(masses, volumes, conditions.temperature, conditions.pressure)
    air = np.zeros((1, V, K + 1))
    air[..., 0] = 1
    p_src = np.zeros(V)
    p_src[chamber.cells_of("source")] = 1
    tau = rng.uniform(2, 6, sensors)
    return Process(
        source=Source(
            array(4e-7 * np.exp(rng.normal(0, 0.3, K))),
            RiseDecay(array(rng.uniform(2, 12, K)), array(rng.uniform(30, 120, K)), array(_ROWS / _RATE_HZ)),
            array(p_src),
            array(np.zeros(K)),
            array(np.zeros(K)),
        ),
        flow=chamber.velocities(),
        diffusion=MaxwellStefan(D, array(np.ones(len(chamber.edges)))),
        wall=None,
        surface=Surface(
            array(60 * np.exp(rng.normal(0, 0.8, (sensors, K)))),
            array(0.1 * np.exp(rng.normal(0, 0.6, (sensors, K)))),
            array(np.full(sensors, 1e-10)),
        ),
        readout=Readout(
            beta=array(np.exp(rng.normal(0, 0.5, (sensors, K)))),
            g=Logarithmic(array(np.full(sensors, 3.0))),
            gain=array(np.full(sensors, 4.0)),
            sign=array(np.ones(sensors)),
            baseline=array(np.zeros(sensors)),
            tau_rise=array(tau),
            tau_recovery=array(4 * tau),
            baseline_slopes=array(np.zeros((sensors, 2))),
            gain_slopes=array(np.zeros((sensors, 2))),
        ),
        conditions=conditions,
        inlet=Schedule(array([0.0]), array(air)),
    )
