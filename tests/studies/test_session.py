"""Draws of references, and what models make of them."""

import numpy as np
import pytest

from studies.peers.steady import steady_posterior
from studies.session.models import MAPS, KnownSessions, added, drawn, mapped, of_labels, through_law
from unmixnet.errors import ConfigError
from unmixnet.recordings.pieces import Piece
from unmixnet.recordings.recording import Mixture
from unmixnet.recordings.samples import Samples

NAMES = ("a", "b", "c")


def piece(path: str, session: str, shares: tuple[float, ...]) -> Piece:
    held = {name: share for name, share in zip(NAMES, shares, strict=True) if share > 0}
    return Piece(path, Mixture(tuple(held), tuple(held.values())), session)


RECIPES = [(1.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.0, 1.0, 0.0), (0.0, 0.5, 0.5), (0.0, 0.0, 1.0)]
POOL = tuple(piece(f"{s}-{i}-{j}", s, r) for s in ("8", "9") for i, r in enumerate(RECIPES) for j in range(2))
SHARES = np.array([p.label.vector(NAMES) for p in POOL if p.label])
TESTS = POOL[:4]


def test_references_are_of_the_session_and_of_another_recipe():
    for seed in range(5):
        for draw in drawn(TESTS, POOL, SHARES, 3, seed=seed):
            mine = TESTS[draw.test]
            chosen = [POOL[i] for i in draw.references]
            assert len({p.path for p in chosen}) == 3
            assert all(p.session == mine.session and p.label != mine.label for p in chosen)
            assert np.array_equal(draw.labels, SHARES[draw.references])


def test_draws_differ_by_seed_and_repeat():
    first, again, other = (drawn(TESTS, POOL, SHARES, 3, seed=seed) for seed in (0, 0, 1))
    same = [np.array_equal(a.references, b.references) for a, b in zip(first, again, strict=True)]
    assert all(same)
    assert any(not np.array_equal(a.references, b.references) for a, b in zip(first, other, strict=True))


def test_the_control_keeps_the_recordings_and_changes_the_labels():
    right, wrong = drawn(TESTS, POOL, SHARES, 3, seed=0), drawn(TESTS, POOL, SHARES, 3, seed=0, wrong=np.eye(3))
    assert np.array_equal(right[0].references, wrong[0].references)
    assert any(not np.array_equal(a.labels, b.labels) for a, b in zip(right, wrong, strict=True))


def test_a_session_of_one_recipe_has_no_references():
    with pytest.raises(ConfigError, match="no other recipe"):
        drawn(POOL[:1], POOL[:2], SHARES[:2], 1, seed=0)


@pytest.fixture(scope="module")
def known() -> KnownSessions:
    """Two sensors whose signals tell the mixture; the new session shifts both."""
    rng = np.random.default_rng(0)
    shares = np.tile(SHARES, (3, 1))
    signal = shares @ np.array([[0.0, 2.0], [1.0, 0.5], [2.5, 2.5]])
    levels = signal + 0.02 * rng.normal(size=signal.shape)
    shift = np.array([0.6, -0.5])
    windows = np.repeat(levels[:, None], 4, axis=1)
    names = tuple(map(str, range(len(windows))))
    law = steady_posterior(levels, shares, np.repeat(np.arange(3), len(SHARES)))
    tests = [windows[i][None] + shift for i in range(4)]
    return KnownSessions(
        Samples(windows, shares, names, names), levels, shares, tests, levels[: len(POOL)] + shift, law, np.ones(2)
    )


@pytest.mark.parametrize("method", MAPS)
def test_every_map_undoes_a_shift(known, method):
    def nearest(cut: np.ndarray) -> np.ndarray:
        return known.shares[np.argmin(np.sum((cut.mean(axis=1)[:, None] - known.levels) ** 2, axis=2), axis=1)]

    draws = drawn(TESTS, POOL, SHARES, 5, seed=0)
    plain, better = (np.abs(mapped(nearest, known, draws, how) - SHARES[:4]).mean() for how in ("none", method))
    assert better < 0.5 * plain


def test_the_law_uses_them_too_and_labels_alone_do_not_suffice(known):
    draws = drawn(TESTS, POOL, SHARES, 5, seed=0)
    errors = [np.abs(g - SHARES[:4]).mean() for g in (through_law(known, draws, about=True), of_labels(draws))]
    assert errors[0] < 0.5 * errors[1]


def test_references_join_the_training_of_a_peer(known):
    draws = drawn(TESTS, POOL, SHARES, 5, seed=0)
    assert np.allclose(added("5-NN", known, draws).sum(axis=1), 1)
