"""Reading the stream as a page does."""

import json
import time
from collections.abc import Iterator

import httpx


def events(client: httpx.Client, seconds: float) -> Iterator[tuple[float, str, dict]]:
    """When it came (Unix time), kind and value of each event, for so many seconds."""
    end, kind = time.monotonic() + seconds, ""
    with client.stream("GET", "/api/stream", timeout=30) as answer:
        assert answer.status_code == 200
        for line in answer.iter_lines():
            if line.startswith("event:"):
                kind = line[6:].strip()
            elif line.startswith("data:"):
                yield time.time(), kind, json.loads(line[5:])
            if time.monotonic() > end:
                return
