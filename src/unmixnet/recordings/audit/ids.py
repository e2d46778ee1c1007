"""Recording times and sessions from file names: base-32 millisecond counters, or plain dates.

An ingestion service names files after an 8-character counter of milliseconds in base 32 (digits 0-9, a-v).
Read as numbers, the ids of one campaign lie within weeks of each other; an id drawn at random lies anywhere
in 35 years, or uses the letters w-z. The counter's origin is unknown, so times are relative.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath

__all__ = ["counter_ms", "date_ms", "id_of", "recording_times_h", "sessions"]

_ID = re.compile(r"(?<=\.)([0-9a-z]{8})(?: \(\d+\))?(?=\.)")
_DATE = re.compile(r"(20\d\d)[-_]?([01]\d)[-_]?([0-3]\d)[-_T ]*([0-2]\d)[-_:h]?([0-5]\d)(?:[-_:m]?([0-5]\d))?(?!\d)")
_LINK_MS = 20 * 24 * 3_600_000
_MS_PER_H = 3.6e6


def id_of(file: str) -> str | None:
    """The last dotted part of the file name, after the first, that has 8 lower-case letters or digits."""
    found = _ID.findall(PurePosixPath(file).name)
    return found[-1] if found else None


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
    """Hours since the first recording, for every file whose name tells.

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
