"""The recorder as a process of its own: `recorder.py STORE PORT` stores what a board prints, and prints its counts.

After every acknowledged batch it prints `session stored rejected memory_bytes cpu_seconds`.
"""

import asyncio
import os
import sys
import time
from pathlib import Path

from unmixnet.live.recorder import Recorder
from unmixnet.live.sample import Item, SampleSource
from unmixnet.live.sources.serial_port import SerialSource
from unmixnet.live.store import Store

GATHER_S = 0.02
INBOX = 4096


async def record(source: SampleSource, recorder: Recorder, report=lambda: None) -> None:
    """Source → inbox → store, as the hub does it; ends with the source."""
    inbox: asyncio.Queue[Item | None] = asyncio.Queue(INBOX)

    async def listen() -> None:
        async for item in source.stream():
            await inbox.put(item)
        await inbox.put(None)

    listening = asyncio.create_task(listen())
    ended = False
    while not ended:
        items = [await inbox.get()]
        await asyncio.sleep(GATHER_S)
        while not inbox.empty():
            items.append(inbox.get_nowait())
        ended = None in items
        await asyncio.to_thread(recorder.receive, [item for item in items if item is not None], source.channels)
        report()
    await listening


def memory_bytes() -> int:
    """Memory of this process that is in use now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(store: Path, port: str) -> None:
    source = SerialSource(port, retry_s=0.05)
    with Store.open(store) as opened:
        recorder = Recorder(opened, source.name, source.unit)

        def report() -> None:
            now = recorder.counts
            print(recorder.session, now.stored, now.rejected, memory_bytes(), time.process_time(), flush=True)

        asyncio.run(record(source, recorder, report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
