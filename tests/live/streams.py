"""Waiting for what a source says."""

import asyncio
from collections.abc import AsyncIterator

from unmixnet.live.sample import Item, SourceEvent


async def until(stream: AsyncIterator[Item], kind: str | type, seconds: float = 20.0) -> Item:
    """The next item that is an event of this kind, or of this type."""
    async with asyncio.timeout(seconds):
        async for item in stream:
            wanted = isinstance(item, SourceEvent) and item.kind == kind
            if wanted if isinstance(kind, str) else isinstance(item, kind):
                return item
    raise AssertionError("the stream has ended")
