"""Unmixing whole recordings, uploaded or recorded here, and the reports on them; the last few are kept in memory."""

import io
import itertools
import math
import tempfile
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmixnet.errors import UnmixError
from unmixnet.files.printable import printable
from unmixnet.inference.report.formatting import clipped
from unmixnet.live.hub import Live

if TYPE_CHECKING:
    from unmixnet.inference.report import Answer
    from unmixnet.recordings.recording import Recording

__all__ = ["Answers", "AnswersError"]

_KEPT = 12
_MOST_ROWS = 1200
"""Rows of the traces that the page draws; the report has all of them."""
_WAITING = 3


class AnswersError(UnmixError):
    """No such answer, or too many at once."""


class Answers:
    """Answers by number."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self._kept: OrderedDict[int, Answer] = OrderedDict()
        self._numbers = itertools.count(1)
        self._waiting = 0

    async def of_file(self, file: Path, name: str) -> dict[str, Any]:
        """Unmix a file; `name` is only shown."""
        return await self._answer(lambda: _read(file, name))

    async def of_recording(self, number: int) -> dict[str, Any]:
        """Unmix a recording of the store."""
        return await self._answer(lambda: self.live.store.recording(number))

    async def _answer(self, read: Any) -> dict[str, Any]:
        if self._waiting >= _WAITING:
            raise AnswersError(f"{_WAITING} recordings are waiting already", remedy="Try again in a moment")
        self._waiting += 1
        try:
            answer = await self.live.in_worker_thread(self._unmix, read)
        finally:
            self._waiting -= 1
        number = next(self._numbers)
        self._kept[number] = answer
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return {"id": number, **_thinned(answer)}

    def _unmix(self, read: Any) -> "Answer":
        from unmixnet.inference.unmix import unmix

        recording: Recording = read()
        return unmix(self.live.bundle, recording, session=self.live.applied)

    def page(self, number: int) -> str:
        """The report as one HTML page."""
        from unmixnet.inference.report.page import render_page

        return render_page(self._find(number), alone=True)

    def archive(self, number: int) -> bytes:
        """The report with its numbers, as a ZIP file."""
        from unmixnet.inference.report import write_report

        out = io.BytesIO()
        with tempfile.TemporaryDirectory(prefix="unmixnet-") as folder, zipfile.ZipFile(out, "w", 8) as archive:
            write_report(self._find(number), folder)
            for file in sorted(Path(folder).iterdir()):
                archive.write(file, f"report/{file.name}")
        return out.getvalue()

    def _find(self, number: int) -> "Answer":
        if number not in self._kept:
            raise AnswersError(f"there is no answer {number} any more", remedy="Unmix the recording again")
        return self._kept[number]


def _read(file: Path, name: str) -> "Recording":
    """The recording; a refusal names the file as the user named it."""
    from unmixnet.recordings.reader import read_recording

    shown = clipped(printable(name), 120) or "file"
    try:
        return read_recording(file, place=shown)
    except UnmixError as error:
        raise UnmixError(str(error).replace(str(file), shown)) from None


def _thinned(answer: "Answer") -> dict[str, Any]:
    from unmixnet.inference.report import to_json

    whole = to_json(answer)
    traces = whole["traces"]
    every = max(1, math.ceil(len(traces["time_s"]) / _MOST_ROWS))
    rows = {name: traces[name][::every] for name in ("time_s", "measured", "reconstructed")}
    return {**whole, "traces": {**traces, **rows}}
