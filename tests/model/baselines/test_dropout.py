"""Dropout keeps the mean and draws entries independently; attention with it is attention."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unmixnet.model.baselines.interface import attend, attention, drop

RATE = 0.1


def drawn(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.asarray(drop(jnp.ones(shape, jnp.float32), RATE, jax.random.key(seed)))


def test_the_mean_stays_and_the_rate_is_right_to_a_256th():
    kept = drawn((1000, 1000), 0)
    assert np.mean(kept == 0) == pytest.approx(RATE, abs=1 / 512 + 1.5e-3)
    assert kept.mean() == pytest.approx(1.0, abs=2e-3)
    assert len(np.unique(kept)) == 2, "what is kept is scaled by one factor"


def dependence(dropped: np.ndarray) -> float:
    """Largest correlation of an entry with the next four, which share its word."""
    return max(abs(np.corrcoef(dropped[shift:], dropped[:-shift])[0, 1]) for shift in (1, 2, 3, 4))


def test_entries_are_independent_within_a_word_and_across_keys():
    one, two = (drawn((400_001,), seed) == 0 for seed in (0, 1))
    assert dependence(one) < 0.01 and abs(np.corrcoef(one, two)[0, 1]) < 0.01
    assert np.array_equal(one, drawn((400_001,), 0) == 0)


def test_twin_a_word_for_four_entries_is_seen(monkeypatch):
    def repeated(words, dtype):
        first = (words & 255).astype(dtype)
        return jnp.stack([first] * 4, axis=-1)

    monkeypatch.setattr(jax.lax, "bitcast_convert_type", repeated)
    assert dependence(drawn((40_000,), 0) == 0) > 0.5


def test_without_a_key_nothing_is_dropped():
    x = jnp.arange(7.0)
    assert drop(x, RATE, None) is x


def test_attention_is_that_of_the_library():
    block = attention(8, 2, RATE, jax.random.key(0))
    queries, tokens = (jax.random.normal(jax.random.key(i), (n, 8)) for i, n in ((1, 3), (2, 5)))
    theirs = block(queries, tokens, tokens, inference=True)
    np.testing.assert_allclose(attend(block, queries, tokens, None), theirs, atol=1e-6)
    with_drop = attend(block, queries, tokens, jax.random.key(3))
    assert with_drop.shape == theirs.shape and not np.allclose(with_drop, theirs, atol=1e-3)
    swapped = eqx.tree_at(lambda b: (b.key_proj, b.value_proj), block, (block.value_proj, block.key_proj))
    assert not np.allclose(attend(swapped, queries, tokens, None), theirs, atol=1e-3)
