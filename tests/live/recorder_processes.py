"""Recorders beside the test: started, fed through a terminal, killed."""

import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from tests.live.boards import Board
from tests.live.faults import board, sound_line
from unmixnet.live.store import Store

ROOT = Path(__file__).parents[2]
MB = 2**20


@dataclass(frozen=True)
class Report:
    """What a recorder reported after its last acknowledged batch."""

    session: int | None
    stored: int
    rejected: int
    memory_bytes: int
    cpu_s: float


class RecorderProcess:
    """A recorder process; `reports` are all that it printed."""

    def __init__(self, store: Path, port: Path) -> None:
        command = [sys.executable, "-m", "tests.live.recorder_main", str(store), str(port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        self.reports: list[Report] = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            session, stored, rejected, memory, cpu = line.split()
            with self._news:
                number = None if session == "None" else int(session)
                self.reports.append(Report(number, int(stored), int(rejected), int(memory), float(cpu)))
                self._news.notify_all()

    def wait(self, enough=lambda report: True, timeout_s: float = 60.0) -> Report:
        """The first report that is enough."""
        with self._news:
            arrived = self._news.wait_for(lambda: any(enough(t) for t in self.reports[-1:]), timeout_s)
            assert arrived, f"the recorder did not report that in {timeout_s} s, last: {self.reports[-1:]}"
            return self.reports[-1]

    def kill(self) -> Report | None:
        """`kill -9`; returns its last report."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        return self.reports[-1] if self.reports else None


def kill_again_and_again(folder: Path, kills: int) -> tuple[int, int]:
    """Kill a recorder so often while a board prints; returns acknowledged rows and rows that were lost."""
    path, acknowledged, lost = folder / "store.db", 0, 0
    for turn in range(kills):
        place = folder / str(turn)
        place.mkdir()
        with Board(place) as plugged:
            recorder = RecorderProcess(path, plugged.port)
            recorder.wait()
            printing = threading.Event()

            def print_on(plugged=plugged, printing=printing) -> None:
                for number in range(1_000_000):
                    if printing.is_set():
                        return
                    try:
                        plugged.print(sound_line(number) + b"\n")
                    except OSError:
                        return

            writer = threading.Thread(target=print_on)
            writer.start()
            recorder.wait(lambda report, turn=turn: report.stored > 50 + 37 * turn % 400)
            last = recorder.kill()
            printing.set()
            # somebody has to read what the writer still waits to print
            drain = os.open(plugged.port, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
            while writer.is_alive():
                try:
                    os.read(drain, 65536)
                except BlockingIOError:
                    writer.join(0.01)
            os.close(drain)
        assert last is not None and last.session is not None
        acknowledged += last.stored
        lost += missing(path, last.session, last.stored)
    return acknowledged, lost


def missing(path: Path, session: int, acknowledged: int) -> int:
    """Rows that were acknowledged and are not there, in a store that has to be sound."""
    with Store.open(path) as store:
        assert store.check() == "ok"
        numbers = [int(sample.values[0]) for sample in store.samples(session)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return max(acknowledged - len(numbers), 0)


def through_a_terminal(folder: Path, lines: int, faults: int) -> tuple[RecorderProcess, int, int]:
    """Send so many lines, so many of them damaged; returns the recorder, what is stored and what was rejected."""
    with Board(folder) as plugged:
        recorder = RecorderProcess(folder / "store.db", plugged.port)
        try:
            recorder.wait()
            chunk = b""
            for line in board(lines, faults):
                chunk += line
                if len(chunk) > 3000:
                    plugged.print(chunk)
                    chunk = b""
            plugged.print(chunk)
            recorder.wait(lambda report: report.stored + report.rejected >= lines, timeout_s=120)
        finally:
            last = recorder.kill()
    assert last is not None and last.session is not None
    with Store.open(folder / "store.db") as store:
        stored, rejected = store.count(last.session), sum(store.rejected(last.session).values())
    assert stored == last.stored
    return recorder, stored, rejected


def growth(recorder: RecorderProcess, lines: int) -> int:
    """How much the memory grew after the first tenth [bytes]."""
    later = [report.memory_bytes for report in recorder.reports if report.stored + report.rejected > lines // 10]
    return max(later) - later[0]
