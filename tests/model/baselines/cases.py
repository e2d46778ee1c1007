"""Small models and windows that several test files share; each is built and compiled once."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.baselines import BASELINES, Baseline, Output, Size

R = TypeVar("R")
NAMES = list(BASELINES)
T, M, K, BATCH = 60, 4, 12, 3


def quick_jit(function: Callable[..., R]) -> Callable[..., R]:
    """Compile without optimisation, which does not pay for a program that runs once or twice."""
    options: dict[str, Any] = {"compiler_options": {"xla_backend_optimization_level": 0}}
    return eqx.filter_jit(function, **options)


@cache
def model(name: str) -> Baseline:
    """Return a small model with random numbers everywhere, as some parameters start at zero and hide others there.

    The numbers are drawn by NumPy: drawing them in JAX would compile a small program for every shape.
    """
    rng = np.random.default_rng(0)

    def fill(leaf):
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        matrix = len(leaf.shape) > 1
        mean, deviation = (0, 0.7 * (leaf.size // leaf.shape[0]) ** -0.5) if matrix else (0.5, 0.3)
        return jnp.asarray(rng.normal(mean, deviation, leaf.shape))

    return jax.tree.map(fill, shapes(name, "small", T, M, K))


def shapes(name: str, size: Size, T: int, M: int, K: int) -> Baseline:
    """Return a model with shapes in place of numbers."""
    return eqx.filter_eval_shape(lambda key: BASELINES[name].of(T, M, K, size=size, key=key), jax.random.key(0))


@cache
def windows() -> Float[Array, "B T M"]:
    """Smooth, drifting windows with some noise."""
    steps = np.cumsum(np.random.default_rng(1).normal(size=(BATCH, T, M)), axis=1)
    return jnp.asarray(0.3 * steps + np.arange(M))


@cache
def batch_answer(name: str, *, shuffled: bool = False) -> Output:
    """Answers to all windows at once, as they are or with their time steps shuffled."""
    order = np.random.default_rng(2).permutation(T) if shuffled else np.arange(T)
    return answers(model(name), windows()[:, order])


@quick_jit
def answers(model: Baseline, Y: Float[Array, "B T M"]) -> Output:
    """Answers to a batch."""
    return jax.vmap(model)(Y)


@cache
def first_answer(name: str) -> tuple[Output, Baseline]:
    """Answer to the first window alone, and the gradient of a scalar of its logits."""
    (_, output), gradient = _graded(model(name), windows()[0])
    return output, gradient


@quick_jit
@eqx.filter_value_and_grad(has_aux=True)
def _graded(model: Baseline, Y: Float[Array, "T M"]) -> tuple[Array, Output]:
    output = model(Y)
    return -jax.nn.log_softmax(output.logits)[0], output


@quick_jit
def drawn_answer(model: Baseline, key: PRNGKeyArray) -> Output:
    """Answer to the first window with dropout."""
    return model(windows()[0], key=key)
