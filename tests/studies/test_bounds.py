"""The Cramér–Rao bound: closed forms, monotone in noise and sensors, and honest about what does not act."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.simulator.bounds import cramer_rao, fisher, linearised, reading_sd, tangent
from tests.cases import seeds
from unmixnet.errors import UnmixError

K = 4
NAMES = ("a", "b", "c", "d", "log strength", "gain")
FREE = np.full(K, np.inf)
PRIOR = np.concatenate([FREE, [0.2, 0.1]])


def readings(seed: int, n: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, len(NAMES)))


def bound(J, sd=0.1, prior=PRIOR, **options):
    return cramer_rao(J, np.asarray(sd), prior, names=NAMES[: J.shape[1]], components=K, **options)


def test_two_components_have_the_bound_of_a_straight_line():
    J = readings(0)[:, :K]
    slope = J[:, 1] - J[:, 3]
    expected = 0.1 / np.sqrt(slope @ slope)
    assert bound(J, prior=FREE, support=[1, 3]).sd == pytest.approx([0, expected, 0, expected])


@given(seed=seeds)
def test_the_linear_gaussian_case_is_the_posterior_of_constrained_least_squares(seed):
    J, noise = readings(seed), np.random.default_rng(seed + 1).uniform(0.05, 0.2, 40)
    # eliminate d = 1 − a − b − c by hand
    reduced = np.concatenate([J[:, :3] - J[:, 3:4], J[:, 4:]], axis=1)
    cov = np.linalg.inv((reduced / noise[:, None] ** 2).T @ reduced + np.diag([0, 0, 0, 25, 100]))
    last = np.ones(3) @ cov[:3, :3] @ np.ones(3)
    assert bound(J, noise).sd == pytest.approx(np.sqrt([*np.diag(cov)[:3], last]), rel=1e-9)


def test_estimates_scatter_as_the_bound_says():
    rng, J = np.random.default_rng(3), readings(3)[:, :K]
    Z = tangent(K, range(K))
    errors = (np.linalg.pinv(J @ Z) @ rng.normal(0, 0.1, (40, 20000))).T @ Z.T
    made = bound(J, prior=FREE)
    assert errors.std(axis=0) == pytest.approx(made.sd, rel=0.02)
    assert np.abs(errors).mean() == pytest.approx(made.expected_mae, rel=0.02)


def test_twin_another_noise_is_another_bound():
    J = readings(3)
    assert bound(J, 0.1).sd != pytest.approx(bound(J, 0.105).sd, rel=0.02)


@given(seed=seeds, more=st.floats(1.0, 5.0))
def test_more_noise_or_wider_priors_never_help(seed, more):
    J = readings(seed)
    best = bound(J).sd
    assert np.all(bound(J, 0.1 * more).sd >= best * (1 - 1e-9))
    assert np.all(bound(J, prior=np.concatenate([FREE, [0.2 * more, 0.1 * more]])).sd >= best * (1 - 1e-9))


@given(seed=seeds)
def test_more_readings_and_a_known_support_never_harm(seed):
    J = readings(seed)
    best = bound(J).sd
    assert np.all(bound(J[:25]).sd >= best * (1 - 1e-9))
    assert np.all(bound(J, support=[0, 2]).sd <= best * (1 + 1e-9))


def test_a_component_that_does_not_act_alone_is_named_but_known_from_the_others():
    J = readings(5)
    J[:, 2] = 0
    made = bound(J)
    assert made.silent == ("c",)
    assert np.all(np.isfinite(made.sd)), "the shares add up to one"


def test_two_components_that_cannot_be_told_apart_have_no_bound_and_the_others_keep_theirs():
    J = readings(5)
    J[:, 2] = J[:, 1]
    made = bound(J)
    assert np.all(np.isinf(made.sd[[1, 2]])) and np.all(np.isfinite(made.sd[[0, 3]]))
    assert made.expected_mae == np.inf
    assert np.all(np.isfinite(bound(J, support=[0, 1, 3]).sd))


def test_a_silent_nuisance_is_named_and_harmless():
    J = readings(6)
    J[:, 5] = 0
    assert bound(J).silent == ("gain",)
    assert bound(J).sd == pytest.approx(bound(J[:, :5], prior=PRIOR[:5]).sd)
    free = np.concatenate([FREE, [0.2, np.inf]])
    assert bound(J, prior=free).sd == pytest.approx(bound(J).sd), "nor does it matter that nothing is known of it"


def test_a_nuisance_without_a_prior_that_imitates_a_component_takes_its_information():
    J = readings(7)
    J[:, 5] = J[:, 0] - J[:, 1]
    free = np.concatenate([FREE, [0.2, np.inf]])
    assert np.isinf(bound(J, prior=free).sd[0]) and np.isfinite(bound(J).sd[0])


def test_a_pure_recording_with_its_component_known_leaves_nothing_to_estimate():
    assert np.array_equal(bound(readings(8), support=[2]).sd, np.zeros(K))


def test_directions_of_the_simplex_are_orthonormal_and_keep_the_sum():
    Z = tangent(5, [0, 2, 3])
    assert Z.T @ Z == pytest.approx(np.eye(2)) and Z.sum(axis=0) == pytest.approx(0)
    assert np.array_equal(Z[[1, 4]], np.zeros((2, 2)))


def test_the_jacobian_is_that_of_the_forward_map():
    at = linearised(lambda latent: jnp.stack([latent[0] * latent[1], latent[1] ** 2, jnp.sin(latent[0])]).reshape(3, 1))
    y, J = at([0.5, 2.0])
    assert y == pytest.approx([1.0, 4.0, np.sin(0.5)])
    assert J == pytest.approx(np.array([[2.0, 0.5], [0.0, 4.0], [np.cos(0.5), 0.0]]))


def test_a_reading_is_noisier_near_the_rails_and_never_better_than_rounding():
    sd = reading_sd(np.array([512.0, 900.0, 1023.0]), np.zeros(3))
    assert sd[0] == pytest.approx(np.sqrt(1 / 12) / 1023 * 4, rel=1e-3)
    assert np.all(np.diff(sd) > 0) and np.isfinite(sd[2])
    assert np.all(reading_sd(np.array([512.0]), np.array([1.0])) > sd[:1])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda J: fisher(J, np.array(0.0), PRIOR),
        lambda J: fisher(J, np.array(0.1), PRIOR[:3]),
        lambda J: fisher(J * np.nan, np.array(0.1), PRIOR),
        lambda J: cramer_rao(J, np.array(0.1), PRIOR, names=NAMES[:2], components=K),
        lambda J: bound(J, support=[7]),
    ],
)
def test_what_has_no_bound_is_refused_with_a_remedy(wrong):
    with pytest.raises(UnmixError) as error:
        wrong(readings(0))
    assert error.value.where and error.value.remedy
