"""The turns of a study: one training set, and what every protocol tests after it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from unmixnet.errors import ConfigError
from unmixnet.recordings.datasets import Dataset
from unmixnet.recordings.protocols import Fold, Piece, Protocol, protocol

__all__ = ["Turn", "grouped", "turns_of"]


@dataclass(frozen=True)
class Turn:
    """One training set and its tests.

    Arguments:
        name: of the fold; the first protocol's where there are several.
        data: the data set that the pieces belong to.
        train: every training recording, those for validation included.
        tests: recordings under test, by protocol.
        splits: what each protocol calls all its tests together.
    """

    name: str
    data: Dataset
    train: tuple[Piece, ...]
    tests: dict[str, tuple[Piece, ...]]
    splits: dict[str, str]


def turns_of(protocols: Sequence[str], root: str | Path | None, *, groups: int | None = None) -> tuple[Turn, ...]:
    """The turns of protocols that share their training; with `groups`, folds are joined into so many."""
    made = [protocol(name, root) for name in protocols]
    made = [grouped(one, groups) for one in made] if groups else made
    turns = []
    for folds in zip(*(one.folds for one in made), strict=True):
        same = all(one.data.name == made[0].data.name for one in made)
        if not same or any(fold.train != folds[0].train for fold in folds):
            raise ConfigError(
                f"{' and '.join(protocols)} train on different recordings", remedy="Put them into studies of their own"
            )
        tests = {one.name: fold.test for one, fold in zip(made, folds, strict=True)}
        name = folds[0].name if len(made[0].folds) > 1 else "all"
        turns.append(Turn(name, made[0].data, folds[0].train, tests, {one.name: _split(one, groups) for one in made}))
    return tuple(turns)


def _split(made: Protocol, groups: int | None) -> str:
    count = len(made.folds)
    return made.folds[0].name if count == 1 else f"{count} groups" if groups else f"{count} folds"


def grouped(made: Protocol, count: int) -> Protocol:
    """Folds that leave one thing out each, joined into `count` that leave several out.

    The largest fold goes first, each into the group that has the fewest recordings so far. Every recording is still
    tested once, by a model that saw nothing of its kind; a model is trained `count` times instead of once for each.
    """
    pieces = (*made.folds[0].train, *made.folds[0].test)
    groups: list[list[Piece]] = [[] for _ in range(min(count, len(made.folds)))]
    for fold in sorted(made.folds, key=lambda fold: (-len(fold.test), fold.name)):
        min(groups, key=len).extend(fold.test)
    folds = []
    for i, group in enumerate(groups):
        test = {piece.path for piece in group}
        inside = tuple(piece for piece in pieces if piece.path not in test)
        folds.append(Fold(f"group {i + 1}", inside, tuple(group)))
    return replace(made, folds=tuple(folds))
