"""Long commands of the pages run, with what `plans.py` adds; only `make soak` does this."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.inference.bundle.tiny import shared_home  # noqa: F401
from tests.live.boards import Board, lines
from tests.live.broker import Broker
from tests.live.faults import sound_line
from tests.live.server_process import linked
from tests.model.tiny import model
from tests.pages.page_text import ROOT, with_page
from tests.pages.plans import LIVE, LONG, LONG_BLOCKS, plan_of
from tests.pages.workspace import commands, words_of, workspace  # noqa: F401
from tests.training.calibration.frozen import frozen_model


def in_order(commands: list[str]) -> list[str]:
    """Models before those who use them, calibrations before theirs, a run before its continuation."""
    first = ("unmixnet train", "unmixnet calibrate", "unmixnet export")
    return sorted(commands, key=lambda command: (not command.startswith(first), "--resume" in command, command))


def program(words: list[str]) -> list[str]:
    return [sys.executable, "-m", *words] if words[0] == "unmixnet" else [sys.executable, *words[1:]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a Ray cluster that stands in for somebody's."""
    pytest.importorskip("ray", reason="needs Ray: pip install 'unmixnet[ray]'")
    from ray.cluster_utils import Cluster

    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 << 20})
    yield started.address
    started.shutdown()


@pytest.mark.soak
@pytest.mark.parametrize("command", in_order(commands(LONG)))
def test_a_long_command_runs(workspace, command, measured, request):  # noqa: F811
    plan = plan_of(command)
    if plan.data:
        request.getfixturevalue("data_folder")
    ray = request.getfixturevalue("cluster") if "10.0.0.1" in command else ""
    words = words_of(command, ray=ray)
    began = time.monotonic()
    done = subprocess.run(program(words), capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    measured(f"seconds of {' '.join(words)}", round(time.monotonic() - began, 1))
    assert done.returncode in plan.codes, done.stderr[-3000:]


@pytest.mark.soak
def test_twin_a_long_command_that_fails_is_noticed(workspace):  # noqa: F811
    words = words_of("unmixnet unmix nowhere.csv")
    assert subprocess.run(program(words), capture_output=True).returncode not in plan_of("unmixnet unmix").codes


# ---------------------------------------------------------------- live


def rows_of(store: Path) -> int:
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as opened:
        return opened.execute("SELECT count(*) FROM sample").fetchone()[0]


@contextmanager
def talking(say) -> Iterator[None]:
    """Somebody who says something again and again."""
    end = threading.Event()

    def work() -> None:
        number = 0
        while not end.wait(0.1):
            say(number)
            number += 1

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join(10)


@contextmanager
def machines(command: str, folder: Path) -> Iterator[dict[str, str]]:
    """A board at a pseudo-terminal, or a broker of this machine, that sends ten lines a second."""
    if "--serial" in command:
        with Board(folder) as board, talking(lambda n: board.print(lines(n, n + 1))):
            yield {"board": str(board.port)}
    elif "--mqtt" in command:
        broker = Broker(folder)
        with talking(lambda n: asyncio.run(broker.publish("topic", sound_line(n)))):
            yield {"broker": str(broker.port)}
        broker.kill()
    else:
        yield {}


@pytest.mark.soak
@pytest.mark.parametrize("command", commands(LIVE))
def test_a_live_command_prints_its_link_and_stores_what_it_hears(workspace, command, tmp_path):  # noqa: F811
    store = tmp_path / "recordings.db"
    if "out/mine" in command and not Path("out/mine").exists():
        words = words_of("unmixnet train --folder my_recordings -o out/mine")
        subprocess.run(program(words), check=True, capture_output=True)
    with machines(command, tmp_path) as addresses:
        words = [word for word in words_of(command, store=str(store), **addresses) if word != "--browser"]
        with linked(program(words), env=os.environ | {"BROWSER": "true"}) as link:
            assert link.startswith("http://127.0.0.1:")
            end = time.monotonic() + 60
            while time.monotonic() < end and not (store.exists() and rows_of(store)):
                time.sleep(0.2)
    assert rows_of(store) > 0


# ---------------------------------------------------------------- Python


@pytest.mark.soak
@pytest.mark.parametrize(
    ("page", "block"),
    [(page, block) for page, block in with_page("python") if page in LONG_BLOCKS],
    ids=lambda value: value[:24],
)
def test_long_python_of_the_pages_runs(tmp_path, monkeypatch, page, block):
    """With a frozen simulator of three substances under the name that the page uses, and recipes for it."""
    monkeypatch.chdir(tmp_path)
    frozen_model(model(), ("mango", "pear", "clove"), seconds=30.0).save(tmp_path / "sim")
    made: dict = {"ratios": np.array([[1, 0, 0], [0.2, 0.3, 0.5]])}
    exec(compile(block, page, "exec"), made)
    signal = made["run"].signal if "run" in made else made["y"]
    assert signal.size and np.all(np.isfinite(signal))


@pytest.mark.soak
def test_the_ten_lines_of_the_readme_train_a_model_that_beats_the_mean(measured):
    code = next(block for page, block in with_page("python") if page == "README.md" and "fit" in block)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    error = float(done.stdout.split()[-1])
    measured("mean absolute error that the README's ten lines print", error)
    from unmixnet.recordings.datasets import load_dataset

    data = load_dataset("simulated")
    mean, truth = data.arrays("training").y.mean(axis=0), data.arrays("test_seen").y
    assert error < abs(truth - mean).mean()
