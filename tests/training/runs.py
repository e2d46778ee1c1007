"""Small training runs that several test files share."""

import copy
import hashlib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from unmixnet.model.baselines import BASELINES
from unmixnet.training.epoch import Arrays, EpochReport, TrainingPlan

T, M, K = 12, 2, 3
PLAN = TrainingPlan(epochs=4, patience=10, batch=2, rate=1e-3)


def arrays(n: int = 4, v: int = 2, dtype=np.float32, seed: int = 0) -> Arrays:
    """Recordings of 20 rows, and validation windows, two of each recording."""
    rng = np.random.default_rng(seed)

    def smooth(count: int, rows: int) -> np.ndarray:
        return (0.3 * np.cumsum(rng.normal(size=(count, rows, M)), axis=1)).astype(dtype)

    def simplex(count: int) -> np.ndarray:
        return rng.dirichlet(np.ones(K), count).astype(dtype)

    return Arrays(
        traces=jnp.asarray(smooth(n, 20)),
        lengths=jnp.asarray(np.full(n, 20, np.int32)),
        targets=jnp.asarray(simplex(n)),
        windows=jnp.asarray(smooth(2 * v, T)),
        owner=jnp.asarray(np.repeat(np.arange(v), 2).astype(np.int32)),
        truth=jnp.asarray(simplex(v)),
        air=jnp.asarray(np.full(M, -2, dtype)),
        sd=jnp.asarray(np.ones(M, dtype)),
        sign=jnp.asarray(np.array([1, -1], dtype)),
        session=jnp.asarray(np.zeros(n, np.int32)),
    )


def mlp():
    """A baseline, which compiles quickly."""
    return BASELINES["mlp"].of(T, M, K, size="small", key=jax.random.key(0))


def with_values(module, **values):
    """A frozen module with other, possibly traced, values in its static fields: one program for all of them."""
    module = copy.copy(module)
    for name, value in values.items():
        object.__setattr__(module, name, value)
    return module


def fingerprint(tree) -> str:
    """Hash of every bit of every array in a tree."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(tree):
        if isinstance(leaf, (jax.Array, np.ndarray)):
            digest.update(np.asarray(leaf).tobytes())
    return digest.hexdigest()


class Scripted:
    """An epoch that only counts: its validation scores are given, its weights are the number of the epoch."""

    def __init__(self, scores: list[float]) -> None:
        self.scores, self.calls = scores, 0

    def __call__(self, state, arrays, seed) -> Any:
        done = int(state.epoch) + 1
        self.calls += 1
        score = self.scores[done - 1]
        better = score < float(state.best_score)
        row = jnp.full_like(state.params, done)
        new = copy.copy(state)
        values = {
            "params": row,
            "ema": row,
            "best": row if better else state.best,
            "best_score": jnp.asarray(score if better else state.best_score, state.best_score.dtype),
            "best_epoch": jnp.asarray(done if better else state.best_epoch, jnp.int32),
            "epoch": jnp.asarray(done, jnp.int32),
        }
        return with_values(new, **values), EpochReport({"mix": 1.0}, 1.0, score, -1, np.zeros(row.shape, bool))


def lines(folder: Path) -> list[str]:
    """The log of a run."""
    return (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
