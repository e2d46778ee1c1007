"""Recordings of the live stream: named spans of a session, started and stopped on the page."""

from dataclasses import dataclass
from typing import Any

from unmixnet.errors import UnmixError
from unmixnet.live.recorder import Recorder
from unmixnet.live.store import NamedSpan, Store
from unmixnet.recordings.recording import Mixture

__all__ = ["CLEAN_AIR", "LiveRecordingError", "LiveRecordings", "RunningRecording", "label_json"]

CLEAN_AIR = "clean air"
"""Label of a recording of nothing but air."""
_SHORTEST_S = 1.0


class LiveRecordingError(UnmixError):
    """A recording that cannot be started or stopped now."""


@dataclass(frozen=True)
class RunningRecording:
    """A recording that is running.

    Arguments:
        until_s: when it stops by itself; None if a person stops it.
    """

    name: str
    label: Mixture | None
    start_s: float
    until_s: float | None


class LiveRecordings:
    """The running recording, and the list of finished ones."""

    def __init__(self, store: Store, recorder: Recorder) -> None:
        self.store, self.recorder = store, recorder
        self.running: RunningRecording | None = None

    def check(self) -> None:
        """Raise an error if nothing can be recorded now."""
        if self.running is not None:
            raise LiveRecordingError(f"{self.running.name!r} is being recorded", remedy="Stop it first")
        if self.recorder.session is None:
            raise LiveRecordingError("there are no samples in the store yet", remedy="Wait for the first one")

    def start(
        self, name: str, label: Mixture | None, seconds: float | None, at_s: float | None = None
    ) -> RunningRecording:
        """Record from the newest sample on, or from a time that has only just come."""
        self.check()
        now = self.recorder.last_s if at_s is None else at_s
        self.running = RunningRecording(name, label, now, None if seconds is None else now + seconds)
        return self.running

    @property
    def due(self) -> bool:
        """Whether the running recording has reached its end."""
        running = self.running
        return running is not None and running.until_s is not None and self.recorder.last_s >= running.until_s

    def stop(self) -> int:
        """End the recording; gives its number in the store."""
        running, session = self.running, self.recorder.session
        if running is None or session is None:
            raise LiveRecordingError("nothing is being recorded", remedy="Start a recording first")
        end_s = self.recorder.last_s if running.until_s is None else min(running.until_s, self.recorder.last_s)
        if end_s - running.start_s < _SHORTEST_S:
            self.running = None
            raise LiveRecordingError(
                "the recording is shorter than a second and was not kept", remedy="Record for longer"
            )
        number = self.store.add_recording(session, running.start_s, end_s, running.name, running.label)
        self.running = None  # only now: a store that was full may take it at the next attempt
        return number

    def listed(self, most: int = 200) -> list[dict[str, Any]]:
        """The newest recordings, oldest first, as plain values."""
        return [self._json(span) for span in self.store.recordings()[-most:]]

    def running_json(self) -> dict[str, Any] | None:
        """The running recording as plain values."""
        running = self.running
        if running is None:
            return None
        return {
            "name": running.name,
            "label": label_json(running.label),
            "start_s": running.start_s,
            "until_s": running.until_s,
        }

    def _json(self, span: NamedSpan) -> dict[str, Any]:
        label = label_json(span.label)
        return {
            "id": span.id,
            "name": span.name,
            "label": label,
            "clean_air": [part["name"] for part in label] == [CLEAN_AIR],
            "seconds": round(span.end_s - span.start_s, 1),
            "fits": self.store.session(span.session).channels == self.recorder.channels,
        }


def label_json(label: Mixture | None) -> list[dict[str, Any]]:
    """Names and shares; empty without a label."""
    if label is None:
        return []
    pairs = zip(label.names, label.ratios, strict=True)
    return [{"name": name, "share": round(share, 4)} for name, share in pairs]
