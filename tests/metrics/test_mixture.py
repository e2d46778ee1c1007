"""Laws of the mixture metrics, with wrong twins that must fail them."""

import numpy as np
import pytest

from unmixnet.errors import UnmixError
from unmixnet.metrics import acc_at_01, cosine, mae, ood_drop, support_f1, top_k_hit

A = np.array([[0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.2, 0.3, 0.5, 0.0]])


def test_a_perfect_prediction_scores_best_on_every_metric():
    assert mae(A, A) == 0
    assert [f(A, A) for f in (acc_at_01, top_k_hit, support_f1)] == [1, 1, 1]
    assert cosine(A, A) == pytest.approx(1)


def test_mae_averages_over_samples_and_absent_components_too():
    guess = np.array([[0.4, 0.5, 0.1, 0.0], [1.0, 0.0, 0.0, 0.0], [0.2, 0.3, 0.5, 0.0]])
    assert mae(guess, A) == pytest.approx(0.2 / 12)


def test_acc_at_01_is_over_present_components_and_strict():
    guess = np.array([[0.6, 0.45, 0.0, 0.0], [0.95, 0.05, 0.0, 0.0], [0.0, 0.35, 0.45, 0.2]])
    # 0.5 vs 0.6 is off by exactly 0.1: not less. Sample shares: 1/2, 1, 2/3.
    assert acc_at_01(guess, A) == pytest.approx((1 / 2 + 1 + 2 / 3) / 3)


def test_top_k_hit_is_pooled_over_components_not_averaged_over_samples():
    guess = np.array([[0.5, 0.1, 0.4, 0.0], [0.0, 1.0, 0.0, 0.0], [0.2, 0.3, 0.5, 0.0]])
    micro, macro = (1 + 0 + 3) / 6, (1 / 2 + 0 + 1) / 3
    assert top_k_hit(guess, A) == pytest.approx(micro)
    assert micro != pytest.approx(macro)


def test_support_f1_counts_false_and_missed_components_at_the_stated_threshold():
    guess = np.array([[0.5, 0.05, 0.45, 0.0]])
    assert support_f1(guess, A[:1]) == pytest.approx(2 * 1 / (2 * 1 + 2))
    assert support_f1(guess, A[:1], threshold=0.01) == pytest.approx(2 * 2 / (2 * 2 + 1))


def test_cosine_of_nothing_is_zero_not_nan():
    assert cosine(np.zeros((1, 4)), A[:1]) == 0


def test_ood_drop_is_relative_to_the_seen_error():
    assert ood_drop(0.1, 0.15) == pytest.approx(0.5)
    with pytest.raises(UnmixError, match="relative"):
        ood_drop(0.0, 0.1)


@pytest.mark.parametrize("metric", [mae, acc_at_01, top_k_hit, support_f1, cosine])
def test_a_weight_counts_like_repetition(metric):
    rng = np.random.default_rng(0)
    guess = rng.dirichlet(np.ones(4), 3)
    times = np.array([2, 0, 3])
    assert metric(guess, A, times) == pytest.approx(metric(np.repeat(guess, times, 0), np.repeat(A, times, 0)))


@pytest.mark.parametrize(
    ("guess", "true", "word"),
    [(A[:2], A, "shapes"), (np.full_like(A, np.nan), A, "NaN"), (A, A * 2, "simplex")],
)
def test_impossible_input_is_refused(guess, true, word):
    with pytest.raises(UnmixError, match=word):
        mae(guess, true)
