"""Checking files: for each a recording or a refusal, as plain values that print and serialise."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.manifest import MANIFEST
from unmixnet.recordings.reader import read_recording, recording_files
from unmixnet.recordings.recording import Finding, Mixture, Recording

__all__ = ["Checked", "as_json", "check_files", "expand", "folder_findings"]

_SAME_RATE = 1.05
"""Clocks differ by less than this factor; more is another sample rate."""


@dataclass(frozen=True)
class Checked:
    """One file: its recording, or the reason why there is none."""

    file: str
    recording: Recording | None
    refusal: ReadError | None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the reader noticed."""
        return self.recording.warnings if self.recording else ()

    @property
    def warned(self) -> bool:
        """True if something had to be worked around; notes do not count."""
        return any(finding.code.severity == "warning" for finding in self.findings)


def expand(paths: Sequence[Path]) -> list[Path]:
    """Files as given; for a folder, every file below it that may be a recording."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += [file for file in recording_files(path) if file.name != MANIFEST]
        else:
            files.append(path)
    return files


def check_files(
    files: Sequence[Path], *, format: str | None = None, tick: Callable[[], None] = lambda: None
) -> Iterator[Checked]:
    """Read file after file; a refusal does not stop the next."""
    for path in files:
        try:
            yield Checked(str(path), read_recording(path, format=format), None)
        except ReadError as error:
            yield Checked(str(path), None, error)
        tick()


def folder_findings(recordings: Iterable[Recording]) -> tuple[Finding, ...]:
    """What is odd about recordings taken together: the same channels, read at different rates."""
    by_array: dict[tuple[str, ...], list[Recording]] = {}
    for recording in recordings:
        by_array.setdefault(recording.channels, []).append(recording)
    findings: tuple[Finding, ...] = ()
    for channels, group in by_array.items():
        slowest, fastest = (pick(group, key=lambda recording: recording.sample_rate_Hz) for pick in (min, max))
        if fastest.sample_rate_Hz > _SAME_RATE * slowest.sample_rate_Hz:
            message = (
                f"recordings of {_names(channels)} have different sample rates, "
                f"from {slowest.sample_rate_Hz:.4g} Hz ({slowest.path}) "
                f"to {fastest.sample_rate_Hz:.4g} Hz ({fastest.path})"
            )
            findings += (Finding(Code.MIXED_RATES, message, count=len(group)),)
    return findings


def _names(channels: tuple[str, ...]) -> str:
    return ", ".join(channels) if len(channels) <= 4 else f"{', '.join(channels[:3])} and {len(channels) - 3} more"


def as_json(checked: Sequence[Checked], exit_code: int) -> dict:
    """One object for all files, with totals."""
    together = folder_findings(file.recording for file in checked if file.recording)
    codes = Counter(finding.code.value for file in checked for finding in file.findings)
    codes.update(finding.code.value for finding in together)
    refused = Counter(file.refusal.code.value for file in checked if file.refusal)
    return {
        "schema": "unmixnet.check/2",
        "files": [_file_json(file) for file in checked],
        "findings": [_finding_json(finding) for finding in together],
        "summary": {
            "files": len(checked),
            "read": sum(file.refusal is None for file in checked),
            "refused": sum(file.refusal is not None for file in checked),
            "warned": sum(file.warned for file in checked),
            "findings": dict(sorted(codes.items())),
            "refusals": dict(sorted(refused.items())),
        },
        "exit_code": exit_code,
    }


def _file_json(file: Checked) -> dict:
    return {
        "file": file.file,
        "recording": _recording_json(file.recording) if file.recording else None,
        "findings": [_finding_json(finding) for finding in file.findings],
        "refusal": _refusal_json(file.refusal) if file.refusal else None,
    }


def _finding_json(finding: Finding) -> dict:
    return {**asdict(finding), "severity": finding.code.severity, "meaning": finding.code.meaning}


def _recording_json(recording: Recording) -> dict:
    return {
        "rows": len(recording),
        "duration_s": recording.duration_s,
        "sample_rate_Hz": recording.sample_rate_Hz,
        "device": recording.device,
        "label": _label_json(recording.label) if recording.label else None,
        "gases": list(recording.gases),
        "channels": [
            {"name": name, "unit": unit, "health": health.value, "meaning": health.meaning}
            for name, unit, health in zip(recording.channels, recording.units, recording.health, strict=True)
        ],
    }


def _label_json(label: Mixture) -> list[dict]:
    return [{"name": name, "ratio": ratio} for name, ratio in zip(label.names, label.ratios, strict=True)]


def _refusal_json(error: ReadError) -> dict:
    return {
        "code": error.code.value,
        "meaning": error.code.meaning,
        "line": error.line,
        "column": error.column,
        "seen": error.seen,
        "expected": error.expected,
        "remedy": error.remedy,
        "message": str(error),
    }
