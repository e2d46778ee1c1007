"""The order of an audit: read, find copies, judge each file, then look at the folder as a whole."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from unmixnet.recordings.audit.computed_files import (
    Progress,
    decimals,
    is_white_noise,
    off_grid_channels,
    tie_to_parents,
    usual_decimals,
)
from unmixnet.recordings.audit.copies import byte_copies
from unmixnet.recordings.audit.file_names import (
    conflicts,
    id_of,
    odd_sum,
    recording_times_h,
    sessions,
    shared_supports,
    supports,
)
from unmixnet.recordings.audit.files import AuditedFile, audited_files, gather, is_training, recipe_name
from unmixnet.recordings.audit.leaks import leaks, proximity
from unmixnet.recordings.audit.report import AuditReport, FileVerdict, Kind, Refusal, Session, SplitSummary
from unmixnet.recordings.codes import ChannelHealth
from unmixnet.recordings.inspection import folder_findings

__all__ = ["audit_folder", "audit_recordings", "judge_files"]


def _silent(stage: str, steps: int) -> Callable[[], None]:
    return lambda: None


def audit_folder(folder: str | Path, *, progress: Progress = _silent) -> AuditReport:
    """Audit every recording below a folder."""
    folder = Path(folder)
    recordings, refusals = gather(folder, tick=progress("Reading", len(audited_files(folder))))
    return audit_recordings(recordings, folder=str(folder), refusals=refusals, progress=progress)


def audit_recordings(
    recordings: Sequence[AuditedFile],
    *,
    folder: str = "",
    refusals: Sequence[Refusal] = (),
    progress: Progress = _silent,
) -> AuditReport:
    """Audit recordings that have been read."""
    verdicts = tie_to_parents(recordings, judge_files(recordings), progress)
    clean = [item for item, verdict in zip(recordings, verdicts, strict=True) if verdict.clean]
    times_h = {verdict.file: verdict.time_h for verdict in verdicts if verdict.time_h is not None}
    tick = progress("Looking for leaks", 1)
    revealing = leaks(clean, times_h)
    tick()
    return AuditReport(
        folder=folder,
        verdicts=verdicts,
        refusals=tuple(refusals),
        sessions=_sessions(verdicts),
        splits=_splits(recordings, verdicts),
        proximity=proximity(clean, times_h),
        leaks=revealing,
        findings=folder_findings(item.recording for item in recordings),
    )


def judge_files(recordings: Sequence[AuditedFile]) -> tuple[FileVerdict, ...]:
    """Judge each file by itself and by what is usual in the folder; parents are looked for later.

    This is quick, and enough to tell real recordings from computed ones.
    """
    off_grid = _off_grid(recordings)
    white = {item.file for item in recordings if is_white_noise(item.recording.readings)}
    times_h = _trusted_times([item.file for item in recordings], white | set(off_grid))
    session = _named_sessions(recordings) or sessions(times_h)
    copies, claims = byte_copies(recordings), conflicts(recordings)
    strange = _strange_ids([item.file for item in recordings], times_h)
    verdicts = []
    for item in recordings:
        signs = (*off_grid.get(item.file, ()), *strange.get(item.file, ()))
        verdicts.append(
            FileVerdict(
                file=item.file,
                split=item.split,
                label=recipe_name(item.recording.label),
                rows=len(item.recording),
                kind=Kind.WHITE_NOISE if item.file in white else Kind.SUSPECT if signs else Kind.REAL,
                signs=signs,
                copy_of=copies.get(item.file),
                session=session.get(item.file),
                time_h=times_h.get(item.file),
                conflicts=claims.get(item.file, ()),
                ratio_sum=odd_sum(item),
                unhealthy=_unhealthy(item),
            )
        )
    return tuple(verdicts)


def _named_sessions(recordings: Sequence[AuditedFile]) -> dict[str, int]:
    """Sessions that a manifest names, numbered in order of name."""
    names = sorted({item.session for item in recordings if item.session is not None})
    return {item.file: names.index(item.session) for item in recordings if item.session is not None}


def _off_grid(recordings: Sequence[AuditedFile]) -> dict[str, tuple[str, ...]]:
    """Files with more decimals than most recordings of the same array have."""
    by_array: dict[tuple[str, ...], dict[str, tuple[int, ...]]] = defaultdict(dict)
    for item in recordings:
        by_array[item.recording.channels][item.file] = decimals(item.recording.readings)
    signs: dict[str, tuple[str, ...]] = {}
    for channels, places in by_array.items():
        usual = usual_decimals(list(places.values()))
        for file, used in places.items():
            if off := off_grid_channels(used, usual, channels):
                signs[file] = (f"finer values than the converter writes ({', '.join(off)})",)
    return signs


def _trusted_times(files: Sequence[str], computed: Collection[str]) -> dict[str, float]:
    """Recording times, without those of sessions in which every file was computed.

    A random id falls among the true ones now and then; it is alone there.
    """
    session = sessions(recording_times_h(files))
    measured = {number for file, number in session.items() if file not in computed}
    return recording_times_h([file for file in files if file not in session or session[file] in measured])


def _strange_ids(files: Sequence[str], times_h: Mapping[str, float]) -> dict[str, tuple[str, ...]]:
    """Files whose id is not a time, where most files have one that is."""
    if len(times_h) <= len(files) / 2:
        return {}
    ids = {file: identity for file in files if file not in times_h and (identity := id_of(file)) is not None}
    return {file: (f"its id {name} is not a recording time like the others",) for file, name in ids.items()}


def _unhealthy(item: AuditedFile) -> tuple[str, ...]:
    pairs = zip(item.recording.channels, item.recording.health, strict=True)
    return tuple(f"{name}: {health}" for name, health in pairs if health is not ChannelHealth.OK)


def _sessions(verdicts: Sequence[FileVerdict]) -> tuple[Session, ...]:
    """Sessions of the recordings that are neither computed nor repeated."""
    by_number: dict[int, list[FileVerdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.session is not None and verdict.clean:
            by_number[verdict.session].append(verdict)
    summaries = []
    for number, members in sorted(by_number.items()):
        times = [member.time_h for member in members if member.time_h is not None]
        labels = {member.label for member in members}
        start, end = (min(times), max(times)) if times else (None, None)
        summaries.append(Session(number, start, end, len(members), len(labels)))
    return tuple(summaries)


def _splits(recordings: Sequence[AuditedFile], verdicts: Sequence[FileVerdict]) -> tuple[SplitSummary, ...]:
    by_file = {verdict.file: verdict for verdict in verdicts}
    clean = [item for item, verdict in zip(recordings, verdicts, strict=True) if verdict.kind is Kind.REAL]
    by_split = supports(clean)
    shared = shared_supports([item for item in clean if by_file[item.file].copy_of is None], by_split)
    summaries = []
    for name in dict.fromkeys(item.split for item in recordings):
        digests = [item.digest for item in recordings if item.split == name]
        members = [verdict for verdict in verdicts if verdict.split == name]
        others = {item.digest for item in recordings if item.split != name}
        kinds = [member.kind for member in members]
        summaries.append(
            SplitSummary(
                name=name,
                files=len(members),
                copies_within=len(digests) - len(set(digests)),
                copies_of_other_splits=len(set(digests) & others),
                real=kinds.count(Kind.REAL),
                white_noise=kinds.count(Kind.WHITE_NOISE),
                altered=kinds.count(Kind.ALTERED_COPY),
                suspect=kinds.count(Kind.SUSPECT),
                supports=len(by_split.get(name, ())),
                shared_supports=None if is_training(name) else shared.get(name),
            )
        )
    return tuple(summaries)
