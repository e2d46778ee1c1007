"""Ten thousand windows on two nodes with a worker killed, and what two nodes are worth."""

from functools import partial

import pytest

from tests.inference.archive.archives import answers, errors, write_csv
from tests.inference.archive.workers import work
from tests.inference.bundle import tiny
from unmixnet.inference.archive import run as running
from unmixnet.inference.archive.run import unmix_archive
from unmixnet.inference.archive.workers import Local, OnRay


@pytest.mark.soak
def test_ten_thousand_windows_on_two_nodes_with_a_worker_killed(nodes, bundle, tmp_path, monkeypatch, measured):
    write_csv(tmp_path / "in", 1000, seconds=60)
    (tmp_path / "in" / "even" / "r0501.csv").write_text("bad")
    model = tiny.folder() / "bundle"
    here = unmix_archive(tmp_path / "in", tmp_path / "here", bundle, model, place=Local(2))
    (tmp_path / "kill").touch()
    monkeypatch.setattr(running, "answer_unit", partial(work.answer_or_die, marker=str(tmp_path / "kill")))
    there = unmix_archive(tmp_path / "in", tmp_path / "there", bundle, model, place=OnRay(nodes))
    assert here.fresh_windows == there.fresh_windows == 11_000 and not (tmp_path / "kill").exists()
    measured("windows", there.fresh_windows)
    ratio = round(here.seconds / there.seconds, 3)
    print(f"throughput on two Ray nodes, one worker killed, over that of two local processes: {ratio}")
    measured("throughput on two Ray nodes, one worker killed, over that of two local processes", ratio)
    assert errors(tmp_path / "there") == errors(tmp_path / "here") != []
    most = 0.0
    for mine, other in zip(answers(tmp_path / "there"), answers(tmp_path / "here"), strict=True):
        assert (mine["file"], mine["start_s"], mine["verdict"]) == (other["file"], other["start_s"], other["verdict"])
        most = max(most, *(abs(mine[name] - other[name]) for name in mine if isinstance(mine[name], float)))
    measured("largest difference of a prediction", most)
    assert most < 1e-6
