"""The work folder: what was finished comes back, and nothing else passes for it."""

from dataclasses import replace

import numpy as np
import pytest

from studies.harness import work as code
from studies.harness.definitions import STUDIES, StudyFold, chosen
from studies.harness.jobs import Options, jobs_of
from studies.harness.progress import RemainingTime, in_words
from studies.harness.variants import UNMIXNET
from studies.harness.work import PEER, Facts, Finished, Guess, Job, Work, code_version, fingerprint, stripped
from unmixnet.errors import UnmixError
from unmixnet.recordings.datasets import load_dataset
from unmixnet.recordings.pieces import Piece


@pytest.fixture(scope="module")
def fold() -> StudyFold:
    data = load_dataset("simulated")
    pieces = [Piece(entry.path, entry.label, entry.session) for entry in data.entries[:6]]
    return StudyFold("all", data, tuple(pieces[:4]), {"simulated:seen": tuple(pieces[4:])}, {"simulated:seen": "test"})


@pytest.fixture
def job(fold) -> Job:
    return Job(STUDIES["simulated"][0], fold, UNMIXNET, 0, "k", "c")


@pytest.fixture
def result() -> Finished:
    values = np.random.default_rng(0).dirichlet(np.ones(12), 5)
    return Finished({"simulated:seen": Guess(values, np.array([0, 0, 0, 1, 1]))}, Facts(7, 3, 2, 0.1, 1.5, "abc", "c"))


def test_a_finished_job_comes_back(tmp_path, job, result):
    work = Work(tmp_path)
    assert work.read(job) is None
    work.write(job, result)
    back = work.read(job)
    assert back.facts == result.facts
    np.testing.assert_array_equal(back.guesses["simulated:seen"].owner, [0, 0, 0, 1, 1])
    np.testing.assert_allclose(back.guesses["simulated:seen"].values, result.guesses["simulated:seen"].values, 1e-6)
    assert [path.name[0] for path in tmp_path.rglob("*.npz")] != ["."]


def test_a_result_of_another_seed_recipe_or_code_is_another_result(tmp_path, job, result):
    work = Work(tmp_path)
    work.write(job, result)
    for other in (replace(job, seed=1), replace(job, key="other"), replace(job, code="other")):
        assert work.read(other) is None
    assert Work(tmp_path, stale=True).read(replace(job, code="other")) is not None


@pytest.mark.parametrize("keep", [0, 100, -1])
def test_a_damaged_file_is_made_anew(tmp_path, job, result, keep):
    work = Work(tmp_path)
    work.write(job, result)
    path = tmp_path / job.place
    path.write_bytes(path.read_bytes()[:keep])
    assert work.read(job) is None


def test_weights_count_only_with_their_result(tmp_path, job, result):
    work = Work(tmp_path)
    work.write_weights(job, {"w": np.ones(3)})
    assert work.read_weights(job) is None
    work.write(job, result)
    np.testing.assert_array_equal(work.read_weights(job)["w"], np.ones(3))


def test_what_takes_long_is_computed_once_for_the_same_ingredients(tmp_path):
    work, calls = Work(tmp_path), []

    def make():
        calls.append(1)
        return {"value": 1.5}

    assert work.remembered("x", [1], make) == work.remembered("x", [1], make) == {"value": 1.5}
    assert len(calls) == 1
    work.remembered("x", [2], make)
    assert len(calls) == 2


def test_the_key_follows_recordings_and_recipe(fold):
    fewer = replace(fold, train=fold.train[1:])
    keys = {fingerprint(fold, "a"), fingerprint(fold, "b"), fingerprint(fewer, "a")}
    assert len(keys) == 3 and fingerprint(fold, "a") in keys


def test_code_is_another_when_its_statements_are_and_not_when_its_comments_are():
    plain = stripped("def f(x):\n    return x + 1\n")
    assert stripped('"""Doc."""\n\n\ndef f(x):  # why\n    """What."""\n    return x + 1\n') == plain
    assert stripped("def f(x):\n    return x + 2\n") != plain
    assert code_version(PEER) == code_version(PEER) != code_version(("model",))


def test_jobs_of_quick_and_of_paper_size_are_jobs_of_their_own():
    studies = chosen("simulated", ("simulated",), ("mlp", "ridge", "direct inverse"))
    jobs = [jobs_of(studies, None, o) for o in (Options(2), Options(2, quick=True), Options(2, size="paper"))]
    keys = [{job.variant.name: job.key for job in some} for some in jobs]
    assert len({some["mlp"] for some in keys}) == len({some["direct inverse"] for some in keys}) == 3
    assert len({some["ridge"] for some in keys}) == 1
    assert [job.seed for job in jobs[0]] == [0, 0, 1, 0], "ridge, two seeds of mlp, one of the slow inverse"


def test_the_rest_is_expected_to_take_as_long_as_its_like_did(job):
    pace = RemainingTime()
    assert pace.left([job]) is None and in_words(None) == "unknown"
    pace.add(job, 100.0)
    assert pace.left([replace(job, seed=1), replace(job, seed=2)]) == 200.0
    other = replace(job, study=STUDIES["simulated"][1])
    pace.add(other, 300.0)
    assert pace.left([other]) == 300.0 and pace.left([job]) == 100.0
    assert in_words(4800) == "1 h 20 min" and in_words(300) == "5 min" and in_words(20) == "20 s"


@pytest.mark.parametrize("parts", [code.UNMIXNET, code.BASELINE, code.INVERSE, code.STEADY, code.PEER])
def test_the_code_that_a_result_depends_on_is_there(parts):
    assert len(code_version(parts)) == 12


def test_code_that_is_gone_is_named():
    with pytest.raises(UnmixError, match="reproduce/coupling"):
        code_version(("physics", "reproduce/coupling.py"))
