"""What was received and is not on the disk yet: it waits while the store cannot be written, and is not forgotten."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from unmixnet.live.sample import Rejected, Sample

if TYPE_CHECKING:
    from unmixnet.live.store import Store

__all__ = ["MOST_EVENTS", "MOST_ROWS", "OVERFLOW", "Backlog", "Counts"]

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
