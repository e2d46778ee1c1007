"""What an audit means, in sentences for the person who made the recordings."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from unmixnet.recordings.audit.report import AuditReport, Kind, Leak
from unmixnet.recordings.codes import ChannelHealth, Code

__all__ = ["Statement", "headline", "statements"]

Weight = Literal["serious", "notice", "good"]
_ROUNDED = 1.5
"""Per cent by which rounded shares, such as 33, 33 and 33, may miss 100."""


@dataclass(frozen=True)
class Statement:
    """One finding: how bad, what, why it matters, what to do; and the files that show it."""

    weight: Weight
    title: str
    what: str
    why: str = ""
    advice: str = ""
    files: tuple[str, ...] = ()


def headline(report: AuditReport) -> str:
    """The folder in one sentence."""
    clean = sum(verdict.clean for verdict in report.verdicts)
    total = len(report.verdicts)
    if clean == total:
        if total == 1:
            return "The one recording looks measured."
        return f"All {total:,} recordings look measured, and none is there twice."
    return f"Of {_count(total, 'recording')}, {clean:,} are distinct measurements; {total - clean:,} are not."


def statements(report: AuditReport) -> tuple[Statement, ...]:
    """Every finding, the serious ones first."""
    makers = (_computed, _copies, _close_in_time, _supports, _conflicts, _sums, _rates, _health, _refused, _sessions)
    every = [statement for make in makers for statement in make(report)]
    every += [_leak(leak) for leak in report.leaks if leak.reveals and not leak.reference]
    rank = {"serious": 0, "notice": 1, "good": 2}
    return tuple(sorted(every, key=lambda statement: rank[statement.weight]))


def _computed(report: AuditReport) -> list[Statement]:
    unique = [v for v in report.verdicts if v.kind is not Kind.REAL and v.copy_of is None]
    if not unique:
        return [Statement("good", "No computed files", "Every recording behaves like a measurement.")]
    count = Counter(verdict.kind for verdict in unique)
    parts = [
        f"{count[Kind.WHITE_NOISE]:,} are white noise around the level of a real recording",
        f"{count[Kind.ALTERED_COPY]:,} are altered copies (shifted, scaled or jittered) of a real recording",
        f"{count[Kind.SUSPECT]:,} show signs of having been computed, but from what is not known",
    ]
    present = [text for text in parts if not text.startswith("0 ")]
    return [
        Statement(
            "serious",
            f"{len(unique):,} files were computed, not measured",
            "; ".join(present) + ".",
            "They add no information. In a test set they count one measurement many times; in training they "
            "teach a model what the generator does.",
            "Leave them out before splitting, and report results on the measured recordings.",
            tuple(verdict.file for verdict in unique),
        )
    ]


def _copies(report: AuditReport) -> list[Statement]:
    copies = [verdict for verdict in report.verdicts if verdict.copy_of is not None]
    if not copies:
        return [Statement("good", "No exact copies", "No two files have the same bytes.")]
    within = [f"{split.copies_within} in {split.name}" for split in report.splits if split.copies_within]
    inside = f" Within one part: {', '.join(within)}." if within else ""
    return [
        Statement(
            "serious" if within else "notice",
            f"{len(copies):,} files are exact copies of another file",
            "Same bytes, another name or folder." + inside,
            "A recording that occurs twice weighs twice; if it lies in training and test, the test is void.",
            "Keep one of each.",
            tuple(verdict.file for verdict in copies),
        )
    ]


def _close_in_time(report: AuditReport) -> list[Statement]:
    cases = []
    for item in report.proximity:
        near = item.within_10_minutes > item.recordings / 2
        what = (
            f"Half of the {item.recordings} measured recordings of {item.split} were made within "
            f"{_duration(item.median_minutes)} of a training recording."
        )
        if near:
            cases.append(
                Statement(
                    "serious",
                    f"{item.split} was recorded minutes away from training",
                    what,
                    "Air, temperature and sensor drift were the same then: a model can succeed by knowing "
                    "the hour instead of the odour.",
                    "Hold out whole sessions, and call only that a test on new recordings.",
                )
            )
        else:
            cases.append(Statement("good", f"{item.split} is well apart from training in time", what))
    return cases


def _supports(report: AuditReport) -> list[Statement]:
    cases = []
    for split in report.splits:
        if split.shared_supports and "unseen" in split.name.lower():
            distinct = split.real - split.copies_within
            cases.append(
                Statement(
                    "serious",
                    f"{split.name} holds combinations that training has seen",
                    f"{split.shared_supports} of its {distinct} distinct measured recordings have a set of "
                    "components that also occurs in training.",
                    "A score on them says nothing about new combinations.",
                    "Test new combinations by leaving whole sets of components out of training.",
                )
            )
    return cases


def _conflicts(report: AuditReport) -> list[Statement]:
    files = [verdict for verdict in report.verdicts if verdict.conflicts]
    if not files:
        return [Statement("good", "No conflicting labels", "Names, folders and copies agree with each other.")]
    reasons = Counter(claim for verdict in files for claim in verdict.conflicts)
    what = "; ".join(f"{count} times {claim}" for claim, count in reasons.most_common(4))
    return [
        Statement(
            "serious",
            f"{len(files)} files carry two labels",
            what + ".",
            "At least one of the two is wrong, and nothing in the file says which.",
            "Ask the person who made the recordings; until then, leave these files out.",
            tuple(verdict.file for verdict in files),
        )
    ]


def _sums(report: AuditReport) -> list[Statement]:
    files = [verdict for verdict in report.verdicts if verdict.ratio_sum is not None]
    if not files:
        return []
    totals = sorted({verdict.ratio_sum for verdict in files if verdict.ratio_sum is not None})
    rounded = all(abs(total - 100) <= _ROUNDED for total in totals)
    return [
        Statement(
            "notice" if rounded else "serious",
            f"{_count(len(files), 'label')} not summing to 100",
            f"The shares sum to {', '.join(f'{total:g}' for total in totals)}; they are divided by their sum.",
            "" if rounded else "A share was mistyped, or a component is missing: the true mixture is not known.",
            "" if rounded else "Correct the label, or leave the recording out.",
            tuple(verdict.file for verdict in files),
        )
    ]


def _rates(report: AuditReport) -> list[Statement]:
    return [
        Statement(
            "notice",
            "Mixed sample rates",
            f"{finding.message[:1].upper()}{finding.message[1:]}.",
            "A window of so many rows then spans different times in different recordings.",
            "Bring the recordings to one rate, or correct the rate in their TOML files.",
        )
        for finding in report.findings
        if finding.code is Code.MIXED_RATES
    ]


def _health(report: AuditReport) -> list[Statement]:
    broken, unnamed = [], []
    for verdict in report.verdicts:
        ill = [what for what in verdict.unhealthy if not what.endswith(ChannelHealth.UNIT_UNKNOWN)]
        broken += [(verdict.file, what) for what in ill]
        unnamed += [(verdict.file, what) for what in verdict.unhealthy if what not in ill]
    cases = _broken(broken) if broken else []
    if not broken:
        cases = [Statement("good", "All channels work", "No dead, stuck, saturated or missing channel.")]
    return [*cases, *_unnamed(unnamed)]


def _broken(cases: list[tuple[str, str]]) -> list[Statement]:
    count = Counter(what for _, what in cases)
    files = tuple(dict.fromkeys(file for file, _ in cases))
    what = "; ".join(f"{name.replace(': ', ' is ')} in {number}" for name, number in count.most_common(8))
    return [
        Statement(
            "notice",
            f"{_count(len(files), 'recording')} with a channel that does not work",
            what + (" recordings, and more." if len(count) > 8 else " recordings."),
            "A constant channel is harmless to look at, but a model may learn the day on which it failed.",
            "Leave such channels out for all recordings, not only for these.",
            files,
        )
    ]


def _unnamed(cases: list[tuple[str, str]]) -> list[Statement]:
    if not cases:
        return []
    channels = ", ".join(dict.fromkeys(what.split(": ")[0] for _, what in cases))
    return [
        Statement(
            "notice",
            "Units are not stated",
            f"Nothing says in which unit these channels are: {channels}.",
            advice="Write the units into a TOML file beside the recording; `unmixnet check` shows how.",
            files=tuple(dict.fromkeys(file for file, _ in cases)),
        )
    ]


def _refused(report: AuditReport) -> list[Statement]:
    if not report.refusals:
        return []
    return [
        Statement(
            "notice",
            f"{_count(len(report.refusals), 'file')} could not be read",
            _one_reason(report),
            files=tuple(refusal.file for refusal in report.refusals),
        )
    ]


def _sessions(report: AuditReport) -> list[Statement]:
    if not report.sessions:
        return [
            Statement(
                "notice",
                "Recording times are unknown",
                "The file names have neither ids nor dates that show when the recordings were made.",
                "Without times it cannot be checked whether test recordings were made beside training ones.",
                "Put date and time in the file name (20260115_1030).",
            )
        ]
    number = _count(len(report.sessions), "recording session")
    first, last = report.sessions[0].start_h, report.sessions[-1].end_h
    if first is None or last is None:
        return [Statement("good", number, "As the manifest names them; times are unknown.")]
    what = "A session ends where nothing was recorded for more than six hours."
    return [Statement("good", f"{number} over {(last - first) / 24:.0f} days", what)]


def _leak(leak: Leak) -> Statement:
    if leak.metric == "accuracy":
        what = f"It names the right substance for {leak.score:.0%} of {leak.n} recordings"
        what += f"; blind guessing would for {leak.null:.0%}."
    else:
        what = f"Its mean error of the ratios is {leak.score:.3f} on {leak.n} recordings"
        what += f"; always guessing the average has {leak.null:.3f}."
    return Statement(
        "serious",
        f"{leak.test}: the label can be guessed from {leak.source}",
        what,
        "That source has almost no odour signal: either each label was recorded in its own hour, or the "
        "odour was there before the recording began. A good score on this split is no evidence of odour recognition.",
        "Print this number beside every result on this split.",
    )


def _one_reason(report: AuditReport) -> str:
    reason = report.refusals[0].reason
    return reason if len(report.refusals) == 1 else f"For example: {reason}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _duration(minutes: float) -> str:
    return f"{minutes:.1f} minutes" if minutes < 90 else f"{minutes / 60:.0f} hours"
