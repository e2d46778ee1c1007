"""Laws of the class metrics; scikit-learn agrees where it defines the same thing."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, top_k_accuracy_score

from unmixnet.errors import UnmixError
from unmixnet.metrics import accuracy_at_1, accuracy_at_5, macro_f1


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(1)
    return rng.normal(size=(300, 10)), np.arange(300) % 10


def test_accuracies_agree_with_scikit_learn(case):
    scores, true = case
    assert accuracy_at_1(scores, true) == pytest.approx((scores.argmax(1) == true).mean())
    assert accuracy_at_5(scores, true) == pytest.approx(top_k_accuracy_score(true, scores, k=5))


def test_macro_f1_agrees_with_scikit_learn(case):
    scores, true = case
    assert macro_f1(scores, true) == pytest.approx(f1_score(true, scores.argmax(1), average="macro"))


def test_uniform_scores_are_worth_chance(case):
    _, true = case
    assert accuracy_at_1(np.zeros((300, 10)), true) == pytest.approx(0.1)
    assert accuracy_at_5(np.zeros((300, 10)), true) == pytest.approx(0.5)


def test_a_class_outside_the_scores_is_refused():
    with pytest.raises(UnmixError, match="outside"):
        accuracy_at_1(np.zeros((2, 3)), np.array([0, 3]))
