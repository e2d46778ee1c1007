"""The recorder: samples go to the store, the engine and the page; while the store fails they wait in memory."""

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
from unmixnet.live.fanout import PageMessage, encode
from unmixnet.live.sample import Item, Rejected, Sample, SourceEvent

if TYPE_CHECKING:
    from unmixnet.live.engine import Engine
    from unmixnet.live.store import Store

__all__ = ["MOST_EVENTS", "MOST_ROWS", "OVERFLOW", "Backlog", "Counts", "Recorder"]

MOST_ROWS = 50_000
"""Rows that wait at most: more than an hour of ten a second, in some 20 MB."""
MOST_EVENTS = 1000
OVERFLOW = "it could not be stored in time"
"""Why a row is rejected for which the backlog has no room."""


@dataclass(frozen=True)
class Counts:
    """Counts of everything that was received; at every moment received = stored + rejected + waiting.

    Arguments:
        received: rows and lines from the source.
        stored: rows that are on the disk.
        rejected: lines that are not rows, and rows for which the backlog had no room.
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
        most: rows that may wait; when it is full the newest are rejected, which leaves one gap and not many.
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
        """Keep a batch until it is written."""
        fit = samples[: max(0, self.most - len(self._rows))]
        late = [Rejected(OVERFLOW, "", len(samples) - len(fit))] if len(fit) < len(samples) else []
        self._rows.extend(fit)
        for line in (*rejected, *late):
            before = self._rejected.get(line.reason)
            self._rejected[line.reason] = replace(line, count=line.count + before.count) if before else line
        refused = sum(line.count for line in rejected)
        now = self.counts
        # one assignment, so that another thread never reads a sum that is wrong
        self.counts = Counts(
            now.received + len(samples) + refused,
            now.stored,
            now.rejected + refused + len(samples) - len(fit),
            now.waiting + len(fit),
        )

    def note(self, time_s: float, kind: str, text: str) -> None:
        """Keep an event until it is written."""
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
_MOST_IN_MESSAGE = 60
"""Samples that one message carries; more of them (a fast replay) are thinned on the page, never in the store."""
RETRY_S = 1.0
"""Time [s] between attempts to write to a store that could not be written."""
_STORE_FAILED = "The store failed; the terminal shows why."
_STRAY = "it is not a row of this session"
_log = logging.getLogger("unmixnet.live")


class Recorder:
    """The recorder. Only one thread may call it; its numbers may be read from any.

    A store that cannot be written, such as one on a full disk, ends nothing: rows wait in the backlog, the page shows
    them, and `problem` is the reason why they are not on the disk.

    Arguments:
        store: where samples go first.
        source, unit: name of the source, and unit of its readings.
    """

    def __init__(self, store: "Store", source: str, unit: str) -> None:
        self.store, self.source, self.unit = store, source, unit
        self.backlog = Backlog(store)
        self.session: int | None = None
        self.channels: tuple[str, ...] = ()
        self.problem, self._lossy, self._again_s = "", False, 0.0
        self.last_s = 0.0
        self.status, self.rate_Hz = "waiting", 0.0
        self.samples: deque[Sample] = deque(maxlen=_MOST_KEPT)
        self.shares: deque[dict[str, Any]] = deque(maxlen=_MOST_SHARES)
        self.marks: deque[dict[str, Any]] = deque(maxlen=_MOST_MARKS)
        self.estimate: dict[str, Any] | None = None
        self.broken = False
        """Whether the model failed during an estimate."""
        self._engine: Engine | None = None
        self._state: Any = None

    @property
    def counts(self) -> Counts:
        """Counts of everything that was received."""
        return self.backlog.counts

    def receive(self, items: Sequence[Item], channels: tuple[str, ...] | None) -> list[PageMessage]:
        """Store a batch, unmix it, and give the messages for the page."""
        if channels and not self.channels:
            self.channels, self.status = channels, "connected"
        if self.problem:
            self.flush()  # what waits makes room first
        samples, stray = self._sorted([item for item in items if isinstance(item, Sample)])
        self.backlog.receive(samples, [*(item for item in items if isinstance(item, Rejected)), *stray])
        self.flush()
        messages = [self._event(item) for item in items if isinstance(item, SourceEvent)]
        if samples:
            self._keep(samples)
            messages = [self._samples(samples), *messages]
        elif items:
            messages.append(encode("counts", self.counts_json()))
        return [*messages, *self._unmix(samples)]

    def flush(self, *, at_once: bool = False) -> None:
        """Write what waits, unless that failed a moment ago. A session begins with the channels.

        Lines that were rejected before also wait for the session, so that the store counts every line of a board that
        began with noise. A board that never prints anything else has no session.
        """
        if not self.channels or (self.problem and not at_once and time.monotonic() < self._again_s):
            return
        try:
            if self.session is None:
                self.session = self.store.start_session(self.source, self.channels, self.unit)
            self.backlog.write(self.session)
        except Exception as error:  # whatever it was, the rows are still here
            self._failed(error)
        else:
            if self.problem:
                self.problem, self._lossy = "", False
                _log.warning("The store can be written again; every row that waited is in it.")

    def _failed(self, error: Exception) -> None:
        self._again_s = time.monotonic() + RETRY_S
        if self.backlog.full and not self._lossy:
            self._lossy = True
            _log.error("%d rows wait for the store, and no more can: readings are lost from now on.", self.backlog.most)
        if self.problem:
            return
        note = "Readings are not being stored. They wait in memory, and are stored as soon as that is possible. %s"
        if isinstance(error, UnmixError):
            self.problem = _without_place(error)
            _log.error(note, error)
        else:
            self.problem = _STORE_FAILED
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

    def use_engine(self, engine: "Engine | None") -> list[PageMessage]:
        """Estimate with this engine from now on; it is given the last minutes, so that nobody waits for them."""
        self._engine, self.estimate, self.broken = engine, None, False
        self.shares.clear()
        if engine is None:
            return []
        self._state = engine.start()
        return self._unmix(list(self.samples))[-1:]

    def clean_air(self) -> PageMessage:
        """Declare the air clean: the engine takes the level of the last seconds as its baseline."""
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

    def _unmix(self, samples: Sequence[Sample]) -> list[PageMessage]:
        messages: list[PageMessage] = []
        if self._engine is None:
            return messages
        try:
            for sample in samples:
                estimate, self._state = self._engine.step(sample, self._state)
                if estimate is not None:
                    self.estimate = estimate.to_json()
                    self._remember(self.estimate)
                    messages.append(encode("estimate", self.estimate))
        except Exception:  # the rows are stored; the model is dropped, or it would fail at every row
            _log.exception("the model failed")
            self._engine, self.estimate, self.broken = None, None, True
        return messages[-2:]  # a fast replay makes more of them than a page can show

    def _remember(self, estimate: dict[str, Any]) -> None:
        kept = ("time_s", "status", "ratios", "low", "high")
        self.shares.append({name: estimate.get(name) for name in kept})

    def mark(self, kind: str, text: str) -> PageMessage:
        """Set a mark at the newest sample."""
        value = {"time_s": self.last_s, "kind": kind, "text": clipped(printable(text), 200)}
        if self.channels:
            self.backlog.note(self.last_s, kind, value["text"])
            self.flush()
        self.marks.append(value)
        return encode("event", value)

    def _event(self, event: SourceEvent) -> PageMessage:
        self.status = event.kind
        return self.mark(event.kind, event.text)

    def _samples(self, samples: list[Sample]) -> PageMessage:
        every = max(1, math.ceil(len(samples) / _MOST_IN_MESSAGE))
        return encode("samples", rows(samples[::every]) | self.counts_json())

    def counts_json(self) -> dict[str, Any]:
        """The counts and the rate as plain values."""
        now = self.counts
        counts = {"stored": now.stored, "rejected": now.rejected, "waiting": now.waiting}
        return {**counts, "rate_Hz": round(self.rate_Hz, 3)}

    def history(self) -> dict[str, Any]:
        """What a page draws when it opens."""
        kept = list(self.samples)
        every = max(1, math.ceil(len(kept) / 2000))
        return {**rows(kept[::every]), "shares": list(self.shares), "estimate": self.estimate}


def _without_place(error: UnmixError) -> str:
    """The message without its file, which only the terminal shows."""
    text = str(UnmixError(error.problem, remedy=error.remedy))
    return text[:1].upper() + text[1:]


def rows(samples: Sequence[Sample]) -> dict[str, Any]:
    """Times and readings; a reading that is not there is null."""
    return {
        "time_s": [round(sample.time_s, 4) for sample in samples],
        "values": [[value if math.isfinite(value) else None for value in sample.values] for sample in samples],
    }
