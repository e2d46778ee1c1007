"""Every table of the classical peers, with controls that use no sensor at all: `python -m studies peers`."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from studies.peers.models import PEERS
from studies.peers.tables import BASE_WINDOWS, MIXTURE_WINDOWS, TABLES, PeerTable
from studies.peers.windows import gather_samples
from studies.uci.plateau_table import run_plateaus
from unmixnet.inference.scores import Row, score
from unmixnet.recordings.audit.file_names import recording_times_h
from unmixnet.recordings.pieces import Recall
from unmixnet.recordings.protocols import Fold, Protocol, protocol
from unmixnet.recordings.recording import Recording
from unmixnet.recordings.samples import Samples, Task

__all__ = ["CONTROLS", "names", "reproduce_peers", "run_control", "run_table", "statements"]

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


def run_table(table: PeerTable, recall: Recall, seeds: int, progress: Progress) -> list[Row]:
    """Fit every peer on every fold and score it on every protocol that shares the training recordings."""
    protocols = [protocol(name, recall.root) for name in table.protocols]
    count = {name: seeds if PEERS[name].seeded else 1 for name in table.peers}
    tick = progress(table.name, sum(count.values()) * len(protocols[0].folds))
    guesses: dict[tuple[str, str, int], list[np.ndarray]] = {}
    tests: dict[str, list[Samples]] = {made.name: [] for made in protocols}
    for number in range(len(protocols[0].folds)):
        folds = [made.folds[number] for made in protocols]
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
    table: PeerTable, protocols: Sequence[Protocol], folds: Sequence[Fold], recall: Recall
) -> tuple[Samples, list[Samples]]:
    """Training windows, and test windows of each protocol."""
    data = protocols[0].data
    assert all(fold.train == folds[0].train for fold in folds), "protocols of one table share their training"
    training = [recall(data, piece) for piece in folds[0].train]
    ready = table.windows.fit(training)
    tests = [gather_samples([recall(data, piece) for piece in fold.test], ready, data.components) for fold in folds]
    return gather_samples(training, ready, data.components), tests


def _score_protocol(
    table: PeerTable,
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


ENVIRONMENT = ("Temperature", "Pressure", "Humidity", "Altitude")
Vector = Callable[[Recording], np.ndarray]


def _first_row(channels: Sequence[str]) -> Vector:
    return lambda recording: recording.select(channels).readings[0]


def _mean_of(channels: Sequence[str]) -> Vector:
    return lambda recording: np.nan_to_num(recording.select(channels).readings).mean(axis=0)


CONTROLS: dict[str, tuple[str, Task, str, Vector | None]] = {
    "base first row": (
        "smellnet-base:official",
        Task.CLASSES,
        "control: first row of the six gas channels, random forest",
        _first_row(BASE_WINDOWS.channels),
    ),
    "base environment": (
        "smellnet-base:official",
        Task.CLASSES,
        "control: mean T, P, RH, altitude only, random forest",
        _mean_of(ENVIRONMENT),
    ),
    "official first row": (
        "smellnet-mixture:official:seen",
        Task.RATIOS,
        "control: first row only, random forest",
        _first_row(MIXTURE_WINDOWS.channels),
    ),
    "clean first row": (
        "smellnet-mixture:clean:seen",
        Task.RATIOS,
        "control: first row only, random forest",
        _first_row(MIXTURE_WINDOWS.channels),
    ),
    "clean nearest in time": (
        "smellnet-mixture:clean:seen",
        Task.RATIOS,
        "control: label of the training recording nearest in time",
        None,
    ),
    "new-session first row": (
        "smellnet-mixture:new-session",
        Task.RATIOS,
        "control: first row only, random forest",
        _first_row(MIXTURE_WINDOWS.channels),
    ),
}
"""Controls by name: protocol, task, what is printed, what is seen of a recording (None: only its time)."""


def run_control(name: str, recall: Recall, seeds: int) -> list[Row]:
    """Rows of one control, per recording."""
    where, task, title, vector = CONTROLS[name]
    made = protocol(where, recall.root)
    (fold,) = made.folds
    truth = _targets(fold, recall, made.data.components)
    if vector is None:
        guesses = [_nearest_in_time(fold, truth[0])]
    else:
        X, Z = (np.stack([vector(recall(made.data, p)) for p in side]) for side in (fold.train, fold.test))
        guesses = [_forest(X, truth[0], Z, task, seed) for seed in range(seeds)]
    paths = tuple(piece.path for piece in fold.test)
    supports = tuple("+".join(sorted(p.label.support)) for p in fold.test if p.label)
    test = Samples(np.zeros((len(paths), 1, 1)), truth[1], paths, supports)
    return score(task, guesses, test, names=(where, fold.name, title), resample=made.resample, level="recording")


def _targets(fold: Fold, recall: Recall, components: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    train, test = (
        np.stack([piece.label.vector(components) for piece in side if piece.label]) for side in (fold.train, fold.test)
    )
    return train, test


def _nearest_in_time(fold: Fold, labels: np.ndarray) -> np.ndarray:
    """Label of the training recording nearest in time; recordings without a time do not count."""
    times = recording_times_h([piece.path for piece in (*fold.train, *fold.test)])
    known = np.array([i for i, piece in enumerate(fold.train) if piece.path in times])
    stamps = np.array([times[fold.train[i].path] for i in known])
    nearest = [known[np.abs(stamps - times[piece.path]).argmin()] for piece in fold.test]
    return labels[nearest]


def _forest(X: np.ndarray, Y: np.ndarray, Z: np.ndarray, task: Task, seed: int) -> np.ndarray:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    if task is Task.RATIOS:
        return RandomForestRegressor(300, random_state=seed).fit(X, Y).predict(Z)
    model = RandomForestClassifier(300, random_state=seed).fit(X, Y.argmax(axis=1))
    scores = np.zeros((len(Z), Y.shape[1]))
    scores[:, model.classes_] = model.predict_proba(Z)
    return scores
