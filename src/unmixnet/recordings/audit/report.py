"""Result of an audit: a verdict for each file, and what concerns the folder as a whole."""

from dataclasses import dataclass
from enum import StrEnum

from unmixnet.recordings.recording import Finding

__all__ = ["AuditReport", "FileVerdict", "Kind", "Leak", "Proximity", "Refusal", "Session", "SplitSummary"]


class Kind(StrEnum):
    """What a file is, judged by its content; `.meaning` says it in words."""

    meaning: str

    def __new__(cls, value: str, meaning: str) -> "Kind":
        """Attach the meaning to the value."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member

    REAL = "real", "looks like a measurement"
    WHITE_NOISE = (
        "white-noise",
        "no channel is correlated with its previous sample, as every real sensor is: computed, not measured",
    )
    ALTERED_COPY = (
        "altered-copy",
        "follows another recording sample by sample: shifted, scaled or jittered",
    )
    SUSPECT = "suspect", "bears signs of having been computed, but no parent recording was found"


@dataclass(frozen=True)
class FileVerdict:
    """What the audit found about one file.

    Arguments:
        file: path below the audited folder.
        split: the part of the data set it lies in.
        label: its recipe, components in alphabetical order (`almond20+clove80`); None if it has none.
        rows: rows of readings.
        kind: what its content is.
        signs: why it is not thought real; empty for real files.
        copy_of: an earlier file with exactly the same bytes.
        parent: the recording that it was made from, if it was.
        correlation: of its sample-to-sample changes with those of the parent; lag_s is the shift between
        them. session: number of the recording session, in order of time; None if its time is unknown.
        time_h: hours since the first recording of the folder. conflicts: every other label that its name,
        folder or byte copies claim. ratio_sum: what the ratios summed to as written, if not 1 or 100.
        unhealthy: channels that are not ok, each as `name: verdict`.
    """

    file: str
    split: str
    label: str | None
    rows: int
    kind: Kind
    signs: tuple[str, ...] = ()
    copy_of: str | None = None
    parent: str | None = None
    correlation: float | None = None
    lag_s: float | None = None
    session: int | None = None
    time_h: float | None = None
    conflicts: tuple[str, ...] = ()
    ratio_sum: float | None = None
    unhealthy: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """A real recording that is here for the first time."""
        return self.kind is Kind.REAL and self.copy_of is None


@dataclass(frozen=True)
class Refusal:
    """A file that could not be read as a recording, and the reader's reason."""

    file: str
    reason: str


@dataclass(frozen=True)
class Session:
    """Recordings made without a long pause between them, or that a manifest puts together; times if known."""

    number: int
    start_h: float | None
    end_h: float | None
    recordings: int
    labels: int


@dataclass(frozen=True)
class SplitSummary:
    """How many files of a split are what they seem.

    `shared_supports` counts its clean recordings whose set of components also occurs in training.
    """

    name: str
    files: int
    copies_within: int
    copies_of_other_splits: int
    real: int
    white_noise: int
    altered: int
    suspect: int
    supports: int
    shared_supports: int | None


@dataclass(frozen=True)
class Proximity:
    """How close in time the test recordings of a split lie to training recordings."""

    split: str
    recordings: int
    median_minutes: float
    within_10_minutes: int


@dataclass(frozen=True)
class Leak:
    """How well a source without the odour signal predicts the label.

    Arguments:
        channels: the array that was recorded, e.g. "NO2, C2H5OH, VOC, CO".
        source: what the prediction saw.
        metric: "accuracy" (higher reveals more) or "MAE" (lower reveals more).
        score: of that source; `null` is the score of the best constant guess.
        test: what was predicted, from what.
        n: how many recordings.
        reference: True for the whole recording, the one source with the odour signal.
    """

    channels: str
    source: str
    metric: str
    score: float
    null: float
    test: str
    n: int
    reference: bool = False

    @property
    def reveals(self) -> bool:
        """Whether the source is clearly better than the null."""
        if self.metric == "MAE":
            return self.score < 0.75 * self.null
        return self.score > self.null + 0.15


@dataclass(frozen=True)
class AuditReport:
    """Everything an audit found in one folder."""

    folder: str
    verdicts: tuple[FileVerdict, ...]
    refusals: tuple[Refusal, ...]
    sessions: tuple[Session, ...]
    splits: tuple[SplitSummary, ...]
    proximity: tuple[Proximity, ...]
    leaks: tuple[Leak, ...]
    findings: tuple[Finding, ...] = ()

    def of(self, file: str) -> FileVerdict:
        """The verdict on one file."""
        return next(verdict for verdict in self.verdicts if verdict.file == file)

    def kinds(self, kind: Kind) -> tuple[FileVerdict, ...]:
        """All files of a kind."""
        return tuple(verdict for verdict in self.verdicts if verdict.kind is kind)
