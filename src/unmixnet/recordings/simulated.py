"""The `simulated` data sets: recordings made by the solver, always available, with the truth known.

Twelve foods, each standing for its best-known volatile, are released into the hand-held e-nose, pure and in recipes of
two or three; four (or eight) made-up MOX sensors answer in log-conductance, read through a 10-bit divider with the
noise of a real board. A recording starts in clean air and lasts a minute. Every session has its own sensor gains and
offsets, every recording its own strength. Pairs held out of training, and triples, make the unseen split. One seed
fixes everything.
"""

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.recordings.dataset import Dataset, Entry
from unmixnet.recordings.recording import ChannelHealth, Mixture, Recording
from unmixnet.simulation.simulated_nose import FOODS, RATE_HZ, ROWS, VOLATILES, Setting, World, solve, true_process

__all__ = [
    "CLEAN_AIR",
    "FULL_SCALE_COUNTS",
    "GAIN_SD",
    "HIGH_COUPLING",
    "NOISE_COUNTS",
    "OFFSET_SD",
    "STRENGTH_SD",
    "TYPICAL_MOL",
    "VOLATILES",
    "Drift",
    "Plan",
    "Setting",
    "drift",
    "high_coupling_dataset",
    "is_simulated",
    "noise_counts",
    "plan_of",
    "setting_of",
    "shares",
    "simulated_dataset",
    "true_process",
]

FULL_SCALE_COUNTS = 1023
NOISE_COUNTS = (0.42, 0.43, 0.45, 0.55)
"""White noise before rounding, sd in counts; a fifth sensor takes the first's.

Of the four channels of SmellNet's mixtures: first differences over √2 have, in the median of the 404 measured training
recordings' first minutes, sd 0.51 (NO2), 0.52 (C2H5OH), 0.53 (VOC), 0.62 (CO), less 1/12 for rounding. The differences
have an autocorrelation of −0.49, so the noise is white.
"""
CLEAN_AIR = -1.5
"""Logit of the counts in clean air, at offset zero."""
STRENGTH_SD, GAIN_SD, OFFSET_SD = FOODS.strength_sd, 0.1, 0.15
"""sd of log strength (each recording of foods), of log gain and of the offset in logits (each session and sensor)."""


@dataclass(frozen=True)
class Plan:
    """What is recorded: one row per recording."""

    paths: tuple[str, ...]
    splits: tuple[str, ...]
    labels: tuple[Mixture, ...]
    sessions: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Drift:
    """How the sensors of each session depart from their readout y: gain · y + offset, arrays (session, sensor)."""

    gain: np.ndarray
    offset: np.ndarray


@dataclass(frozen=True)
class _Reader:
    """Reads recordings of one setting; the traces are solved when the first is read."""

    setting: Setting

    def __call__(self, _: Dataset, entry: Entry) -> Recording:
        setting = self.setting
        counts = _counts(setting)[plan_of(setting).paths.index(entry.path)]
        return Recording(
            time_s=np.arange(ROWS) / RATE_HZ,
            readings=counts.astype(float),
            channels=tuple(sensor.name for sensor in setting.chamber.sensors),
            units=("counts",) * setting.sensors,
            sample_rate_Hz=RATE_HZ,
            device="simulated hand-held e-nose",
            path=entry.path,
            label=entry.label,
            health=(ChannelHealth.OK,) * setting.sensors,
        )


def simulated_dataset(*, sensors: int = 4, sessions: int = 6, seed: int = 0, world: World = FOODS) -> Dataset:
    """The data set; the traces are solved when the first recording is read."""
    setting = Setting(sensors, sessions, seed, world)
    plan = plan_of(setting)
    rows = zip(plan.paths, plan.splits, plan.labels, plan.sessions, strict=True)
    entries = tuple(Entry(path, split, label, f"session{session}") for path, split, label, session in rows)
    name = world.name if sensors == 4 else f"{world.name}-{sensors}"
    return Dataset(name, Path(name), entries, setting.components, _Reader(setting))


def is_simulated(data: Dataset) -> bool:
    """Whether the recordings of a data set come from the solver, and none from a file."""
    return isinstance(data.reader, _Reader)


def setting_of(data: Dataset | Setting) -> Setting:
    """The setting that a simulated data set was made with."""
    if isinstance(data, Setting):
        return data
    if not isinstance(data.reader, _Reader):
        raise ConfigError(
            f"the truth behind {data.name} is not known",
            where=str(data.root),
            remedy="Use load('simulated') or load('simulated-8')",
        )
    return data.reader.setting


@cache
def plan_of(setting: Setting) -> Plan:
    """Pure substances and seen pairs in every session (the last only for testing), unseen pairs and triples apart."""
    sessions, rng = setting.sessions, np.random.default_rng([setting.seed, 1])
    components, seen, unseen = setting.components, setting.world.seen, setting.world.unseen
    pairs = list(combinations(components, 2))
    chosen = [pairs[i] for i in rng.permutation(len(pairs))[: seen + unseen]]
    triples = [tuple(rng.permutation(components)[:3].tolist()) for _ in range(unseen)]
    rows: list[tuple[str, Mixture, int]] = []
    for session in range(sessions):
        split = "test_seen" if session == sessions - 1 else "training"
        rows += [(split, Mixture.from_parts([name], [100.0]), session) for name in components]
        for k, pair in enumerate(chosen[:seen]):
            share = (20.0, 50.0, 80.0)[(session + k) % 3]
            rows.append((split, Mixture.from_parts(pair, [share, 100 - share]), session))
    for k, support in enumerate([*chosen[seen:], *triples]):
        parts = (50.0, 50.0) if len(support) == 2 else (33.0, 33.0, 34.0)
        label = Mixture.from_parts(support, parts)
        rows += [("test_unseen", label, (k + again) % sessions) for again in range(setting.world.repeats)]
    paths = [f"{split}/{_recipe(label)}.s{session}" for split, label, session in rows]
    splits, labels, when = zip(*rows, strict=True)
    return Plan(tuple(paths), splits, labels, when)


def _recipe(label: Mixture) -> str:
    shares = zip(label.names, label.ratios, strict=True)
    return "_".join(f"{name}{round(100 * ratio)}" for name, ratio in shares)


def shares(setting: Setting) -> np.ndarray:
    """Strength times ratios of every recording, (recording, K): the factors on the pure amounts."""
    plan, rng = plan_of(setting), np.random.default_rng([setting.seed, 2])
    ratios = np.array([label.vector(setting.components) for label in plan.labels])
    return np.exp(rng.normal(0, setting.world.strength_sd, len(ratios)))[:, None] * ratios


def drift(setting: Setting) -> Drift:
    """Gains and offsets of every session; a sensor drifts the same however many there are beside it."""
    draws = [np.random.default_rng([setting.seed, 5, m]) for m in range(setting.sensors)]
    gain = np.stack([np.exp(rng.normal(0, GAIN_SD, setting.sessions)) for rng in draws], axis=1)
    return Drift(gain, np.stack([rng.normal(0, OFFSET_SD, setting.sessions) for rng in draws], axis=1))


def noise_counts(sensors: int) -> np.ndarray:
    """sd of each sensor's white noise before rounding [counts]."""
    return np.resize(NOISE_COUNTS, sensors)


@cache
def _counts(setting: Setting) -> np.ndarray:
    """Converter counts of all recordings, (recording, row, sensor).

    Row 0 is read in clean air, row n after n steps.
    """
    y, when, moved = solve(setting, shares(setting)).y, list(plan_of(setting).sessions), drift(setting)
    assert y is not None
    y = np.concatenate([np.zeros_like(y[:, :1]), y[:, :-1]], axis=1)
    level = moved.gain[when][:, None] * y + moved.offset[when][:, None] + CLEAN_AIR
    draws = [np.random.default_rng([setting.seed, 6, m]) for m in range(setting.sensors)]
    white = np.stack([rng.normal(size=y.shape[:2]) for rng in draws], axis=2) * noise_counts(setting.sensors)
    return np.clip(np.round(FULL_SCALE_COUNTS / (1 + np.exp(-level)) + white), 0, FULL_SCALE_COUNTS)


TYPICAL_MOL = 1e-3
"""Order of what is released [mol], 25 ml of gas: what a model may know beforehand."""
_GASES = ("hydrogen", "methane", "ammonia", "acetaldehyde", "isobutane", "isoprene")
_AMOUNT_MOL = 1.2e-3
HIGH_COUPLING = World(
    "high-coupling",
    tuple((name, name) for name in _GASES),
    amount_mol=_AMOUNT_MOL,
    k_ads=FOODS.k_ads * FOODS.amount_mol / _AMOUNT_MOL,
    strength_sd=0.25,
    seen=9,
    unseen=6,
    repeats=3,
    substeps=2,
    flow_m3_s=2e-7,
)
"""Every gas of it can be at half an atmosphere at room temperature."""


def high_coupling_dataset() -> Dataset:
    """The data set; the traces are solved when the first recording is read."""
    return simulated_dataset(world=HIGH_COUPLING)
