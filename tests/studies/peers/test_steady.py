"""The steady law: what it says, what recordings tell of it, and which mixtures explain a signal."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.peers.steady import Steady, fit_steady, least_absolute_error, mixtures, steady_posterior
from tests.cases import seeds
from unmixnet.errors import ConfigError
from unmixnet.physics.adsorption import stationary_coverage

K, M, SESSIONS = 4, 3, 3


def truth(seed: int = 0) -> Steady:
    rng = np.random.default_rng(seed)
    levels = rng.normal(-1, 0.3, (SESSIONS, M))
    return Steady(rng.normal(0, 1.2, (M, K)), rng.normal(0, 0.2, M), levels)


def recorded(law: Steady, n: int = 240, noise: float = 0.02, seed: int = 1):
    """Signals, shares and sessions of n recordings."""
    rng = np.random.default_rng(seed)
    a = mixtures(K, np.array([0.4, 0.6]), n, seed)
    session = rng.integers(SESSIONS, size=n)
    return law.response(a) + law.levels[session] + noise * rng.normal(size=(n, M)), a, session


def test_it_is_the_isotherm_of_covered_over_empty_sites():
    """ln(1 + Σ β θ/θ₀) with θ of the extended Langmuir isotherm is the law, for A = β K c."""
    rng = np.random.default_rng(2)
    ratio, beta = rng.uniform(0.1, 3, (2, K))
    theta = np.asarray(stationary_coverage(jnp.asarray(ratio), jnp.ones(K)))
    law = Steady(np.log(beta * ratio)[None], np.zeros(1), np.zeros((1, 1)))
    assert law.response(np.ones((1, K)))[0, 0] == pytest.approx(np.log1p(np.sum(beta * theta[1:]) / theta[0]), rel=1e-6)


@given(seed=seeds)
def test_a_mixture_lies_between_the_sum_of_shares_and_the_strongest(seed):
    law, (a,) = truth(seed), mixtures(K, np.array([0.0, 1.0]), 1, seed)
    alone, mixed = law.response(np.eye(K)), law.response(a[None])[0]
    assert np.all(mixed >= a @ alone - 1e-12) and np.all(mixed <= alone[a > 0].max(axis=0) + 1e-12)


def test_slopes_are_difference_quotients():
    law, (a,) = truth(), mixtures(K, np.array([0.0, 0.0, 1.0]), 1, 3)
    by_A, by_n = law.slopes(a[None])
    for m in range(M):
        for k in range(K):
            step = np.zeros((M, K))
            step[m, k] = 1e-6
            sides = [Steady(law.log_A + s * step, law.log_n, law.levels).response(a[None])[0, m] for s in (1, -1)]
            assert by_A[0, m, k] == pytest.approx((sides[0] - sides[1]) / 2e-6, abs=1e-8)
        one = np.eye(M)[m] * 1e-6
        sides = [Steady(law.log_A, law.log_n + s * one, law.levels).response(a[None])[0, m] for s in (1, -1)]
        assert by_n[0, m] == pytest.approx((sides[0] - sides[1]) / 2e-6, abs=1e-8)


def test_the_fit_predicts_mixtures_it_has_not_seen():
    law = truth()
    found, (y, a, session) = fit_steady(*recorded(law)), recorded(law, seed=9)
    left = y - found.response(a) - found.levels[session]
    assert np.sqrt(np.mean(left**2)) < 0.03
    assert np.sqrt(np.mean((y - law.levels.mean(axis=0) - found.response(a)) ** 2)) > 0.15  # twin: one level for all


def test_a_few_wild_recordings_do_not_move_the_fit():
    y, a, session = recorded(truth())
    wild = y.copy()
    wild[::20] += 3
    calm, moved = fit_steady(y, a, session), fit_steady(wild, a, session)
    assert np.max(np.abs(calm.response(a) - moved.response(a))) < 0.15


def test_what_is_not_a_number_is_refused():
    y, a, session = recorded(truth())
    y[0, 0] = np.nan
    with pytest.raises(ConfigError, match="not numbers"):
        fit_steady(y, a, session)


def test_the_posterior_knows_mixtures_that_nobody_recorded():
    law = truth()
    y, a, session = recorded(law)
    pair = (a[:, 0] > 0) & (a[:, 1] > 0)
    posterior = steady_posterior(y[~pair], a[~pair], session[~pair])
    error = np.mean(np.abs(posterior.shares(y[pair]) - a[pair]))
    mean = np.mean(np.abs(a[~pair].mean(axis=0) - a[pair]))
    assert pair.sum() > 10 and error < 0.6 * mean
    assert np.mean(posterior.presence(y[pair])[:, :2]) > 0.6 > np.mean(posterior.presence(y[pair])[:, 2:])


def test_a_new_session_makes_it_less_sure():
    y, a, session = recorded(truth())
    posterior = steady_posterior(y, a, session)
    spread = lambda y: -np.mean(np.sum(w * np.log(w + 1e-300), axis=1)) if (w := posterior.weights(y)).size else 0  # noqa: E731
    assert spread(y[:20] + 0.8) > spread(y[:20])


def expected_error(guess: np.ndarray, weights: np.ndarray, bank: np.ndarray) -> float:
    return float(weights @ np.sum(np.abs(bank - guess), axis=1))


@given(seed=seeds)
def test_no_point_of_the_simplex_has_a_smaller_expected_error(seed):
    rng = np.random.default_rng(seed)
    bank, weights = mixtures(K, np.array([0.3, 0.4, 0.3]), 60, seed), rng.dirichlet(np.full(60, 0.3))
    best = least_absolute_error(weights[None], bank)[0]
    assert best.min() >= 0 and best.sum() == pytest.approx(1)
    rivals = [weights @ bank, *rng.dirichlet(np.full(K, 0.5), 40), *bank[rng.integers(60, size=20)]]
    rivals += [np.abs(best + move - move.mean()) for move in 0.02 * rng.normal(size=(40, K))]
    least = min(expected_error(rival / rival.sum(), weights, bank) for rival in rivals)
    assert expected_error(best, weights, bank) <= least + 1e-9


def test_twin_the_mean_is_not_that_point():
    bank, weights = np.eye(K)[[0, 0, 0, 1, 2]], np.full(5, 0.2)
    best = least_absolute_error(weights[None], bank)[0]
    assert expected_error(best, weights, bank) < expected_error(weights @ bank, weights, bank) - 0.1


@given(count=st.integers(1, K))
def test_mixtures_have_as_many_substances_as_told(count):
    made = mixtures(K, np.eye(K)[count - 1], 50, 0)
    assert np.all(np.sum(made > 0, axis=1) == count) and np.allclose(made.sum(axis=1), 1)
