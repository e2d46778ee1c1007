"""References of a session: they tell its levels and what is about, and nothing where there are none."""

import numpy as np
import pytest

from studies.peers.steady import Steady, informed, mixtures, steady_posterior

K, M, SESSIONS = 5, 4, 4
rng = np.random.default_rng(0)
LAW = Steady(rng.normal(0, 1.2, (M, K)), rng.normal(0, 0.2, M), rng.normal(-1, 0.3, (SESSIONS, M)))
NEW = np.array([0.8, -0.6, 0.7, -0.5])
"""What a new session adds to every level."""


def recorded(n: int, seed: int, *, level: np.ndarray | None = None, K_used: int = K):
    """Signals, shares and sessions; with a level, all in a new session."""
    draw = np.random.default_rng(seed)
    a = np.zeros((n, K))
    a[:, :K_used] = mixtures(K_used, np.array([0.4, 0.6]), n, seed)
    session = draw.integers(SESSIONS, size=n)
    levels = LAW.levels[session] if level is None else LAW.levels.mean(axis=0) + level
    return LAW.response(a) + levels + 0.03 * draw.normal(size=(n, M)), a, session


@pytest.fixture(scope="module")
def known():
    return steady_posterior(*recorded(200, 1))


def error(told, y, a) -> float:
    return float(np.mean(np.abs(told.shares(y) - a)))


def test_the_level_of_the_session_is_found(known):
    y, a, _ = recorded(40, 3, level=NEW)
    found = informed(known, y, a, about=False).level - known.law.levels.mean(axis=0)
    assert np.max(np.abs(found - NEW)) < 0.15
    assert np.max(np.abs(informed(known, y[:0], a[:0], about=False).level - known.law.levels.mean(axis=0))) < 1e-9


def test_references_help_and_wrong_labels_do_not(known):
    y, a, _ = recorded(60, 4, level=NEW)
    refs, labels, _ = recorded(5, 5, level=NEW)
    wrong = np.roll(np.eye(K), 1, axis=1)[:5]
    right = error(informed(known, refs, labels, about=False), y, a)
    assert right < 0.7 * error(known, y, a)
    assert error(informed(known, refs, wrong, about=False), y, a) > 1.3 * right


def test_what_references_hold_is_expected_again(known):
    """Where a session holds two substances of five, its references say so, beyond what they say of levels."""
    y, a, _ = recorded(60, 6, level=NEW, K_used=2)
    refs, labels, _ = recorded(6, 7, level=NEW, K_used=2)
    assert error(informed(known, refs, labels), y, a) < error(informed(known, refs, labels, about=False), y, a)


def test_expectations_leave_the_number_of_substances_alone(known):
    labels = np.tile(np.eye(K)[0], (5, 1))
    told = informed(known, LAW.response(labels), labels)
    sizes = np.sum(known.bank > 0, axis=1)
    for size in (1, 2):
        same = sizes == size
        before, after = np.log(same.sum()), np.logaddexp.reduce((told.log_prior - known.log_prior)[same])
        assert after == pytest.approx(before, abs=1e-9)
