"""What reveals the label without the odour: time of recording, first sample, temperature and
pressure.

A test set is only worth something if such sources fail on it. Every score stands beside the best constant
guess, and beside a reference that sees the whole recording.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from unmixnet.recordings.audit.files import AuditedFile, is_test, is_training
from unmixnet.recordings.audit.report import Leak, Proximity
from unmixnet.recordings.recording import Mixture

__all__ = ["leaks", "nearest_in_time", "proximity"]

ENVIRONMENT_UNITS = frozenset({"degC", "hPa", "%RH", "m"})
_TREES = 200
_FEWEST = 20
Features = Callable[[AuditedFile], np.ndarray]


def nearest_in_time(
    tests: Sequence[AuditedFile], trains: Sequence[AuditedFile], times_h: Mapping[str, float]
) -> list[tuple[AuditedFile, AuditedFile, float]]:
    """For each timed test recording: the training recording nearest in time, and the minutes between them."""
    timed = sorted((item for item in trains if item.file in times_h), key=lambda item: times_h[item.file])
    if not timed:
        return []
    stamps = np.array([times_h[item.file] for item in timed])
    pairs = []
    for test in tests:
        if test.file in times_h:
            distance = np.abs(stamps - times_h[test.file])
            pairs.append((test, timed[int(distance.argmin())], float(distance.min() * 60)))
    return pairs


def proximity(recordings: Sequence[AuditedFile], times_h: Mapping[str, float]) -> tuple[Proximity, ...]:
    """How close in time each test split lies to training."""
    trains = [item for item in recordings if is_training(item.split)]
    near_in_time = []
    for split in _test_splits(recordings):
        pairs = nearest_in_time([item for item in recordings if item.split == split], trains, times_h)
        if pairs:
            minutes = np.array([minutes for _, _, minutes in pairs])
            near = int(np.sum(minutes <= 10))
            near_in_time.append(Proximity(split, len(pairs), float(np.median(minutes)), near))
    return tuple(near_in_time)


def leaks(recordings: Sequence[AuditedFile], times_h: Mapping[str, float], *, seed: int = 0) -> tuple[Leak, ...]:
    """Score every source on every test split of every array; without splits, by cross-validation."""
    by_array: dict[tuple[str, ...], list[AuditedFile]] = defaultdict(list)
    for item in recordings:
        if item.recording.label is not None:
            by_array[item.recording.channels].append(item)
    revealing: list[Leak] = []
    for channels, group in by_array.items():
        for name, trains, tests in _trials(group, seed):
            revealing += _score_sources(", ".join(channels), name, trains, tests, times_h, seed)
    return tuple(revealing)


def _score_sources(
    channels: str,
    name: str,
    trains: Sequence[AuditedFile],
    tests: Sequence[AuditedFile],
    times_h: Mapping[str, float],
    seed: int,
) -> list[Leak]:
    components = sorted({part for item in trains for part in _label(item).support})
    tests = [item for item in tests if _label(item).support <= set(components)]
    if len(tests) < _FEWEST or len(trains) < _FEWEST or len(components) < 2:
        return []
    A, B = _ratios(trains, components), _ratios(tests, components)
    classes = bool(np.all(A.max(axis=1) == 1) and np.all(B.max(axis=1) == 1))
    metric, score = ("accuracy", _accuracy) if classes else ("MAE", _mae)
    null = score(np.tile(A.mean(axis=0), (len(B), 1)), B)

    def leak(source: str, guess: np.ndarray, truth: np.ndarray, *, reference: bool = False) -> Leak:
        return Leak(channels, source, metric, score(guess, truth), null, name, len(truth), reference)

    scored = []
    pairs = nearest_in_time(tests, trains, times_h)
    if len(pairs) >= _FEWEST:
        near = _ratios([train for _, train, _ in pairs], components)
        truth = _ratios([test for test, _, _ in pairs], components)
        scored.append(leak("the training recording nearest in time", near, truth))
    for source, features, reference in _sources(trains[0]):
        guess = _trees(trains, A, tests, features, classes, seed)
        scored.append(leak(source, guess, B, reference=reference))
    return scored


def _sources(example: AuditedFile) -> list[tuple[str, Features, bool]]:
    """What a model may see: a name, the features, and whether it is the honest reference."""
    units = np.array(example.recording.units)
    surroundings = np.isin(units, list(ENVIRONMENT_UNITS))
    gas = ~surroundings
    sources: list[tuple[str, Features, bool]] = [
        ("the first sample of the gas channels alone", lambda item: item.recording.readings[0, gas], False)
    ]
    if np.any(surroundings):
        sources.append(("temperature, pressure and humidity alone", lambda item: item.level[surroundings], False))
    return [
        *sources,
        ("the whole recording: mean and spread of the gas channels", _level_and_spread(gas), True),
    ]


def _level_and_spread(gas: np.ndarray) -> Features:
    def features(item: AuditedFile) -> np.ndarray:
        readings = np.nan_to_num(item.recording.readings[:, gas])
        return np.concatenate([readings.mean(axis=0), readings.std(axis=0), readings[-1] - readings[0]])

    return features


def _trees(
    trains: Sequence[AuditedFile],
    A: np.ndarray,
    tests: Sequence[AuditedFile],
    features: Features,
    classes: bool,
    seed: int,
) -> np.ndarray:
    """Ratios (or class shares) predicted by extremely randomised trees."""
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    X, Z = (np.nan_to_num(np.stack([features(item) for item in group])) for group in (trains, tests))
    if not classes:
        return ExtraTreesRegressor(_TREES, random_state=seed).fit(X, A).predict(Z)
    model = ExtraTreesClassifier(_TREES, random_state=seed).fit(X, A.argmax(axis=1))
    guess = np.zeros((len(Z), A.shape[1]))
    guess[:, model.classes_] = model.predict_proba(Z)
    return guess


def _trials(group: Sequence[AuditedFile], seed: int) -> list[tuple[str, Sequence[AuditedFile], Sequence[AuditedFile]]]:
    """Test splits against training; without splits, one shuffled fifth against the rest."""
    trains = [item for item in group if is_training(item.split)]
    splits = _test_splits(group)
    if trains and splits:
        return [(split, trains, [item for item in group if item.split == split]) for split in splits]
    order = np.random.default_rng(seed).permutation(len(group))
    cut = len(group) // 5
    tests, rest = ([group[i] for i in part] for part in (order[:cut], order[cut:]))
    return [("a random fifth", rest, tests)]


def _test_splits(recordings: Sequence[AuditedFile]) -> list[str]:
    return sorted({item.split for item in recordings if is_test(item.split)})


def _label(item: AuditedFile) -> Mixture:
    assert item.recording.label is not None, "unlabelled recordings were left out above"
    return item.recording.label


def _ratios(recordings: Sequence[AuditedFile], components: Sequence[str]) -> np.ndarray:
    return np.stack([_label(item).vector(components) for item in recordings])


def _accuracy(guess: np.ndarray, truth: np.ndarray) -> float:
    return float(np.mean(guess.argmax(axis=1) == truth.argmax(axis=1)))


def _mae(guess: np.ndarray, truth: np.ndarray) -> float:
    return float(np.abs(guess - truth).mean())
