"""What happens to samples, in one thread: they are stored, then unmixed, then turned into frames for the page."""

import math
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unmixnet.answer.safe import clipped, plain
from unmixnet.live.fanout import Frame, encode
from unmixnet.live.sample import Item, Rejected, Sample, SourceEvent

if TYPE_CHECKING:
    from unmixnet.live.engine import Engine
    from unmixnet.live.store import Store

__all__ = ["Listener"]

_KEPT_S = 180.0
"""Signal time that a page which opens now is given."""
_MOST_KEPT = 20_000
_MOST_SHARES, _MOST_MARKS = 900, 60
_MOST_IN_FRAME = 60
"""Samples that one frame carries; more of them (a fast replay) are thinned on the page, never in the store."""


class Listener:
    """The recorder. Only one thread may call `hear` and `use`; the numbers may be read from any.

    Arguments:
        store: where samples go before anything else happens to them.
        source, unit: as the source says.
    """

    def __init__(self, store: "Store", source: str, unit: str) -> None:
        self.store, self.source, self.unit = store, source, unit
        self.session: int | None = None
        self.channels: tuple[str, ...] = ()
        self.received = self.stored = self.rejected = 0
        self.last_s = 0.0
        self.status, self.rate_Hz = "waiting", 0.0
        self.samples: deque[Sample] = deque(maxlen=_MOST_KEPT)
        self.shares: deque[dict[str, Any]] = deque(maxlen=_MOST_SHARES)
        self.marks: deque[dict[str, Any]] = deque(maxlen=_MOST_MARKS)
        self.estimate: dict[str, Any] | None = None
        self._engine: Engine | None = None
        self._state: Any = None

    def hear(self, items: Sequence[Item], channels: tuple[str, ...] | None) -> list[Frame]:
        """Store a batch, unmix it, and say what the page should know."""
        samples = [item for item in items if isinstance(item, Sample)]
        rejected = [item for item in items if isinstance(item, Rejected)]
        events = [item for item in items if isinstance(item, SourceEvent)]
        self.received += len(samples) + len(rejected)
        if self.session is None and channels:
            self._begin(channels)
        if self.session is None:
            self.rejected += len(rejected)
            return [self._event(event) for event in events]
        self.stored += self.store.append(self.session, samples, rejected)
        self.rejected += len(rejected)
        frames = [self._event(event) for event in events]
        if samples:
            self._keep(samples)
            frames = [self._samples(samples), *frames]
        return [*frames, *self._unmix(samples)]

    def use(self, engine: "Engine | None") -> list[Frame]:
        """Answer with this engine from now on; what was just heard is heard again, so that nobody waits a minute."""
        self._engine, self.estimate = engine, None
        self.shares.clear()
        if engine is None:
            return []
        self._state = engine.start()
        return self._unmix(list(self.samples))[-1:]

    def clean_air(self) -> Frame:
        """The user says that the air is clean now: the engine takes the level of the last seconds for its baseline."""
        if self._engine is not None:
            self._state = self._engine.clean_air(self._state)
        return self.mark("air", "the air is clean")

    def _begin(self, channels: tuple[str, ...]) -> None:
        self.channels, self.status = channels, "connected"
        self.session = self.store.start_session(self.source, channels, self.unit)

    def _keep(self, samples: list[Sample]) -> None:
        self.samples.extend(samples)
        self.last_s = samples[-1].time_s
        while self.samples and self.samples[0].time_s < self.last_s - _KEPT_S:
            self.samples.popleft()
        span = self.samples[-1].time_s - self.samples[0].time_s
        self.rate_Hz = (len(self.samples) - 1) / span if span > 0 else 0.0

    def _unmix(self, samples: Sequence[Sample]) -> list[Frame]:
        frames: list[Frame] = []
        if self._engine is None:
            return frames
        for sample in samples:
            estimate, self._state = self._engine.step(sample, self._state)
            if estimate is not None:
                self.estimate = estimate.to_json()
                self._remember(self.estimate)
                frames.append(encode("estimate", self.estimate))
        return frames[-2:]  # a fast replay makes more of them than anybody sees

    def _remember(self, estimate: dict[str, Any]) -> None:
        kept = ("time_s", "status", "ratios", "low", "high")
        self.shares.append({name: estimate.get(name) for name in kept})

    def mark(self, kind: str, text: str) -> Frame:
        """Set a mark at the newest sample."""
        value = {"time_s": self.last_s, "kind": kind, "text": clipped(plain(text), 200)}
        if self.session is not None:
            self.store.add_event(self.session, self.last_s, kind, value["text"])
        self.marks.append(value)
        return encode("event", value)

    def _event(self, event: SourceEvent) -> Frame:
        self.status = event.kind
        return self.mark(event.kind, event.text)

    def _samples(self, samples: list[Sample]) -> Frame:
        every = max(1, math.ceil(len(samples) / _MOST_IN_FRAME))
        counts = {"stored": self.stored, "rejected": self.rejected, "rate_Hz": round(self.rate_Hz, 3)}
        return encode("samples", rows(samples[::every]) | counts)

    def history(self) -> dict[str, Any]:
        """What a page that opens now should draw."""
        kept = list(self.samples)
        every = max(1, math.ceil(len(kept) / 2000))
        return {**rows(kept[::every]), "shares": list(self.shares), "estimate": self.estimate}


def rows(samples: Sequence[Sample]) -> dict[str, Any]:
    """Times and readings; a reading that is not there is null."""
    return {
        "time_s": [round(sample.time_s, 4) for sample in samples],
        "values": [[value if math.isfinite(value) else None for value in sample.values] for sample in samples],
    }
