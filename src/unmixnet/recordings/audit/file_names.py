"""From file names: recording times, sessions, and labels that disagree or do not sum to 100 %."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath

from unmixnet.recordings.audit.files import AuditedFile, is_training, recipe_name
from unmixnet.recordings.codes import Code
from unmixnet.recordings.labels import parse_recipe

__all__ = [
    "conflicts",
    "counter_ms",
    "date_ms",
    "id_of",
    "odd_sum",
    "recording_times_h",
    "sessions",
    "shared_supports",
    "supports",
]

_ID = re.compile(r"(?<=\.)([0-9a-z]{8})(?: \(\d+\))?(?=\.)")
_DATE = re.compile(r"(20\d\d)[-_]?([01]\d)[-_]?([0-3]\d)[-_T ]*([0-2]\d)[-_:h]?([0-5]\d)(?:[-_:m]?([0-5]\d))?(?!\d)")
_LINK_MS = 20 * 24 * 3_600_000
_MS_PER_H = 3.6e6


def id_of(file: str) -> str | None:
    """The last dotted part of the file name, after the first, that has 8 lower-case letters or digits."""
    ids = _ID.findall(PurePosixPath(file).name)
    return ids[-1] if ids else None


def counter_ms(identity: str) -> int | None:
    """The id read as a base-32 number of milliseconds; None if it uses a letter beyond v."""
    return int(identity, 32) if re.fullmatch(r"[0-9a-v]{8}", identity) else None


def date_ms(file: str) -> int | None:
    """A date with hour and minute in the file name, as milliseconds; None if there is none."""
    match = _DATE.search(PurePosixPath(file).name)
    if match is None:
        return None
    try:
        year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
        stamp = datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None
    return round((stamp - datetime(1970, 1, 1)).total_seconds() * 1000)


def recording_times_h(files: Sequence[str]) -> dict[str, float]:
    """Hours since the first recording, for every file whose name has a time.

    Ids count if they lie in the main run: the longest chain with at most 20 days between neighbours.
    """
    dated = {file: ms for file in files if (ms := date_ms(file)) is not None}
    counted = {
        file: ms
        for file in files
        if file not in dated and (name := id_of(file)) is not None and (ms := counter_ms(name)) is not None
    }
    known = dated if len(dated) >= len(counted) else _main_run(counted)
    first = min(known.values(), default=0)
    return {file: (ms - first) / _MS_PER_H for file, ms in known.items()}


def sessions(times_h: Mapping[str, float], *, gap_h: float = 6.0) -> dict[str, int]:
    """Number of the session of each file; a pause of more than six hours starts a new one."""
    number: dict[str, int] = {}
    current, last = -1, None
    for file, time_h in sorted(times_h.items(), key=lambda item: item[1]):
        if last is None or time_h - last > gap_h:
            current += 1
        number[file], last = current, time_h
    return number


def _main_run(counted: Mapping[str, int]) -> dict[str, int]:
    """The files of the longest chain; nothing if no chain holds at least three distinct times."""
    chains: list[dict[str, int]] = []
    last = None
    for file, ms in sorted(counted.items(), key=lambda item: item[1]):
        if last is None or ms - last > _LINK_MS:
            chains.append({})
        chains[-1][file] = last = ms
    longest = max(chains, key=len, default={})
    return longest if len(set(longest.values())) >= 3 else {}


def conflicts(recordings: Sequence[AuditedFile]) -> dict[str, tuple[str, ...]]:
    """For each labelled file, what else is claimed about it: by its own name, its folder, or a byte copy."""
    known = {name for item in recordings if item.recording.label for name in item.recording.label.names}
    by_bytes: dict[str, set[str]] = defaultdict(set)
    for item in recordings:
        if (recipe := recipe_name(item.recording.label)) is not None:
            by_bytes[item.digest].add(recipe)
    by_file: dict[str, tuple[str, ...]] = {}
    for item in recordings:
        own = recipe_name(item.recording.label)
        if own is None:
            continue
        claims = [finding.message for finding in item.recording.found(Code.LABEL_CONFLICT)]
        claims += _folder_claims(item, known)
        claims += [f"a file with the same bytes says {other}" for other in sorted(by_bytes[item.digest] - {own})]
        if claims:
            by_file[item.file] = tuple(claims)
    return by_file


def odd_sum(item: AuditedFile) -> float | None:
    """What the ratios of the label sum to as written, where that is neither 1 nor 100."""
    label = item.recording.label
    return None if label is None else label.odd_sum


def supports(recordings: Sequence[AuditedFile]) -> dict[str, set[frozenset[str]]]:
    """The sets of components that occur in each split."""
    by_split: dict[str, set[frozenset[str]]] = defaultdict(set)
    for item in recordings:
        if item.recording.label is not None:
            by_split[item.split].add(item.recording.label.support)
    return dict(by_split)


def shared_supports(recordings: Sequence[AuditedFile], by_split: Mapping[str, set[frozenset[str]]]) -> dict[str, int]:
    """For each split that is not for training: how many recordings have a support that training has."""
    training = set().union(*(sets for split, sets in by_split.items() if is_training(split)))
    count: dict[str, int] = defaultdict(int)
    for item in recordings:
        if item.recording.label is not None and not is_training(item.split):
            count[item.split] += item.recording.label.support in training
    return dict(count) if training else {}


def _folder_claims(item: AuditedFile, known: Collection[str]) -> list[str]:
    """The recipe that the innermost folder spells, if it is one and another than the file's."""
    label = item.recording.label
    folder = PurePosixPath(item.file).parent.name
    claim = parse_recipe(folder, known)
    if label is None or claim is None or claim.support == label.support:
        return []
    return [f"the folder {folder!r} says {recipe_name(claim)}"]
