"""Parameter counts: `small` is small, `paper` is the reference less the parameters that cannot change its answer."""

import jax.numpy as jnp
import pytest

from unmixnet.model.baselines import count_parameters

from .cases import NAMES, shapes

WINDOWS = [(100, 6, 50), (60, 4, 12), (300, 6, 50), (600, 4, 12)]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", NAMES)
def test_small_has_at_most_three_hundred_thousand_and_fewer_than_paper(name, window):
    small, paper = (count_parameters(shapes(name, size, *window)) for size in ("small", "paper"))
    assert 1_000 < small <= 300_000
    assert small < paper


KEY_BIAS = "a bias of the keys adds one number to all logits of a query, which softmax does not see"

REFERENCES = [
    ("mlp", (100, 6, 50), 81_458, 0, "LayerNorm has as many parameters as BatchNorm"),
    ("cnn-lstm", (100, 6, 50), 187_058, 4 * 128, "the reference's LSTM has two biases that only appear as their sum"),
    ("itransformer", (300, 6, 50), 276_402, 2 * 128, KEY_BIAS),
    ("itransformer", (50, 4, 12), 212_108, 2 * 128, KEY_BIAS),
    ("scentformer", (100, 6, 50), 2_410_930, 3 * 256, KEY_BIAS),
    ("ldac", (300, 6, 50), 640_894, 4 * 128, KEY_BIAS + "; GroupNorm has as many parameters as BatchNorm"),
]


@pytest.mark.parametrize(("name", "window", "reference", "dead", "why"), REFERENCES)
def test_paper_has_the_reference_count_less_its_dead_parameters(name, window, reference, dead, why):
    assert count_parameters(shapes(name, "paper", *window)) == reference - dead, why


def test_paper_adr_gnn_has_the_count_of_its_equations():
    T, M, K, c, e = 100, 6, 50, 64, 32
    embeddings = 2 * c + (2 * T - 25) * c + c + M * c
    layer = (c * e + e) + c * e + e * e + e * c + c + 2 * (c * c + c) + c * c
    assert count_parameters(shapes("adr-gnn", "paper", T, M, K)) == embeddings + 4 * layer + 2 * c * K + K


def test_only_floating_point_arrays_count():
    assert count_parameters({"a": jnp.zeros((2, 3)), "steps": jnp.arange(4), "rate": 0.1}) == 6
