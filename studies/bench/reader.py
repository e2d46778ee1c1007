"""Reading UCI 322 text: time against pandas, peak memory, and how fast the cache reopens.

    python -m studies.bench.reader [ROWS]

A file of ROWS rows in the layout of UCI 322 is generated, read in turn by pandas and
by `read_recording`, cached, and reopened. Every peak of memory is that of a fresh process.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

__all__ = ["generate", "measure"]

HEADER = "Time (seconds), CO conc (ppm), Ethylene conc (ppm), sensor readings (16 channels)\n"
ROUNDS = 5
_BLOCK = 50_000


def generate(path: Path, rows: int, seed: int = 0) -> None:
    """Write rows at 100 Hz: noisy sensors, a new set point every 100 s, about 1 % of readings under zero."""
    rng = np.random.default_rng(seed)
    level = rng.uniform(500, 5000, 16)
    with path.open("w") as out:
        out.write(HEADER)
        for start in range(0, rows, _BLOCK):
            row = np.arange(start, min(start + _BLOCK, rows))
            episode = row // 10_000
            gases = np.column_stack([episode * 37 % 9 * 66.67, episode * 11 % 7 * 2.5])
            readings = level * rng.normal(1.0, 0.43, (len(row), 16))
            np.savetxt(out, np.column_stack([row / 100.0, gases, readings]), fmt="%.2f", delimiter="   ")


def _pandas(path: Path) -> int:
    import pandas as pd

    return len(pd.read_csv(path, sep=r"\s+", skiprows=1, header=None))


def _ours(path: Path) -> int:
    from unmixnet.recordings.reader import read_recording

    return len(read_recording(path))


def _cache(path: Path, rate_Hz: int = 10) -> int:
    from unmixnet.recordings.formats.uci_cache import open_view

    return len(open_view(path, rate_Hz, folder=path.parent / "cache"))


TASKS: dict[str, Callable[[Path], int]] = {
    "pandas": _pandas,
    "ours": _ours,
    "cache_10Hz": _cache,
    "cache_1Hz": lambda path: _cache(path, 1),
}


def _seconds(task: str, path: Path) -> tuple[float, float]:
    """Time on the wall and of the processors, which other work on the machine disturbs less."""
    start, start_processor = time.perf_counter(), time.process_time()
    TASKS[task](path)
    return time.perf_counter() - start, time.process_time() - start_processor


def _peak_MB(task: str, path: Path) -> float:
    """Peak resident memory [MB] of a fresh process that does one task."""
    command = [sys.executable, "-m", "studies.bench.reader", "--task", task, str(path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(answer)["peak_MB"]


def measure(rows: int, folder: Path) -> dict:
    """All numbers for a file of so many rows; times are the best of several rounds, the tasks in turn."""
    path = folder / "uci.txt"
    generate(path, rows)
    peaks = {task: _peak_MB(task, path) for task in ("pandas", "ours", "cache_10Hz")}
    rounds: dict[str, list[tuple[float, float]]] = {task: [] for task in TASKS}
    for _ in range(ROUNDS):
        for task in TASKS:
            rounds[task].append(_seconds(task, path))
    best = {task: min(wall for wall, _ in pairs) for task, pairs in rounds.items()}
    processor = {task: min(used for _, used in pairs) for task, pairs in rounds.items()}
    return {
        "rows": rows,
        "bytes": path.stat().st_size,
        "seconds": {task: round(seconds, 4) for task, seconds in sorted(best.items())},
        "processor_seconds": {task: round(seconds, 4) for task, seconds in sorted(processor.items())},
        "peak_MB": {task: round(peak, 1) for task, peak in sorted(peaks.items())},
        "pandas_over_ours": round(best["pandas"] / best["ours"], 3),
        "text_over_cache_10Hz": round(best["ours"] / best["cache_10Hz"], 1),
        "text_over_cache_1Hz": round(best["ours"] / best["cache_1Hz"], 1),
    }


def _own_peak_MB() -> float:
    """Peak of this process alone; `ru_maxrss` would also remember the size of the one that started it."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    if sys.argv[1:2] == ["--task"]:
        TASKS[sys.argv[2]](Path(sys.argv[3]))
        print(json.dumps({"peak_MB": _own_peak_MB()}))
        return
    from studies.tables.markdown import store

    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = store(
            "reader",
            f"python -m studies.bench.reader {rows}",
            measure(rows, Path(folder)),
        )
    print(path)


if __name__ == "__main__":
    main()
