"""A made-up source, engine and model: the server must not depend on their values."""

import asyncio
import math
import time
from types import SimpleNamespace

from unmixnet.live.sample import Sample, SourceEvent

CHANNELS = ("MOX1", "MOX2", "MOX3", "MOX4")
COMPONENTS = ("mango", "strawberry", "clove", "garlic")
CELLS = ("headspace", "inlet", "board 1", "board 2", "outlet")
EDGES = ("headspace → inlet", "inlet → board 1", "inlet → board 2", "board 1 → outlet", "board 2 → outlet")


class MadeUpSource:
    """Slow waves at `rate_Hz`; remembers what was released."""

    name, unit, components = "made-up board", "counts", COMPONENTS

    def __init__(self, channels: tuple[str, ...] = CHANNELS, *, rate_Hz: float = 20.0, speed: float = 1.0) -> None:
        self.channels, self.rate_Hz, self.speed = channels, rate_Hz, speed
        self.released: list[dict[str, float]] = []
        self.time_s = self.begun_s = 0.0

    def release(self, parts: dict[str, float]) -> None:
        self.released.append(parts)

    def air(self) -> None:
        self.released.append({})

    async def release_after_recovery(self, parts: dict[str, float] | None) -> float:
        self.released.append(parts or {})
        self.begun_s = self.time_s
        return self.begun_s

    async def stream(self):
        yield SourceEvent("connected", "The made-up board answers.")
        row, began = 0, time.monotonic()
        while True:
            t = self.time_s = row / self.rate_Hz
            yield Sample(t, tuple(400 + 30 * m + 40 * math.sin(t / 7 + m) for m in range(len(self.channels))))
            row += 1
            await asyncio.sleep(max(0.0, began + row / (self.rate_Hz * self.speed) - time.monotonic()))


class MadeUpEngine:
    """An estimate each second, made up."""

    def start(self) -> float:
        return 0.0

    def clean_air(self, state: float) -> float:
        return state

    def step(self, sample: Sample, state: float):
        if sample.time_s < state:
            return None, state
        return SimpleNamespace(to_json=lambda: estimate(sample.time_s)), sample.time_s + 1


def estimate(time_s: float) -> dict:
    share = 0.5 + 0.3 * math.sin(time_s / 20)
    ratios = [share, 0.9 - share, 0.06, 0.04]
    return {
        "time_s": time_s,
        "status": "mixture",
        "ratios": ratios,
        "low": [max(0, r - 0.1) for r in ratios],
        "high": [min(1, r + 0.1) for r in ratios],
        "presence": [0.9, 0.9, 0.1, 0.1],
        "strength": 1.1,
        "background": 0.1,
        "novelty": 0.4,
        "residual": 0.12,
        "reconstructed": {"time_s": [time_s - 1, time_s], "values": [[400, 430, 460, 490], [401, 431, 461, 491]]},
        "states": {
            "cells": list(CELLS),
            "edges": list(EDGES),
            "seats": ["board 1", "board 1", "board 2", "board 2"],
            "concentration_ppm": [9, 5, 3, 3, 2],
            "flux_mol_m2_s": [3e-6, 2e-6, 1e-6, 1e-6, 5e-7],
            "coverage": [0.3, 0.5, 0.2, 0.4],
        },
        "closure": {"flux_residual": 1e-7, "mass_error": 2e-7, "simplex_error": 1e-7, "flux_sum": 3e-8},
        "drift": [0.1, 0.2, 0.1, 0.3],
        "words": ["Mostly mango (62 %), with some strawberry (30 %)", "As strong as a typical training recording."],
    }


def bundle(components: tuple[str, ...] = COMPONENTS, channels: tuple[str, ...] = CHANNELS) -> SimpleNamespace:
    """A model that no recording can be unmixed with."""
    return SimpleNamespace(
        name="made up",
        components=components,
        preprocessing=SimpleNamespace(channels=channels),
        digest="0" * 64,
        has_solver=False,
        spec=SimpleNamespace(network="made up", window_s=59.5),
    )


def make_engine(*_: object) -> MadeUpEngine:
    return MadeUpEngine()
