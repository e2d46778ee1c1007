"""Labels that disagree with each other, do not sum to 100, or occur on both sides of a split."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath

from unmixnet.recordings.audit.files import Take, is_training, recipe_name
from unmixnet.recordings.codes import Code
from unmixnet.recordings.labels import parse_recipe

__all__ = ["conflicts", "odd_sum", "shared_supports", "supports"]


def conflicts(takes: Sequence[Take]) -> dict[str, tuple[str, ...]]:
    """For each labelled file, what else is claimed about it: by its own name, its folder, or a byte copy."""
    known = {name for take in takes if take.recording.label for name in take.recording.label.names}
    by_bytes: dict[str, set[str]] = defaultdict(set)
    for take in takes:
        if (recipe := recipe_name(take.recording.label)) is not None:
            by_bytes[take.digest].add(recipe)
    found: dict[str, tuple[str, ...]] = {}
    for take in takes:
        own = recipe_name(take.recording.label)
        if own is None:
            continue
        claims = [finding.message for finding in take.recording.found(Code.LABEL_CONFLICT)]
        claims += _folder_claims(take, known)
        claims += [f"a file with the same bytes says {other}" for other in sorted(by_bytes[take.digest] - {own})]
        if claims:
            found[take.file] = tuple(claims)
    return found


def odd_sum(take: Take) -> float | None:
    """What the ratios of the label sum to as written, where that is neither 1 nor 100."""
    label = take.recording.label
    return None if label is None or label.raw_sum in (1.0, 100.0) else label.raw_sum


def supports(takes: Sequence[Take]) -> dict[str, set[frozenset[str]]]:
    """The sets of components that occur in each split."""
    found: dict[str, set[frozenset[str]]] = defaultdict(set)
    for take in takes:
        if take.recording.label is not None:
            found[take.split].add(take.recording.label.support)
    return dict(found)


def shared_supports(takes: Sequence[Take], by_split: Mapping[str, set[frozenset[str]]]) -> dict[str, int]:
    """For each split that is not for training: how many recordings have a support that training has."""
    training = set().union(*(sets for split, sets in by_split.items() if is_training(split)))
    count: dict[str, int] = defaultdict(int)
    for take in takes:
        if take.recording.label is not None and not is_training(take.split):
            count[take.split] += take.recording.label.support in training
    return dict(count) if training else {}


def _folder_claims(take: Take, known: Collection[str]) -> list[str]:
    """The recipe that the innermost folder spells, if it is one and another than the file's."""
    label = take.recording.label
    folder = PurePosixPath(take.file).parent.name
    claim = parse_recipe(folder, known)
    if label is None or claim is None or claim.support == label.support:
        return []
    return [f"the folder {folder!r} says {recipe_name(claim)}"]
