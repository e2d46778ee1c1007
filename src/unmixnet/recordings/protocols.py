"""Named splits, each with what it measures; whole recordings (or whole episodes), never windows.

Two windows of one recording share its air, its session and its noise: a test on one after training on the
other measures memory. A fold with a recording on both sides cannot be built here.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from unmixnet.recordings.datasets import Dataset, Entry, load_dataset
from unmixnet.recordings.location import DataError
from unmixnet.recordings.pieces import Fold, Piece, SplitError, folds_of_episodes, forward_pieces

__all__ = ["NAMES", "Fold", "Piece", "Protocol", "SplitError", "hold_out", "measured", "protocol"]


@dataclass(frozen=True)
class Protocol:
    """A named way to split a data set.

    Arguments:
        name: e.g. "smellnet-mixture:clean:seen".
        measures: what a score on it measures, in one sentence.
        resample: what is independent, for intervals: "recording" or "support".
        data: the data set whose entries the pieces name.
        folds: one or more; scores are pooled over them.
    """

    name: str
    measures: str
    resample: str
    data: Dataset
    folds: tuple[Fold, ...]


def protocol(name: str, root: str | Path | None = None) -> Protocol:
    """The protocol of this name, on the data found under `root` or UNMIXNET_DATA."""
    if "window" in name.lower():
        raise SplitError(
            "a split by windows puts parts of one recording on both sides: it measures memory, not recognition",
            where=name,
            remedy=f"Use a split by recording, e.g. {next(iter(NAMES))}",
        )
    if name not in NAMES:
        raise SplitError(f"no protocol {name!r}", remedy=f"Choose one of {', '.join(NAMES)}")
    measures, resample, make = NAMES[name]
    data = load_dataset(name.split(":")[0], root)
    folds = make(data)
    if not folds or any(not fold.train or not fold.test for fold in folds):
        raise DataError(
            f"the data at hand leaves a side of {name} empty",
            where=str(data.root),
            remedy="Fetch the whole data set, or choose another protocol",
        )
    return Protocol(name, measures, resample, data, folds)


def hold_out(train: Sequence[Piece], *, share: float = 0.2, seed: int = 0) -> Fold:
    """Validation recordings split off training: whole sessions where they are known, else recordings.

    Everything that is chosen (epochs, thresholds, windows) is chosen on these, never on the test.
    """
    groups = sorted({piece.session or piece.path for piece in train})
    order = np.random.default_rng(seed).permutation(len(groups))
    size = {group: sum((piece.session or piece.path) == group for piece in train) for group in groups}
    chosen: set[str] = set()
    held = 0
    for i in order[:-1]:
        if held >= share * len(train):
            break
        chosen.add(groups[i])
        held += size[groups[i]]
    inside = [(piece.session or piece.path) in chosen for piece in train]
    return Fold(
        "validation",
        tuple(piece for piece, out in zip(train, inside, strict=True) if not out),
        tuple(piece for piece, out in zip(train, inside, strict=True) if out),
    )


def _official(*, train: str, test: str) -> Callable[[Dataset], tuple[Fold, ...]]:
    """The authors' split, byte for byte, copies and computed files included."""
    return lambda data: (Fold(test, _pieces(data.of(train)), _pieces(data.of(test))),)


def _six_fold(data: Dataset) -> tuple[Fold, ...]:
    """Each of the six recordings of every substance held out once; the authors' test recordings first."""
    by_label: dict[str, list[Piece]] = defaultdict(list)
    for entry in (*data.of("testing"), *data.of("training")):
        by_label[_recipe(entry)].append(*_pieces([entry]))
    turns = min(len(group) for group in by_label.values())
    return tuple(
        Fold(
            f"turn {turn + 1}",
            tuple(piece for group in by_label.values() for i, piece in enumerate(group) if i != turn),
            tuple(group[turn] for group in by_label.values()),
        )
        for turn in range(turns)
    )


def _clean_seen(data: Dataset) -> tuple[Fold, ...]:
    real = measured(data)
    return (Fold("test_seen", real["training_new"], real["test_seen"]),)


def _clean_unseen(data: Dataset) -> tuple[Fold, ...]:
    real = measured(data)
    known = {_support(piece) for piece in real["training_new"]}
    new = tuple(piece for piece in real["test_unseen"] if _support(piece) not in known)
    return (Fold("test_unseen", real["training_new"], new),)


def _new_session(data: Dataset) -> tuple[Fold, ...]:
    """Same recipe, new session: sessions 0 to 6 train, recordings of 10 to 12 with a known recipe test."""
    pieces = measured(data)["training_new"]
    early = tuple(piece for piece in pieces if piece.session is not None and int(piece.session) <= 6)
    known = {_recipe(entry) for entry in data.of("training_seen")}
    late = tuple(
        piece for piece in pieces if piece.session is not None and int(piece.session) >= 10 and _recipe(piece) in known
    )
    return (Fold("sessions 10 to 12", early, late),)


def _leave_out(key: Callable[[Piece], str | None]) -> Callable[[Dataset], tuple[Fold, ...]]:
    """One fold for each value of the key, over all measured recordings."""

    def folds(data: Dataset) -> tuple[Fold, ...]:
        real = measured(data)
        pieces = [piece for split in real.values() for piece in split if key(piece) is not None]
        names = sorted({name for piece in pieces if (name := key(piece)) is not None}, key=_natural)
        return tuple(
            Fold(
                name,
                tuple(piece for piece in pieces if key(piece) != name),
                tuple(piece for piece in pieces if key(piece) == name),
            )
            for name in names
            if len(names) > 1
        )

    return folds


def _manifest(data: Dataset) -> tuple[Fold, ...]:
    """Splits that the manifest names: train against everything called test."""
    train = [entry for entry in data.entries if "train" in entry.split.lower()]
    test = [entry for entry in data.entries if "test" in entry.split.lower()]
    return (Fold("test", _pieces(train), _pieces(test)),)


@lru_cache(maxsize=4)
def measured(data: Dataset) -> dict[str, tuple[Piece, ...]]:
    """Measured recordings of each split, every one once, with the session from its id.

    Of a simulated data set these are all: it has no copies.
    """
    from unmixnet.recordings.audit.files import audited_entry
    from unmixnet.recordings.audit.inspect import judge_files
    from unmixnet.recordings.simulated import is_simulated

    if is_simulated(data):
        return {split: _pieces(data.of(split)) for split in data.splits}
    entries = [entry for entry in data.entries if entry.split != "training_seen" and entry.label is not None]
    verdicts = judge_files([audited_entry(data, entry) for entry in entries])
    by_split: dict[str, list[Piece]] = {split: [] for split in data.splits if split != "training_seen"}
    for entry, verdict in zip(entries, verdicts, strict=True):
        if verdict.clean:
            from_id = None if verdict.session is None else str(verdict.session)
            by_split[entry.split].append(Piece(entry.path, entry.label, entry.session or from_id))
    return {split: tuple(pieces) for split, pieces in by_split.items()}


def _pieces(entries: Sequence[Entry]) -> tuple[Piece, ...]:
    return tuple(Piece(entry.path, entry.label, entry.session) for entry in entries)


def _recipe(item: Entry | Piece) -> str:
    from unmixnet.recordings.audit.files import recipe_name

    return recipe_name(item.label) or ""


def _support(piece: Piece) -> str:
    return "+".join(sorted(piece.label.support)) if piece.label else ""


def _natural(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isdigit() else (0, text)


def _forward(data: Dataset) -> tuple[Fold, ...]:
    return tuple(forward_pieces(data.read(entry)) for entry in data.entries)


def _episodes(data: Dataset) -> tuple[Fold, ...]:
    return tuple(fold for entry in data.entries for fold in folds_of_episodes(data.read(entry)))


def _cross_file(data: Dataset) -> tuple[Fold, ...]:
    """Each original file tested after training on the other; only ethylene is in both."""
    files = _pieces([entry for entry in data.entries if entry.split == "full"])
    if len(files) < 2:
        raise DataError(
            f"cross-file needs both original files, {len(files)} found",
            where=str(data.root),
            remedy="Run `unmixnet data fetch uci-dynamic`",
        )
    return tuple(
        Fold(f"to {Path(test.path).stem}", tuple(piece for piece in files if piece != test), (test,)) for test in files
    )


NAMES: dict[str, tuple[str, str, Callable[[Dataset], tuple[Fold, ...]]]] = {
    "smellnet-mixture:official:seen": (
        "the authors' split; its test files are mostly altered copies, recorded minutes from training",
        "recording",
        _official(train="training_new", test="test_seen"),
    ),
    "smellnet-mixture:official:unseen": (
        "the authors' split; almost half of its recipes use combinations that training has",
        "support",
        _official(train="training_new", test="test_unseen"),
    ),
    "smellnet-mixture:clean:seen": (
        "measured recordings, each once; still made minutes from training",
        "recording",
        _clean_seen,
    ),
    "smellnet-mixture:clean:unseen": (
        "combinations of components that training does not have; few, so a confirmation only",
        "support",
        _clean_unseen,
    ),
    "smellnet-mixture:new-session": (
        "known recipes in sessions weeks later: the honest figure for recognising a recipe",
        "recording",
        _new_session,
    ),
    "smellnet-mixture:leave-session-out": (
        "every session tested by a model that saw only the others",
        "recording",
        _leave_out(lambda piece: piece.session),
    ),
    "smellnet-mixture:leave-support-out": (
        "every combination tested by a model that never saw it: the evidence for new mixtures",
        "support",
        _leave_out(_support),
    ),
    "smellnet-base:official": (
        "the authors' split; one recording of each substance held out",
        "recording",
        _official(train="training", test="testing"),
    ),
    "smellnet-base:six-fold": (
        "each of the six recordings of every substance held out once",
        "recording",
        _six_fold,
    ),
    "uci-dynamic:episodes": ("whole exposures held out, grouped in five folds", "recording", _episodes),
    "uci-dynamic:forward": (
        "the last 30 % of each file after training on the first 70 %",
        "recording",
        _forward,
    ),
    "uci-dynamic:cross-file": ("one file after training on the other", "recording", _cross_file),
    "uci-plateaus:forward": ("the last 30 % of the plateaus after the first 70 %", "recording", _forward),
    **{
        f"{data}:{split}": (measures, resample, _official(train="training", test=f"test_{split}"))
        for data in ("simulated", "simulated-8", "high-coupling")
        for split, measures, resample in (
            ("seen", "known combinations in a session that training does not have; the truth is known", "recording"),
            ("unseen", "pairs and triples that training does not have; the truth is known", "support"),
        )
    },
    "folder:manifest": ("the split that the manifest names", "recording", _manifest),
    "folder:leave-session-out": (
        "every session tested by a model that saw only the others",
        "recording",
        _leave_out(lambda piece: piece.session),
    ),
    "folder:leave-support-out": (
        "every combination tested by a model that never saw it",
        "support",
        _leave_out(_support),
    ),
}
"""Protocols by name: what it measures, what to resample, how the folds are made."""
