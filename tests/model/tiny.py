"""A small UnMixNet with random numbers everywhere, and windows for it; shared by the tests of model and training."""

import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from unmixnet.model.encoder import Inference
from unmixnet.model.settings import Settings, shape_of
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.simulation.builders import portable_enose
from unmixnet.simulation.chamber import Chamber

R = TypeVar("R")
QUICK: dict[str, Any] = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
T, M, K = 12, 2, 3
SETTINGS = Settings(rate_Hz=2.0, step_s=1.0, patch_s=2.0)
CHAMBER = portable_enose(sensors=("rising", "falling"))
SIGN = (1.0, -1.0)


def quick_jit(function: Callable[..., R]) -> Callable[..., R]:
    """Compile without optimisation, which does not pay for a program that runs a few times."""
    return eqx.filter_jit(function, compiler_options=QUICK)


def shapes(settings: Settings, chamber: Chamber = CHAMBER, K: int = K) -> UnMixNet:
    """A model with shapes in place of numbers."""
    sign = SIGN if len(chamber.sensors) == len(SIGN) else None
    return eqx.filter_eval_shape(lambda key: UnMixNet.of(settings, chamber, K, sign=sign, key=key), jax.random.key(0))


def filled(shape, seed: int = 0, size: float = 1.0):
    """Random numbers for shapes, by NumPy: in JAX each shape is a program. Layers that start at zero get some too.

    Every tensor draws by its own name, so that one more layer somewhere changes no other number.
    """

    def fill(path, leaf):
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        rng = np.random.default_rng([seed, zlib.crc32(jax.tree_util.keystr(path).encode())])
        spread = 0.7 * leaf.shape[-1] ** -0.5 if len(leaf.shape) > 1 else 0.3
        return jnp.asarray(size * rng.normal(0, spread, leaf.shape))

    return jax.tree_util.tree_map_with_path(fill, shape)


def model(seed: int = 0, size: float = 1.0, **settings) -> UnMixNet:
    """The tiny model with some settings of its own."""
    return filled(shapes(replace(SETTINGS, **settings)), seed, size)


@cache
def windows(B: int = 4, seed: int = 0) -> jax.Array:
    """Smooth, drifting windows."""
    steps = np.random.default_rng(seed).normal(size=(B, T, M))
    return jnp.asarray(0.3 * np.cumsum(steps, axis=1) + 0.5)


def ratios(B: int = 4, seed: int = 0) -> jax.Array:
    """Ratios on the simplex."""
    return jnp.asarray(np.random.default_rng(seed).dirichlet(np.ones(K), B))


def inference(seed: int = 0, size: float = 1.0) -> Inference:
    """What an encoder might have read."""
    rng, width = np.random.default_rng(seed), shape_of(SETTINGS.size).width
    return Inference(
        jnp.asarray(rng.normal(size=K)),
        jnp.asarray(rng.dirichlet(np.ones(K))),
        jnp.asarray(size * rng.normal(size=width)),
        jnp.asarray(size * rng.normal(size=(M, width))),
        jnp.asarray(0.2 * rng.normal()),
        jnp.asarray(0.5),
    )


def finite(tree) -> bool:
    """Whether every number of a tree is finite."""
    return all(bool(np.all(np.isfinite(leaf))) for leaf in jax.tree.leaves(tree) if eqx.is_inexact_array(leaf))


def largest(tree) -> float:
    """Largest size of a number in a tree."""
    return max((float(np.max(np.abs(leaf))) for leaf in jax.tree.leaves(tree) if eqx.is_inexact_array(leaf)), default=0)
