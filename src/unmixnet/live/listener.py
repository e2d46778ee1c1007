"""What was received and is not on the disk yet: it waits while the store cannot be written, and is not forgotten."""

import logging
import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from unmixnet.errors import UnmixError
from unmixnet.files.printable import printable
from unmixnet.inference.report.formatting import clipped
from unmixnet.live.fanout import Frame, encode
from unmixnet.live.sample import Item, Rejected, Sample, SourceEvent

if TYPE_CHECKING:
    from unmixnet.live.engine import Engine
    from unmixnet.live.store import Store

__all__ = ["MOST_EVENTS", "MOST_ROWS", "OVERFLOW", "Backlog", "Counts", "Listener"]

MOST_ROWS = 50_000
"""Rows that wait at most: more than an hour of ten a second, in some 20 MB."""
MOST_EVENTS = 1000
OVERFLOW = "it could not be stored in time"
"""Why a row is rejected that finds no more room to wait."""


@dataclass(frozen=True)
class Counts:
    """What became of everything that came: at every moment received = stored + rejected + waiting.

    Arguments:
        received: rows and lines that the source gave.
        stored: rows that are on the disk.
        rejected: lines that are no row, and rows that found no room to wait.
        waiting: rows that are in memory only.
    """

    received: int = 0
    stored: int = 0
    rejected: int = 0
    waiting: int = 0


class Backlog:
    """Rows, rejected lines and events in the order in which they came. One thread writes; any may read `counts`.

    Rejected lines are summed up by reason, of which there are few, so that a broken wire cannot fill the memory.

    Arguments:
        most: rows that may wait; the newest are rejected when there are more, since a gap is better than a sieve.
    """

    def __init__(self, store: "Store", most: int = MOST_ROWS) -> None:
        self.store, self.most = store, most
        self.counts = Counts()
        self._rows: list[Sample] = []
        self._rejected: dict[str, Rejected] = {}
        self._events: deque[tuple[float, str, str]] = deque(maxlen=MOST_EVENTS)

    @property
    def full(self) -> bool:
        """Whether no further row can wait."""
        return len(self._rows) >= self.most

    def receive(self, samples: Sequence[Sample], rejected: Sequence[Rejected]) -> None:
        """Take charge of a batch."""
        fit = samples[: max(0, self.most - len(self._rows))]
        late = [Rejected(OVERFLOW, "", len(samples) - len(fit))] if len(fit) < len(samples) else []
        self._rows.extend(fit)
        for line in (*rejected, *late):
            before = self._rejected.get(line.reason)
            self._rejected[line.reason] = replace(line, count=line.count + before.count) if before else line
        refused = sum(line.count for line in rejected)
        now = self.counts
        # one assignment, so that whoever looks on from another thread never sees a sum that is wrong
        self.counts = Counts(
            now.received + len(samples) + refused,
            now.stored,
            now.rejected + refused + len(samples) - len(fit),
            now.waiting + len(fit),
        )

    def note(self, time_s: float, kind: str, text: str) -> None:
        """Take charge of an event."""
        self._events.append((time_s, kind, text))

    def write(self, session: int) -> None:
        """Write everything; what the store does not acknowledge stays here, and its error is raised."""
        if self._rows or self._rejected:
            stored = self.store.append(session, self._rows, list(self._rejected.values()))
            self._rows, self._rejected = [], {}
            self.counts = replace(self.counts, stored=self.counts.stored + stored, waiting=0)
        while self._events:
            self.store.add_event(session, *self._events[0])
            self._events.popleft()


_KEPT_S = 180.0
"""Signal time that a page which opens now is given."""
_MOST_KEPT = 20_000
_MOST_SHARES, _MOST_MARKS = 900, 60
_MOST_IN_FRAME = 60
"""Samples that one frame carries; more of them (a fast replay) are thinned on the page, never in the store."""
RETRY_S = 1.0
"""Time [s] between attempts to write to a store that could not be written."""
_STORE_FAILED = "The store failed; the terminal shows why."
_STRAY = "it is no row of this session"
_log = logging.getLogger("unmixnet.live")


class Listener:
    """The recorder. Only one thread may call it; its numbers may be read from any.

    A store that cannot be written, such as one on a full disk, ends nothing: rows wait in the backlog, the page shows
    them, and `trouble` says why they are not on the disk.

    Arguments:
        store: where samples go before anything else happens to them.
        source, unit: as the source says.
    """

    def __init__(self, store: "Store", source: str, unit: str) -> None:
        self.store, self.source, self.unit = store, source, unit
        self.backlog = Backlog(store)
        self.session: int | None = None
        self.channels: tuple[str, ...] = ()
        self.trouble, self._lossy, self._again_s = "", False, 0.0
        self.last_s = 0.0
        self.status, self.rate_Hz = "waiting", 0.0
        self.samples: deque[Sample] = deque(maxlen=_MOST_KEPT)
        self.shares: deque[dict[str, Any]] = deque(maxlen=_MOST_SHARES)
        self.marks: deque[dict[str, Any]] = deque(maxlen=_MOST_MARKS)
        self.estimate: dict[str, Any] | None = None
        self.broken = False
        """Whether the model failed while it was asked."""
        self._engine: Engine | None = None
        self._state: Any = None

    @property
    def counts(self) -> Counts:
        """What became of everything that came."""
        return self.backlog.counts

    def hear(self, items: Sequence[Item], channels: tuple[str, ...] | None) -> list[Frame]:
        """Store a batch, unmix it, and say what the page should know."""
        if channels and not self.channels:
            self.channels, self.status = channels, "connected"
        if self.trouble:
            self.flush()  # what waits makes room first
        samples, stray = self._sorted([item for item in items if isinstance(item, Sample)])
        self.backlog.receive(samples, [*(item for item in items if isinstance(item, Rejected)), *stray])
        self.flush()
        frames = [self._event(item) for item in items if isinstance(item, SourceEvent)]
        if samples:
            self._keep(samples)
            frames = [self._samples(samples), *frames]
        elif items:
            frames.append(encode("counts", self.told()))
        return [*frames, *self._unmix(samples)]

    def flush(self, *, at_once: bool = False) -> None:
        """Write what waits, unless that failed a moment ago. A session begins with the channels.

        What was rejected before waits for the session too, so that the store accounts for every line of a board
        that began with noise. A board that never says anything else has no session, and nothing to account for.
        """
        if not self.channels or (self.trouble and not at_once and time.monotonic() < self._again_s):
            return
        try:
            if self.session is None:
                self.session = self.store.start_session(self.source, self.channels, self.unit)
            self.backlog.write(self.session)
        except Exception as error:  # whatever it was, the rows are still here
            self._failed(error)
        else:
            if self.trouble:
                self.trouble, self._lossy = "", False
                _log.warning("The store can be written again; every row that waited is in it.")

    def _failed(self, error: Exception) -> None:
        self._again_s = time.monotonic() + RETRY_S
        if self.backlog.full and not self._lossy:
            self._lossy = True
            _log.error("%d rows wait for the store, and no more can: readings are lost from now on.", self.backlog.most)
        if self.trouble:
            return
        note = "Readings are not being stored. They wait in memory, and are stored as soon as that is possible. %s"
        if isinstance(error, UnmixError):
            self.trouble = _without_place(error)
            _log.error(note, error)
        else:
            self.trouble = _STORE_FAILED
            _log.error(note, error, exc_info=error)

    def _sorted(self, samples: list[Sample]) -> tuple[list[Sample], list[Rejected]]:
        """Rows that the session can hold, and a count of others; one of those would hold up all that wait with it."""
        last = self.samples[-1].time_s if self.samples else -math.inf
        sound: list[Sample] = []
        for sample in samples:
            if len(sample.values) == len(self.channels) and last <= sample.time_s < math.inf:
                sound.append(sample)
                last = sample.time_s
        stray = len(samples) - len(sound)
        return sound, [Rejected(_STRAY, "", stray)] if stray else []

    def use(self, engine: "Engine | None") -> list[Frame]:
        """Answer with this engine from now on; what was just heard is heard again, so that nobody waits a minute."""
        self._engine, self.estimate, self.broken = engine, None, False
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
        try:
            for sample in samples:
                estimate, self._state = self._engine.step(sample, self._state)
                if estimate is not None:
                    self.estimate = estimate.to_json()
                    self._remember(self.estimate)
                    frames.append(encode("estimate", self.estimate))
        except Exception:  # the rows are stored; the model is not asked again, or it would fail at every row
            _log.exception("the model failed")
            self._engine, self.estimate, self.broken = None, None, True
        return frames[-2:]  # a fast replay makes more of them than anybody sees

    def _remember(self, estimate: dict[str, Any]) -> None:
        kept = ("time_s", "status", "ratios", "low", "high")
        self.shares.append({name: estimate.get(name) for name in kept})

    def mark(self, kind: str, text: str) -> Frame:
        """Set a mark at the newest sample."""
        value = {"time_s": self.last_s, "kind": kind, "text": clipped(printable(text), 200)}
        if self.channels:
            self.backlog.note(self.last_s, kind, value["text"])
            self.flush()
        self.marks.append(value)
        return encode("event", value)

    def _event(self, event: SourceEvent) -> Frame:
        self.status = event.kind
        return self.mark(event.kind, event.text)

    def _samples(self, samples: list[Sample]) -> Frame:
        every = max(1, math.ceil(len(samples) / _MOST_IN_FRAME))
        return encode("samples", rows(samples[::every]) | self.told())

    def told(self) -> dict[str, Any]:
        """The counts and the rate as plain values."""
        now = self.counts
        counts = {"stored": now.stored, "rejected": now.rejected, "waiting": now.waiting}
        return {**counts, "rate_Hz": round(self.rate_Hz, 3)}

    def history(self) -> dict[str, Any]:
        """What a page that opens now should draw."""
        kept = list(self.samples)
        every = max(1, math.ceil(len(kept) / 2000))
        return {**rows(kept[::every]), "shares": list(self.shares), "estimate": self.estimate}


def _without_place(error: UnmixError) -> str:
    """What went wrong; the terminal says in which file, and no page needs to know."""
    told = str(UnmixError(error.problem, remedy=error.remedy))
    return told[:1].upper() + told[1:]


def rows(samples: Sequence[Sample]) -> dict[str, Any]:
    """Times and readings; a reading that is not there is null."""
    return {
        "time_s": [round(sample.time_s, 4) for sample in samples],
        "values": [[value if math.isfinite(value) else None for value in sample.values] for sample in samples],
    }
