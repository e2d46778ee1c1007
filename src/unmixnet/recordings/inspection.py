"""Checking files: for each a recording or a refusal, as plain values that print and serialise."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from unmixnet.recordings.codes import ReadError
from unmixnet.recordings.manifest import MANIFEST
from unmixnet.recordings.reader import read_recording, recording_files
from unmixnet.recordings.recording import Finding, Mixture, Recording

__all__ = ["Checked", "as_json", "check_files", "expand"]


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


def as_json(checked: Sequence[Checked], exit_code: int) -> dict:
    """One object for all files, with totals."""
    codes = Counter(finding.code.value for one in checked for finding in one.findings)
    refused = Counter(one.refusal.code.value for one in checked if one.refusal)
    return {
        "schema": "unmixnet.check/2",
        "files": [_file_json(one) for one in checked],
        "summary": {
            "files": len(checked),
            "read": sum(one.refusal is None for one in checked),
            "refused": sum(one.refusal is not None for one in checked),
            "warned": sum(one.warned for one in checked),
            "findings": dict(sorted(codes.items())),
            "refusals": dict(sorted(refused.items())),
        },
        "exit_code": exit_code,
    }


def _file_json(one: Checked) -> dict:
    return {
        "file": one.file,
        "recording": _recording_json(one.recording) if one.recording else None,
        "findings": [
            {**asdict(finding), "severity": finding.code.severity, "meaning": finding.code.meaning}
            for finding in one.findings
        ],
        "refusal": _refusal_json(one.refusal) if one.refusal else None,
    }


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
