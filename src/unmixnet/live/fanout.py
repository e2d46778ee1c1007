"""One stream to many readers: each has a short queue, and a slow reader misses messages instead of delaying others."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from unmixnet.errors import UnmixError

__all__ = ["Client", "Fanout", "PageMessage", "TooManyClientsError", "encode"]

MOST_CLIENTS = 32
QUEUE = 64
"""Messages that a reader may lag behind; about three seconds."""


class TooManyClientsError(UnmixError):
    """More pages are open than the hub serves."""


@dataclass(frozen=True)
class PageMessage:
    """One message: what kind, and JSON text that is made once for all readers."""

    kind: str
    text: str


def encode(kind: str, value: Any) -> PageMessage:
    """A message of plain values; NaN must be None, since JSON has no NaN."""
    return PageMessage(kind, json.dumps(value, allow_nan=False, separators=(",", ":")))


@dataclass(eq=False)
class Client:
    """One reader.

    Arguments:
        missed: messages that were dropped since the reader was last informed.
    """

    queue: asyncio.Queue[PageMessage | None] = field(default_factory=lambda: asyncio.Queue(QUEUE))
    missed: int = 0

    def offer(self, message: PageMessage | None) -> None:
        """Put a message in the queue; the oldest makes room."""
        while self.queue.full():
            self.queue.get_nowait()
            self.missed += 1
        self.queue.put_nowait(message)


class Fanout:
    """Messages for every reader. Lives on one event loop."""

    def __init__(self) -> None:
        self._clients: set[Client] = set()
        self._closed = False

    def __len__(self) -> int:
        return len(self._clients)

    def send(self, message: PageMessage) -> None:
        """Offer a message to every reader; never waits."""
        for client in self._clients:
            client.offer(message)

    def join(self) -> Client:
        """A new reader, who gets every message from now on; it must `leave`."""
        if len(self._clients) >= MOST_CLIENTS:
            raise TooManyClientsError(f"{MOST_CLIENTS} pages are open already", remedy="Close one of them")
        client = Client()
        if self._closed:
            client.offer(None)
        self._clients.add(client)
        return client

    def leave(self, client: Client) -> None:
        """Forget a reader."""
        self._clients.discard(client)

    async def messages(self, client: Client) -> AsyncIterator[PageMessage]:
        """Messages of a reader until the hub closes; after a gap, first one that says how many were missed."""
        while True:
            message = await client.queue.get()
            if client.missed:
                missed, client.missed = client.missed, 0
                yield encode("missed", {"frames": missed})
            if message is None:
                return
            yield message

    def close(self) -> None:
        """End every stream."""
        self._closed = True
        for client in self._clients:
            client.offer(None)
