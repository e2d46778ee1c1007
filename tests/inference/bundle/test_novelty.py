"""Strange recordings are called strange, ordinary ones are not."""

import dataclasses

import numpy as np
import pytest

from unmixnet.inference.bundle.novelty import fit_gauge, fit_novelty

from .synthetic_evidence import evidence, several


def test_ordinary_recordings_are_seldom_called_unlike():
    alarms = []
    for seed in range(40):
        novelty = fit_novelty(several(seed, 60), several(1000 + seed, 30))
        alarms += [novelty.score(one) > novelty.limit for one in several(2000 + seed, 20)]
    assert np.mean(alarms) <= 0.05


@pytest.mark.parametrize("how", [{"shift": 6.0}, {"residual": 5.0}])
def test_recordings_from_elsewhere_are_called_unlike(how):
    novelty = fit_novelty(several(0, 60), several(1, 30))
    assert all(novelty.score(one) > novelty.limit for one in several(2, 20, **how))


def test_a_reconstruction_that_is_too_good_is_not_strange():
    novelty = fit_novelty(several(0, 60), several(1, 30))
    assert not any(novelty.score(one) > novelty.limit for one in several(2, 20, residual=0.001))


def test_p_values_of_ordinary_recordings_are_uniform():
    found = []
    for seed in range(60):
        novelty = fit_novelty(several(seed, 60), several(1000 + seed, 19))
        found += [novelty.p_value(novelty.score(one)) for one in several(2000 + seed, 5)]
    assert 0.05 < np.mean(np.array(found) <= 0.1) < 0.16
    assert 0.4 < np.mean(np.array(found) <= 0.5) < 0.6
    assert min(found) >= 1 / 20


def test_without_validation_recordings_nothing_is_called_unlike():
    novelty = fit_novelty(several(0, 60), [])
    one = evidence(np.random.default_rng(5), shift=50.0)
    assert np.isnan(novelty.p_value(novelty.score(one))) and novelty.score(one) < novelty.limit


def test_a_model_without_a_solver_has_no_residual():
    def bare(found):
        return [dataclasses.replace(one, residual=None) for one in found]

    novelty = fit_novelty(bare(several(0, 60)), bare(several(1, 30)))
    assert novelty.residual == () and len(novelty.centre) == 2
    assert novelty.score(bare(several(2, 1, shift=6.0))[0]) > novelty.limit


def test_the_score_follows_an_embedding_that_was_turned_by_another_training():
    """The twin keeps the old gauge, and finds every recording strange."""
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=2 * several(0, 1)[0].embedding.shape))[0]

    def turned(found):
        return [dataclasses.replace(one, embedding=turn @ one.embedding + 40) for one in found]

    known, new = several(0, 60), several(2, 20)
    before = fit_novelty(known, several(1, 30))
    after = before.with_embedding_of(turned(known))
    np.testing.assert_allclose([after.score(one) for one in turned(new)], [before.score(one) for one in new], rtol=1e-6)
    assert all(before.score(one) > before.limit for one in turned(new))


def test_the_gauge_measures_in_standard_deviations():
    rng = np.random.default_rng(0)
    scale = np.array([10.0, 1.0, 0.1])
    gauge = fit_gauge(rng.normal(size=(400, 3)) * scale + 5)
    for axis in range(3):
        away = np.zeros(3)
        away[axis] = 3 * scale[axis]
        assert gauge.distance(5 + away) == pytest.approx(3 / np.sqrt(3), rel=0.25)


def test_more_dimensions_than_recordings_have_a_distance():
    gauge = fit_gauge(np.random.default_rng(0).normal(size=(6, 64)))
    assert np.isfinite(gauge.distance(np.zeros(64))) and gauge.distance(np.full(64, 30.0)) > 5
