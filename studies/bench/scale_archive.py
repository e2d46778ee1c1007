"""What an archive costs per sample: continuous recordings as Parquet, one thread, with the share of each stage."""

import tempfile
import time
from pathlib import Path

import numpy as np

__all__ = ["archive"]

MODEL = "smellnet-mixture"
_HOUR_ROWS = 36_000


def archive(hours: int) -> dict:
    """Continuous recordings at 10 Hz as Parquet: seconds per window in all and by stage, bytes in and out."""
    import cProfile
    import pstats

    from unmixnet.inference.archive.run import unmix_archive
    from unmixnet.inference.bundle import find_bundle, load_bundle

    place = find_bundle(MODEL)
    bundle = load_bundle(place)
    with tempfile.TemporaryDirectory() as home:
        work = Path(home)
        rows, sizes = _recordings(work / "in", hours, bundle.preprocessing.channels)
        _recordings(work / "first", 1, bundle.preprocessing.channels, rows=1200)
        unmix_archive(work / "first", work / "warm", bundle, place)
        profile, began, wall = cProfile.Profile(), time.process_time(), time.monotonic()
        report = unmix_archive(work / "in", work / "out", bundle, place)
        seconds, wall = time.process_time() - began, time.monotonic() - wall
        profile.runcall(unmix_archive, work / "in", work / "again", bundle, place)
        out = sum(path.stat().st_size for path in (work / "out" / "windows").iterdir())
        stages = _stages(pstats.Stats(profile))
        peak = _peak_MB()
    windows = report.fresh_windows
    return {
        "model": MODEL,
        "rate_Hz": 10.0,
        "channels": len(bundle.preprocessing.channels),
        "stride_s": bundle.spec.stride_s,
        "rows": rows,
        "windows": windows,
        "seconds": seconds,
        "wall_seconds": wall,
        "windows_per_second": windows / seconds,
        "samples_per_second": rows / seconds,
        "bytes_per_sample": {name: size / rows for name, size in sizes.items()},
        "bytes_per_window": out / windows,
        "stages": stages,
        "peak_MB": peak,
    }


def _recordings(folder: Path, hours: int, channels: tuple[str, ...], rows: int = _HOUR_ROWS) -> tuple[int, dict]:
    """Hours of slow changes and noise in counts, one Parquet file each; the same as text, to know its size."""
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir()
    sizes = {"parquet": 0, "csv": 0}
    for hour in range(hours):
        rng = np.random.default_rng(hour)
        walk = np.cumsum(rng.normal(0, 1, (rows, len(channels))), axis=0)
        counts = np.round(np.clip(450 + 3 * walk + rng.normal(0, 1, walk.shape), 20, 1000))
        time_s = np.arange(rows) / 10
        table = pa.table({"time_s": time_s} | dict(zip(channels, counts.astype(np.int16).T, strict=True)))
        path = folder / f"hour{hour:03d}.parquet"
        parquet.write_table(table, path, compression="zstd", row_group_size=rows // 2)
        sizes["parquet"] += path.stat().st_size
        lines = (f"{t:.1f}," + ",".join(f"{value:.0f}" for value in row) for t, row in zip(time_s, counts, strict=True))
        sizes["csv"] += sum(len(line) + 1 for line in lines)
    return hours * rows, sizes


def _stages(stats) -> dict[str, float]:
    """Share of the time of each stage."""
    wanted = {
        "reading": ("blocks.py", "_table"),
        "encoder": ("windows.py", "encode"),
        "solver": ("windows.py", "reconstruct"),
        "judging": ("answering.py", "_judged"),
        "writing": ("task.py", "__call__"),
    }
    total = stats.total_tt
    shares = dict.fromkeys(wanted, 0.0)
    for (file, _, function), (_, _, _, cumulative, _) in stats.stats.items():
        for name, (end, called) in wanted.items():
            if file.endswith(end) and function == called:
                shares[name] += cumulative / total
    return shares | {"cutting and the rest": max(1 - sum(shares.values()), 0.0)}


def _peak_MB() -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024
