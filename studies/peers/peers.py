"""Every table of the classical peers, with their controls: `python -m studies peers`."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from studies.peers.controls import CONTROLS, run_control
from studies.peers.models import PEERS
from studies.peers.tables import TABLES, Table
from studies.uci.plateau_peers import run_plateaus
from unmixnet.inference.scores import Row, score
from unmixnet.recordings.pieces import Recall
from unmixnet.recordings.protocols import Fold, Protocol, protocol
from unmixnet.recordings.samples import Samples, gather_samples

__all__ = ["names", "reproduce_peers", "run_table", "statements"]

Progress = Callable[[str, int], Callable[[], None]]
PLATEAUS = "plateaus"


def names() -> tuple[str, ...]:
    """What `--only` may name: tables, controls and the plateaus."""
    return (PLATEAUS, *CONTROLS, *(table.name for table in TABLES))


def reproduce_peers(
    root: str | Path | None,
    *,
    seeds: int = 10,
    only: Sequence[str] = (),
    progress: Progress = lambda name, steps: lambda: None,
) -> Iterator[tuple[str, list[Row]]]:
    """Run tables and controls (all, or only the named ones); give each with its rows when it is done."""
    recall = Recall(root)
    for name in only or names():
        if name in CONTROLS:
            tick = progress(f"control: {name}", 1)
            yield name, run_control(name, recall, seeds)
            tick()
        elif name == PLATEAUS:
            yield name, run_plateaus(root, seeds)
        else:
            (table,) = [table for table in TABLES if table.name == name]
            yield name, run_table(table, recall, min(seeds, table.most_seeds), progress)


def statements() -> dict[str, str]:
    """For each peer, the features it sees and what it does with them."""
    return {peer.name: f"{peer.features.name}; {peer.how}" for peer in PEERS.values()}


def run_table(table: Table, recall: Recall, seeds: int, progress: Progress) -> list[Row]:
    """Fit every peer on every fold and score it on every protocol that shares the training recordings."""
    protocols = [protocol(name, recall.root) for name in table.protocols]
    count = {name: seeds if PEERS[name].seeded else 1 for name in table.peers}
    tick = progress(table.name, sum(count.values()) * len(protocols[0].folds))
    guesses: dict[tuple[str, str, int], list[np.ndarray]] = {}
    tests: dict[str, list[Samples]] = {made.name: [] for made in protocols}
    for turn in range(len(protocols[0].folds)):
        folds = [made.folds[turn] for made in protocols]
        train, held = _samples(table, protocols, folds, recall)
        for made, samples in zip(protocols, held, strict=True):
            tests[made.name].append(samples)
        for peer in table.peers:
            for seed in range(count[peer]):
                fitted = PEERS[peer].fit(train, table.task, seed=seed)
                for made, samples in zip(protocols, held, strict=True):
                    guesses.setdefault((made.name, peer, seed), []).append(fitted.predict(samples.windows))
                tick()
    return [row for made in protocols for row in _score_protocol(table, made, count, guesses, tests[made.name])]


def _samples(
    table: Table, protocols: Sequence[Protocol], folds: Sequence[Fold], recall: Recall
) -> tuple[Samples, list[Samples]]:
    """Training windows, and test windows of each protocol."""
    data = protocols[0].data
    assert all(fold.train == folds[0].train for fold in folds), "protocols of one table share their training"
    training = [recall(data, piece) for piece in folds[0].train]
    ready = table.windows.fit(training)
    tests = [gather_samples([recall(data, piece) for piece in fold.test], ready, data.components) for fold in folds]
    return gather_samples(training, ready, data.components), tests


def _score_protocol(
    table: Table,
    made: Protocol,
    count: dict[str, int],
    guesses: dict[tuple[str, str, int], list[np.ndarray]],
    tests: Sequence[Samples],
) -> list[Row]:
    """Rows pooled over folds, and of each fold where the table asks for it."""
    pooled = _joined(tests)
    split = made.folds[0].name if len(made.folds) == 1 else f"{len(made.folds)} folds"
    rows: list[Row] = []
    for peer, seeds in count.items():
        model = peer + table.suffix
        parts = [guesses[made.name, peer, seed] for seed in range(seeds)]
        for level in table.levels:
            whole = [np.concatenate(part) for part in parts]
            rows += score(
                table.task,
                whole,
                pooled,
                names=(made.name, split, model),
                resample=made.resample,
                level=level,
            )
            for i, fold in enumerate(made.folds if table.by_fold else ()):
                alone = [part[i] for part in parts]
                about = (made.name, fold.name, model)
                rows += score(table.task, alone, tests[i], names=about, resample=made.resample, level=level)
    return rows


def _joined(tests: Sequence[Samples]) -> Samples:
    return Samples(
        np.concatenate([test.windows for test in tests]),
        np.concatenate([test.targets for test in tests]),
        tuple(name for test in tests for name in test.recordings),
        tuple(name for test in tests for name in test.supports),
    )
