"""The area under the ROC curve is a probability, whatever the scale of the scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from unmixnet.errors import UnmixError
from unmixnet.metrics import auroc


def test_perfect_reversed_and_empty_scores():
    unknown = np.array([False, False, True, True])
    assert auroc(np.array([0.0, 1, 2, 3]), unknown) == 1
    assert auroc(np.array([3.0, 2, 1, 0]), unknown) == 0
    assert auroc(np.zeros(4), unknown) == 0.5
    assert np.isnan(auroc(np.zeros(4), np.zeros(4, bool)))


@given(seed=st.integers(0, 2**31))
def test_it_is_what_scikit_learn_says_with_ties_and_weights(seed):
    rng = np.random.default_rng(seed)
    scores, unknown = rng.integers(0, 5, 30).astype(float), np.repeat([True, False], 15)
    weight = rng.integers(0, 3, 30) + 0.5
    assert auroc(scores, unknown, weight) == pytest.approx(roc_auc_score(unknown, scores, sample_weight=weight))
    assert auroc(np.exp(scores), unknown, weight) == auroc(scores, unknown, weight)


def test_rows_of_different_length_are_refused():
    with pytest.raises(UnmixError, match="one score"):
        auroc(np.zeros(3), np.zeros(4, bool))
