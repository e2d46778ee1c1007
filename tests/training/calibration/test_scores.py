"""Variance explained: exact laws explain everything, sessions can be told from references, nulls are what they say."""

from dataclasses import replace

import numpy as np
import pytest

from unmixnet.model.predict import single_precision
from unmixnet.simulation.builders import portable_enose
from unmixnet.training.calibration.calibrate import Setup
from unmixnet.training.calibration.scores import in_sample, new_sessions, null_laws, out_of_sample
from unmixnet.training.calibration.setup import Recordings, fingerprints_of
from unmixnet.training.calibration.theta import Jar, NuisancePrior

RNG = np.random.default_rng(0)
K, M, T, N = 3, 2, 4, 48
LEVELS = RNG.normal(size=(K, M))
AIR = (-3.0, -3.0)


def recordings(n: int = N, offset: float = 0.0, seed: int = 0) -> Recordings:
    """Mixtures whose level is linear in the ratios; the second half is of another session."""
    rng = np.random.default_rng(seed)
    ratios = rng.dirichlet(np.full(K, 0.5), n)
    ratios[: 2 * K] = np.tile(np.eye(K), (2, 1))
    session = (np.arange(n) % 2).astype(int)
    Y = (ratios @ LEVELS)[:, None] + offset * session[:, None, None] + 1e-3 * rng.normal(size=(n, T, M))
    return Recordings(Y, ratios, session, ("0", "1"), tuple(map(str, range(n))))


def setup(train: Recordings) -> Setup:
    """With nothing but sessions as nuisances."""
    jar = Jar(portable_enose(sensors=("a", "b")), (1.0, 1.0), "exposed", "constant", 1.0, float(T))
    return Setup("linear", ("x", "y", "z"), jar, train, AIR, 2.0, NuisancePrior(0.0, 0.0, 0.0, 1.0))


@pytest.fixture(scope="module")
def laws():
    """Fitted to recordings whose second session lies higher."""
    with single_precision():
        return {law.name: law for law in null_laws(setup(recordings(offset=0.7)))}


def test_a_linear_law_explains_linear_recordings_once_it_knows_their_session(laws):
    told = {one.levels: one for one in in_sample(laws["linear"], recordings(offset=0.7))}
    assert told["session"].total > 0.999
    assert told["none"].total < 0.95
    assert told["session"].lo <= told["session"].total <= told["session"].hi


def test_the_mean_of_pure_recordings_does_too(laws):
    assert in_sample(laws["pure mean"], recordings(offset=0.7))[1].total > 0.99


def test_a_constant_per_substance_does_not(laws):
    assert in_sample(laws["constant"], recordings(offset=0.7))[1].total < 0.98


def test_recordings_of_an_unknown_session_get_no_levels(laws):
    train, test = recordings(offset=0.7), recordings(offset=0.7, seed=1)
    unknown = replace(test, session=np.full(N, -1))
    assert [one.levels for one in out_of_sample(laws["linear"], train, unknown)] == ["none"]
    assert [one.levels for one in out_of_sample(laws["linear"], train, test)] == ["none", "session"]


def test_three_references_tell_the_level_of_a_new_session(laws):
    train, test = recordings(offset=0.7), recordings(seed=2)
    far = replace(test, Y=test.Y + 1.5)
    scores = new_sessions(laws["linear"], train, far, np.full(N, "new"))
    before, after = scores[1], scores[2]
    assert (before.levels, after.levels) == ("none", "references")
    assert before.recordings == after.recordings == N - 3
    assert after.total > 0.9 > before.total


def test_fingerprints_are_medians_of_pure_recordings_at_dose_one():
    train = recordings()
    H = fingerprints_of(train)
    assert len(H) == K
    np.testing.assert_allclose(H.Y.mean(axis=1), LEVELS, atol=0.01)
    diluted = replace(train, ratios=train.ratios * 0.5)
    assert len(fingerprints_of(diluted)) == 0
