"""On a cluster of two nodes, with one worker killed, a sweep and an archive come out as they do in one process."""

from dataclasses import asdict, replace
from functools import partial

import numpy as np
import pytest

from studies.harness.results import collect
from studies.harness.run import run_jobs
from studies.harness.work import Work
from tests.inference.archive.archives import answers, errors, write_csv
from tests.inference.archive.workers import study, work
from tests.inference.bundle import tiny
from unmixnet.errors import ConfigError, UnmixError
from unmixnet.inference.archive import run as running
from unmixnet.inference.archive.run import unmix_archive
from unmixnet.inference.archive.workers import OnRay, cluster, spread


@pytest.mark.soak
def test_an_archive_on_two_nodes_with_a_worker_killed_is_that_of_one_process(nodes, bundle, tmp_path, monkeypatch):
    monkeypatch.setattr("unmixnet.inference.archive.inputs._UNIT_FILES", 4)
    write_csv(tmp_path / "in", 16)
    (tmp_path / "in" / "even" / "r0007.csv").write_text("bad")
    model = tiny.folder() / "bundle"
    unmix_archive(tmp_path / "in", tmp_path / "here", bundle, model)
    (tmp_path / "kill").touch()
    monkeypatch.setattr(running, "answer_unit", partial(work.answer_or_die, marker=str(tmp_path / "kill")))
    report = unmix_archive(tmp_path / "in", tmp_path / "there", bundle, model, place=OnRay(nodes))
    assert not (tmp_path / "kill").exists() and report.fresh_windows == 48
    assert errors(tmp_path / "there") == errors(tmp_path / "here") != []
    for there, here in zip(answers(tmp_path / "there"), answers(tmp_path / "here"), strict=True):
        for name, value in here.items():
            assert there[name] == (pytest.approx(value, abs=1e-6) if isinstance(value, float) else value)
    assert not list((tmp_path / "there" / "windows").glob(".*")), "what the killed worker left is removed"


@pytest.mark.soak
def test_a_sweep_on_two_nodes_with_a_worker_killed_has_the_same_metrics_to_the_bit(nodes, tmp_path):
    jobs = study.jobs(tmp_path)
    here, there = Work(tmp_path / "here"), Work(tmp_path / "there")
    assert run_jobs(jobs, here, None, study.OPTIONS) == []
    (tmp_path / study.KILL).touch()
    assert run_jobs(jobs, there, None, replace(study.OPTIONS, ray=nodes)) == []
    assert not (tmp_path / study.KILL).exists()
    assert [asdict(row) for row in collect(jobs, there).rows] == [asdict(row) for row in collect(jobs, here).rows]
    for job in jobs:
        for protocol, guess in here.read(job).guesses.items():
            np.testing.assert_allclose(there.read(job).guesses[protocol].values, guess.values, atol=1e-6)


def test_a_sweep_that_is_done_is_not_done_again(nodes, tmp_path):
    jobs = [job for job in study.jobs(tmp_path) if job.variant.name == "mean"]
    folder = Work(tmp_path / "there")
    run_jobs(jobs, folder, None, replace(study.OPTIONS, ray=nodes))
    (tmp_path / study.KILL).touch()
    run_jobs(jobs, folder, None, replace(study.OPTIONS, ray=nodes))
    assert (tmp_path / study.KILL).exists(), "nobody read a recording"


def test_errors_and_deaths_are_told_like_those_of_local_processes(nodes):
    with pytest.raises(UnmixError, match=r"task 3: the third is bent. Straighten it."):
        list(spread(work.bent, range(6), OnRay(nodes)))


def test_tasks_are_drawn_as_they_are_done(nodes):
    drawn = []
    tasks = (drawn.append(n) or n for n in range(10**9))
    running = spread(work.slow, tasks, OnRay(nodes))
    for _ in range(5):
        next(running)
    assert len(drawn) <= 5 + 4
    running.close()


def test_without_ray_it_is_said_how_to_get_it(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"Ray is not installed. Install it with: pip install 'unmixnet\[ray\]'"):
        list(spread(work.square, [1], OnRay()))


def test_twin_no_cluster_at_an_address_is_told(nodes):
    """Runs while the two nodes do: an address is only asked for where Ray is not connected yet."""
    with cluster(OnRay("10.255.255.1:1")) as ray:
        assert ray.is_initialized()
