"""Controls: sources that have hardly smelled anything, scored on the same splits as the peers."""

from collections.abc import Callable, Sequence

import numpy as np

from studies.peers.tables import BASE_WINDOWS, MIXTURE_WINDOWS
from unmixnet.inference.scores import Row, score
from unmixnet.recordings.audit.file_names import recording_times_h
from unmixnet.recordings.pieces import Recall
from unmixnet.recordings.protocols import Fold, protocol
from unmixnet.recordings.recording import Recording
from unmixnet.recordings.samples import Samples, Task

__all__ = ["CONTROLS", "run_control"]

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
