"""Planted confusions, drifts and doubts are found; their twins without them are not."""

import numpy as np
import pytest

from studies.figures.confusion import confusion_record
from studies.figures.failures import (
    clustered,
    confusion,
    error_of,
    gain_interval,
    level_distance,
    mantel,
    overlap,
    popularity,
    rank_correlation,
    risk_curve,
)
from studies.figures.stored import AnswerTable, table_of
from studies.harness.predictions import ModelAnswers
from unmixnet.errors import ConfigError
from unmixnet.recordings.samples import Task

K = 8


def _pairs(seed: int) -> np.ndarray:
    """A symmetric table of pairs."""
    draw = np.random.default_rng(seed).uniform(size=(K, K))
    return 0.5 * (draw + draw.T)


def _mixtures(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a = np.zeros((n, K))
    for row in a:
        row[rng.choice(K, 2, replace=False)] = 0.5
    return a


def _misread(truth: np.ndarray, alike: np.ndarray) -> np.ndarray:
    """Answers that move a fifth of every substance to the others, as far as they are alike."""
    share = alike * (1 - np.eye(K))
    return 0.8 * truth + 0.2 * truth @ (share / share.sum(axis=1, keepdims=True))


def test_a_planted_confusion_is_the_largest_and_goes_one_way():
    truth = np.tile(np.eye(K), (5, 1))
    guess = truth.copy()
    guess[truth[:, 2] > 0] = 0.7 * np.eye(K)[2] + 0.3 * np.eye(K)[5]
    C = confusion(guess, truth)
    assert C[2, 5] == pytest.approx(0.3)
    assert np.nansum(C) == pytest.approx(0.3), "nothing else is confused, and 5 is never taken for 2"


def test_right_answers_are_never_confused():
    truth = _mixtures(60, 0)
    assert np.nanmax(confusion(truth, truth)) == 0


def test_wrong_ratios_of_the_right_substances_are_no_confusion():
    truth = np.tile([0.5, 0.5] + [0.0] * (K - 2), (4, 1))
    guess = np.tile([0.8, 0.2] + [0.0] * (K - 2), (4, 1))
    assert np.nansum(confusion(guess, truth)) == 0
    assert error_of(guess, truth) == pytest.approx(np.full(4, 0.6 / K))


def test_a_pair_that_is_always_together_is_not_known():
    truth = np.tile([0.5, 0.5] + [0.0] * (K - 2), (4, 1))
    assert np.isnan(confusion(truth, truth)[0, 1])


def test_popularity_has_the_sums_of_the_confusions_and_no_structure():
    C = np.outer(np.arange(1.0, K + 1), np.arange(2.0, K + 2))
    np.fill_diagonal(C, np.nan)
    assert np.nanmax(np.abs(popularity(C) / C - 1)) < 1e-6, "a product is popularity alone"
    planted = C.copy()
    planted[0, 1] *= 10
    E = popularity(planted)
    assert np.nansum(E, axis=1) == pytest.approx(np.nansum(planted, axis=1), rel=1e-6)
    assert planted[0, 1] / E[0, 1] > 2


def test_alike_substances_are_found_to_be_confused_and_a_twin_that_confuses_at_random_is_not():
    truth, alike = _mixtures(400, 1), _pairs(2)
    found = mantel(confusion(_misread(truth, alike), truth), alike)
    assert found.rho > 0.9 and found.p < 0.01 and found.rho > found.hi
    twin = mantel(confusion(_misread(truth, _pairs(3)), truth), alike)
    assert twin.lo <= twin.rho <= twin.hi and twin.p > 0.05


def test_what_a_third_table_explains_is_taken_out():
    third = _pairs(4)
    first, second = third + 0.05 * _pairs(5), third + 0.05 * _pairs(6)
    assert mantel(first, second).p < 0.01
    assert mantel(first, second, given=third).rho < 0.5 * mantel(first, second).rho


def test_under_four_pairs_nothing_is_said():
    few = np.full((K, K), np.nan)
    few[0, 1] = few[1, 0] = 1.0
    assert np.isnan(mantel(few, _pairs(0)).rho)


def test_substances_of_the_same_sessions_overlap_by_one_and_of_different_ones_by_none():
    assert overlap(np.array([[3.0, 1.0, 0.0], [6.0, 2.0, 0.0], [0.0, 0.0, 5.0]])) == pytest.approx(
        np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    )


def test_ranks_see_order_and_not_size():
    x = np.arange(9.0)
    assert rank_correlation(x, np.exp(x)) == pytest.approx(1)
    assert np.isnan(rank_correlation(x, np.ones(9)))


def test_drift_that_hurts_is_found_and_an_interval_by_sessions_is_wider_than_one_by_recordings():
    rng = np.random.default_rng(0)
    session = np.repeat([f"s{i}" for i in range(10)], 20)
    x = np.repeat(rng.normal(size=10), 20) + 0.1 * rng.normal(size=200)
    hurt = clustered(x, np.exp(x), session, draws=200)
    assert hurt.rho == pytest.approx(1) and hurt.lo > 0.9
    by_chance = np.repeat(rng.normal(size=10), 20)
    told = clustered(x, by_chance, session, draws=200)
    naive = clustered(x, by_chance, [str(i) for i in range(200)], draws=200)
    assert told.lo < 0 < told.hi, "ten sessions cannot show a relation that is not there"
    assert told.hi - told.lo > 2 * (naive.hi - naive.lo), "twin: recordings taken for independent claim too much"


def test_a_level_that_training_has_is_near_and_one_of_the_same_recipe_elsewhere_has_drifted():
    training = np.array([[0.0, 0.0], [2.0, 2.0], [4.0, 4.0]])
    same = np.array([[True, False, False], [False, False, False]])
    near, drift = level_distance(np.array([[4.0, 4.0], [4.0, 4.0]]), training, same)
    assert near == pytest.approx([0, 0])
    assert drift[0] == pytest.approx(4 / training.std(axis=0)[0]) and np.isnan(drift[1])


def test_a_score_that_knows_the_errors_is_below_chance_and_a_blind_twin_is_not():
    error = np.random.default_rng(0).gamma(2.0, size=80)
    known = risk_curve(error, error, draws=500)
    assert np.all(np.diff(known.risk) >= -1e-12) and known.risk == pytest.approx(known.best)
    assert known.p < 0.01 and np.all(known.risk[5:-5] < known.lo[5:-5])
    blind = risk_curve(np.random.default_rng(1).uniform(size=80), error, draws=500)
    assert blind.p > 0.05 and blind.area > known.area
    wrong = risk_curve(-error, error, draws=500)
    assert wrong.p > 0.99, "a score that withholds the best is found out, too"


def test_all_answered_the_risk_is_the_mean_error_whatever_the_score():
    error = np.random.default_rng(2).uniform(size=30)
    for score in (error, -error):
        assert risk_curve(score, error, draws=10).risk[-1] == pytest.approx(error.mean())


def test_a_score_that_knows_only_the_recipe_is_sure_by_recordings_and_not_by_recipes():
    rng = np.random.default_rng(0)
    hard, recipe = rng.uniform(size=5), np.repeat(np.arange(5), 12)
    error = hard[recipe] + 0.02 * rng.uniform(size=60)
    score = np.array([1.0, 0.0, 3.0, 2.0, 4.0])[np.argsort(np.argsort(hard))][recipe]
    lo, hi = gain_interval(score, error, [str(r) for r in recipe])
    naive = gain_interval(score, error, [str(i) for i in range(60)])
    assert hi - lo > 2 * (naive[1] - naive[0])
    known = gain_interval(error, error, [str(r) for r in recipe])
    assert known[1] < 0, "a score that knows the errors gains, whatever is resampled"


# ---------------------------------------------------------------- stored predictions


def _answers(model: str, values: np.ndarray, seed: int = 0) -> ModelAnswers:
    names = tuple(f"r{i}" for i in range(len(values)))
    return ModelAnswers("study", "made:up", "all", Task.RATIOS, model, seed, names, names, values)


def test_the_best_peer_is_none_of_ours_and_no_control():
    truth = _mixtures(20, 0)
    wrong = np.full_like(truth, 1 / K)
    told = [
        _answers("truth", truth),
        _answers("mean", truth),
        _answers("unmixnet", truth),
        _answers("ridge", wrong),
        _answers("trees", 0.5 * (truth + wrong)),
    ]
    table = table_of(told, "made:up")
    assert table.compared == ("unmixnet", "trees")


def test_answers_are_put_into_the_order_of_the_truth_and_seeds_are_averaged():
    truth = _mixtures(20, 0)
    shuffled = np.random.default_rng(0).permutation(20)
    names = tuple(f"r{i}" for i in shuffled)
    turned = ModelAnswers("study", "made:up", "all", Task.RATIOS, "ridge", 0, names, names, truth[shuffled])
    table = table_of([_answers("truth", truth), turned, _answers("ridge", np.full_like(truth, 1 / K), 1)], "made:up")
    alone = error_of(np.full_like(truth, 1 / K), truth)
    assert table.error("ridge") == pytest.approx(alone / 2)


def test_a_protocol_without_answers_is_refused_with_a_remedy():
    with pytest.raises(ConfigError, match="no answers to other"):
        table_of([_answers("truth", _mixtures(3, 0))], "other")


def test_the_record_finds_the_table_of_pairs_that_made_the_confusions():
    truth, alike = _mixtures(300, 1), _pairs(2)
    guess = {"unmixnet": _misread(truth, alike)[None], "trees": _misread(truth, alike)[None]}
    table = AnswerTable("p", tuple(map(str, range(300))), ("s",) * 300, truth, guess)
    names = [f"k{i}" for i in range(K)]
    prints = {"components": names[::-1], "whitened": alike[::-1, ::-1].tolist()}
    prints |= {key: _pairs(7 + i).tolist() for i, key in enumerate(("raw", "cosine", "distance"))}
    rows = confusion_record({"p": table}, names, prints, _pairs(11))["rows"]
    found = {(row["by"], row["what"]): row for row in rows if row["model"] == "unmixnet"}
    assert found["whitened", "share"]["p"] < 0.01, "whatever the order of the names"
    assert found["raw", "share"]["p"] > 0.05
    assert found["the best peer's confusions", "share"]["rho"] == pytest.approx(1)
