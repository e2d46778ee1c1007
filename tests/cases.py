"""Small problems and measures that the tests share: random mixtures, a ready process, derivatives by differences."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from unmixnet.physics.maxwell_stefan import MaxwellStefan
from unmixnet.physics.state import Process, State, clean_air
from unmixnet.simulation.builders import portable_enose
from unmixnet.simulation.validation.synthetic_problem import made_up_process

seeds = st.integers(0, 2**32 - 1)
ENOSE = portable_enose()
GEOMETRY = ENOSE.geometry()
DT = jnp.asarray(0.1)


def diffusivity(rng: np.random.Generator, S: int, spread: float = 10.0) -> jax.Array:
    """A symmetric positive D [m²/s] whose entries span `spread`."""
    D = 1e-5 * np.exp(rng.uniform(0, np.log(spread), (S, S)))
    return jnp.asarray(np.sqrt(D * D.T))


def mixture(rng: np.random.Generator, S: int, odorants: float) -> jax.Array:
    """Mole fractions of a carrier and S − 1 odorants that share at most the fraction `odorants`."""
    x = odorants * rng.uniform(0.3, 1) * rng.dirichlet(np.ones(S - 1))
    return jnp.asarray(np.append(1 - x.sum(), x))


def edges(seed: int, S: int, odorants: float, E: int = 6, spread: float = 10.0, **options):
    """Arguments of `edge_flux` for E random edges: the law, x at both ends (S, E), c and length (E,)."""
    rng = np.random.default_rng(seed)
    tail, head = (jnp.stack([mixture(rng, S, odorants) for _ in range(E)], axis=1) for _ in range(2))
    law = MaxwellStefan(diffusivity(rng, S, spread), jnp.asarray(rng.uniform(0.5, 2, E)), **options)
    return law, tail, head, jnp.asarray(rng.uniform(30, 50, E)), jnp.asarray(rng.uniform(0.005, 0.05, E))


def problem(seed: int = 0, K: int = 3, **options) -> tuple[Process, State]:
    """The portable e-nose with made-up coefficients, and clean air in it."""
    process = made_up_process(ENOSE, K, seed=seed, **options)
    return process, clean_air(process, GEOMETRY)


def stirred(process: Process, seed: int, odorants: float = 1e-3) -> State:
    """A state with every species in every cell and on every surface."""
    rng = np.random.default_rng(seed)
    air = clean_air(process, GEOMETRY)
    S, V = air.N.shape
    x = jnp.stack([mixture(rng, S, odorants) for _ in range(V)], axis=1)
    theta = jnp.asarray(rng.dirichlet(np.ones(S), air.theta.shape[1]).T)
    return eqx.tree_at(lambda s: (s.N, s.theta), air, (jnp.sum(air.N, axis=0) * x, theta))


def float32(tree):
    """The same tree in single precision."""
    return jax.tree.map(lambda a: a.astype(jnp.float32) if eqx.is_inexact_array(a) else a, tree)


def relative(value, expected) -> float:
    """Largest component-wise relative error."""
    value, expected = np.asarray(value, float), np.asarray(expected, float)
    return float(np.max(np.abs(value - expected) / np.abs(expected)))


def normwise(value, expected) -> float:
    """Error relative to the largest component."""
    value, expected = np.asarray(value, float), np.asarray(expected, float)
    return float(np.max(np.abs(value - expected)) / np.max(np.abs(expected)))


def has_nan(tree) -> bool:
    """Whether any returned number is NaN."""
    return any(bool(np.isnan(leaf).any()) for leaf in jax.tree.leaves(tree) if eqx.is_inexact_array(leaf))


def weigher(example, seed: int = 1):
    """Turn outputs like `example` into one number that notices every change: random weights over their sizes."""
    rng = np.random.default_rng(seed)
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(example) if eqx.is_inexact_array(leaf)]
    weights = [rng.normal(size=leaf.shape) / (np.max(np.abs(leaf)) or 1.0) for leaf in leaves]

    def weigh(tree):
        leaves = [leaf for leaf in jax.tree.leaves(tree) if eqx.is_inexact_array(leaf)]
        return sum((w * leaf).sum() for w, leaf in zip(weights, leaves, strict=True))

    return weigh


def law_error(law, tree, h: float = 1e-4) -> float:
    """Largest relative error, leaf by leaf, of reverse-mode derivatives of `law(tree)` against differences.

    Each leaf moves relative to its own size, never across zero, in a random direction; the five-point stencil leaves
    rounding only, so that a leaf on which the law does not depend is measured against the law itself.
    """
    law = jax.jit(law)
    weigh = weigher(law(tree))
    leaves, structure = jax.tree.flatten(tree)
    leaves = [np.asarray(leaf) for leaf in leaves]
    slopes = jax.jit(jax.grad(lambda leaves: weigh(law(structure.unflatten(leaves)))))(leaves)
    slopes = [np.asarray(slope) for slope in slopes]
    assert any(np.any(slope != 0) for slope in slopes), "nothing happened: every derivative is zero"
    rng, here, errors = np.random.default_rng(0), float(weigh(law(tree))), []
    for i, (leaf, slope) in enumerate(zip(leaves, slopes, strict=True)):
        move = leaf * rng.uniform(0.5, 1.5, leaf.shape) * rng.choice([-1, 1], leaf.shape)

        def along(k, i=i, leaf=leaf, move=move):
            return float(weigh(law(structure.unflatten([*leaves[:i], leaf + k * h * move, *leaves[i + 1 :]]))))

        by_difference = (8 * (along(1) - along(-1)) - (along(2) - along(-2))) / (12 * h)
        size = np.sum(np.abs(slope * move)) + 1e-4 * abs(here)
        errors.append(float(abs(np.sum(slope * move) - by_difference) / size))
    return max(errors)
