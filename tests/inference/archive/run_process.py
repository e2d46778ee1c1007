"""One run of an archive in its own process: `python run_process.py IN OUT BUNDLE WORKERS`; prints its peak memory."""

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    from unmixnet.inference.archive.run import unmix_archive
    from unmixnet.inference.archive.workers import Local
    from unmixnet.inference.bundle import load_bundle

    archive, out, model = map(Path, sys.argv[1:4])
    report = unmix_archive(archive, out, load_bundle(model), model, place=Local(int(sys.argv[4])))
    status = Path("/proc/self/status").read_text()
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    print(json.dumps({"windows": report.fresh_windows, "seconds": report.seconds, "peak_MB": peak / 1024}))
