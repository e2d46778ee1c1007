"""The parts of the loss are the norms that they are called."""

import numpy as np
import pytest

from unmixnet.training.calibration.losses import L_H, L_Y, L_mix, L_phys, Noise, R, whitened

RNG = np.random.default_rng(0)
LEFT = RNG.normal(size=(3, 5, 2))
NOISE = Noise(np.array([0.1, 0.2]), np.array([0.3, 0.05]))


def covariance(m: int, T: int = 5) -> np.ndarray:
    """Σ_Y of one sensor of one recording."""
    return NOISE.fast[m] ** 2 * np.eye(T) + NOISE.level[m] ** 2 * np.ones((T, T))


def test_the_reconstruction_loss_is_the_norm_by_the_inverse_covariance():
    direct = sum(LEFT[r, :, m] @ np.linalg.solve(covariance(m), LEFT[r, :, m]) for r in range(3) for m in range(2))
    assert L_Y(LEFT, NOISE) == pytest.approx(direct)


def test_twin_without_the_error_of_levels_it_is_another_norm():
    direct = np.sum((LEFT / NOISE.fast) ** 2)
    assert L_Y(LEFT, NOISE) < 0.9 * direct


def test_slopes_are_weighed_like_residuals():
    J = RNG.normal(size=(3, 5, 2, 4))
    for k in range(4):
        np.testing.assert_allclose(whitened(J, NOISE)[..., k], whitened(J[..., k], NOISE))


def test_plain_losses_count_a_level_error_of_one_sd_once():
    flat = np.ones((1, 5, 1)) * 0.3
    one = Noise(np.array([0.0]), np.array([0.3]))
    assert L_mix(flat, one) == pytest.approx(1)
    assert L_H(flat, one) == pytest.approx(1)


def test_noise_is_found_again_in_residuals_and_levels_share_theirs():
    left = np.array([0.1, 0.4]) * RNG.normal(size=(4000, 1, 2)) + 0.1 * RNG.normal(size=(4000, 20, 2))
    found = Noise.estimated(left)
    assert found.fast == pytest.approx(0.1, rel=0.05)
    # one of the two levels is spent on the strength
    assert found.level == pytest.approx(np.sqrt(0.1**2 + 0.4**2), rel=0.05)


def test_residuals_of_physics_and_prior_are_sums_of_squares():
    assert L_phys(np.array([3.0]), np.array([4.0])) == 25
    assert R(np.array([1.0, 2.0])) == 5
