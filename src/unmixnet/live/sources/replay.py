"""A recording, played again at any speed."""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

from unmixnet.live.sample import Item, Sample, SourceEvent
from unmixnet.live.sources.pace import Pace

__all__ = ["ReplaySource"]


class ReplaySource:
    """The rows of a file, in the time that the file says.

    Arguments:
        path: a recording that `unmixnet.recordings.reader` reads, or an `.osmell` file.
        speed: seconds of signal per second; infinity is as fast as possible.
    """

    def __init__(self, path: str | Path, speed: float = 1.0) -> None:
        from unmixnet.recordings.formats.osmell import is_osmell, read_osmell
        from unmixnet.recordings.reader import read_recording

        self._pace = Pace(speed)
        self.recording = read_osmell(path).recording if is_osmell(path) else read_recording(path)
        self.name = f"replay of {Path(path).name}"
        self.channels: tuple[str, ...] | None = self.recording.channels
        # One word for all channels, as the other sources have: that of most of them.
        self.unit = Counter(self.recording.units).most_common(1)[0][0]

    async def stream(self) -> AsyncIterator[Item]:
        """All rows, then the end."""
        yield SourceEvent(
            "connected", f"Replaying {len(self.recording):,} rows at {self._pace.speed:g} times the speed."
        )
        start_s = float(self.recording.time_s[0])
        for time_s, readings in zip(self.recording.time_s, self.recording.readings, strict=True):
            since_s = float(time_s) - start_s
            await self._pace.until(since_s)
            yield Sample(since_s, tuple(readings.tolist()))
        yield SourceEvent("end", "The recording has ended.")
