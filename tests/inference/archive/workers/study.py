"""A study that costs nothing, in a module of its own: workers read its recordings too."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from studies.harness.definitions import Study, StudyFold, chosen
from studies.harness.jobs import Options, fold_jobs
from studies.harness.variants import Network
from studies.harness.work import Job
from tests.inference.archive.workers.work import fall
from unmixnet.recordings.datasets import Dataset, Entry
from unmixnet.recordings.pieces import Piece
from unmixnet.recordings.recording import ChannelHealth, Mixture, Recording

SMALL = (("training.epochs", 2), ("training.patience", 2), ("data.window_s", 4.0), ("data.stride_s", 3.0))
FOODS = ("apple", "banana", "clove")
OPTIONS = Options(seeds=2, changes=SMALL)
KILL = "kill"


def read(data: Dataset, entry: Entry) -> Recording:
    """Ten seconds of three sensors; where the study's folder says so, the first worker that reads is killed."""
    fall(data.root / KILL)
    rng = np.random.default_rng(int(entry.path[1:]))
    level = 200 + 400 * np.array([[0.8, 0.2, 0.1], [0.1, 0.7, 0.3], [0.2, 0.1, 0.9]]) @ entry.label.vector(FOODS)
    counts = 100 + np.linspace(0, 1, 100)[:, None] * level + rng.normal(0, 3, (100, 3))
    health = (ChannelHealth.OK,) * 3
    time_s, channels = np.arange(100) / 10, ("MOX1", "MOX2", "MOX3")
    return Recording(time_s, counts, channels, ("counts",) * 3, 10.0, "made up", entry.path, entry.label, health)


def jobs(root: Path) -> list[Job]:
    """Two peers and a network with two seeds."""
    rng = np.random.default_rng(0)
    labels = [Mixture.from_parts(FOODS, (100 * share).tolist()) for share in rng.dirichlet(np.ones(3), 30)]
    entries = tuple(Entry(f"r{i}", "all", label, f"s{i % 5}") for i, label in enumerate(labels))
    pieces = tuple(Piece(entry.path, entry.label, entry.session) for entry in entries)
    tests = {"simulated:seen": pieces[20:25], "simulated:unseen": pieces[25:]}
    data = Dataset("made up", root, entries, FOODS, read)
    return fold_jobs(study(), StudyFold("all", data, pieces[:20], tests, dict.fromkeys(tests, "test")), OPTIONS)


def study() -> Study:
    (one,) = chosen("simulated", ("simulated",), ("mean", "1-NN", "mlp"))

    def cut(variant):
        if isinstance(variant, Network):
            return variant
        sees = replace(variant.windows, channels=("MOX1", "MOX2", "MOX3"), window=40, stride=40)
        return replace(variant, windows=sees)

    return replace(one, variants=tuple(cut(variant) for variant in one.variants))
