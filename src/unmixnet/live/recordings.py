"""Recording: a span of the stream that somebody starts, stops and names."""

from dataclasses import dataclass
from typing import Any

from unmixnet.errors import UnmixError
from unmixnet.live.listener import Listener
from unmixnet.live.store import Named, Store
from unmixnet.recordings.recording import Mixture

__all__ = ["CLEAN_AIR", "Take", "TakeError", "Takes", "label_json"]

CLEAN_AIR = "clean air"
"""What a recording of nothing is labelled with."""
_SHORTEST_S = 1.0


class TakeError(UnmixError):
    """A recording that cannot be started or stopped now."""


@dataclass(frozen=True)
class Take:
    """A recording that is running.

    Arguments:
        until_s: when it stops by itself; None if a person stops it.
    """

    name: str
    label: Mixture | None
    start_s: float
    until_s: float | None


class Takes:
    """The running recording, and the list of those that are done."""

    def __init__(self, store: Store, listener: Listener) -> None:
        self.store, self.listener = store, listener
        self.running: Take | None = None

    def check(self) -> None:
        """Raise an error if nothing can be recorded now."""
        if self.running is not None:
            raise TakeError(f"{self.running.name!r} is being recorded", remedy="Stop it first")
        if self.listener.session is None:
            raise TakeError("there are no samples in the store yet", remedy="Wait for the first one")

    def start(self, name: str, label: Mixture | None, seconds: float | None, at_s: float | None = None) -> Take:
        """Record from the newest sample on, or from a time that has only just come."""
        self.check()
        now = self.listener.last_s if at_s is None else at_s
        self.running = Take(name, label, now, None if seconds is None else now + seconds)
        return self.running

    @property
    def due(self) -> bool:
        """Whether the running recording has reached its end."""
        take = self.running
        return take is not None and take.until_s is not None and self.listener.last_s >= take.until_s

    def stop(self) -> int:
        """End the recording; gives its number in the store."""
        take, session = self.running, self.listener.session
        if take is None or session is None:
            raise TakeError("nothing is being recorded", remedy="Start a recording first")
        end_s = self.listener.last_s if take.until_s is None else min(take.until_s, self.listener.last_s)
        if end_s - take.start_s < _SHORTEST_S:
            self.running = None
            raise TakeError("the recording is shorter than a second and was not kept", remedy="Record for longer")
        number = self.store.add_recording(session, take.start_s, end_s, take.name, take.label)
        self.running = None  # not before: a store that is full now may take it later
        return number

    def listed(self, most: int = 200) -> list[dict[str, Any]]:
        """The newest recordings, oldest first, as plain values."""
        return [self._json(named) for named in self.store.recordings()[-most:]]

    def running_json(self) -> dict[str, Any] | None:
        """The running recording as plain values."""
        take = self.running
        if take is None:
            return None
        return {"name": take.name, "label": label_json(take.label), "start_s": take.start_s, "until_s": take.until_s}

    def _json(self, named: Named) -> dict[str, Any]:
        label = label_json(named.label)
        return {
            "id": named.id,
            "name": named.name,
            "label": label,
            "clean_air": [part["name"] for part in label] == [CLEAN_AIR],
            "seconds": round(named.end_s - named.start_s, 1),
            "fits": self.store.session(named.session).channels == self.listener.channels,
        }


def label_json(label: Mixture | None) -> list[dict[str, Any]]:
    """Names and shares; empty without a label."""
    if label is None:
        return []
    pairs = zip(label.names, label.ratios, strict=True)
    return [{"name": name, "share": round(share, 4)} for name, share in pairs]
