"""Build hook: fetch the plotting library of the live page with npm (exact version, checked hash) and copy it in.

`python hatch_build.py` does the same for a checkout; `make page` calls that.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENDOR = ROOT / "src" / "unmixnet" / "live" / "page" / "vendor"
FILES = ("dist/uPlot.iife.min.js", "dist/uPlot.min.css", "LICENSE")


def fetch() -> None:
    """Copy what package-lock.json pins into the page's vendor folder; npm compares the hashes."""
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError("npm is needed to fetch uPlot for the live page; on Debian: apt install npm")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(ROOT / name, folder)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        subprocess.run(command, cwd=folder, check=True)
        VENDOR.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            source = Path(folder) / "node_modules" / "uplot" / name
            target = VENDOR / ("uPlot.LICENSE" if name == "LICENSE" else source.name)
            shutil.copy(source, target)


def complete() -> bool:
    """Whether the vendor folder has everything."""
    return all((VENDOR / Path(name).name).is_file() for name in FILES[:2])


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # called as a script
    BuildHookInterface = object


class PageHook(BuildHookInterface):
    """Runs before a wheel is built."""

    def initialize(self, version: str, build_data: dict) -> None:
        """A wheel must have the page; an editable install may do without, and `unmixnet live` then says what to do."""
        if complete():
            return
        try:
            fetch()
        except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
            if version != "editable":
                raise RuntimeError(f"the live page cannot be built: {error}") from error
            print(f"The live page was not built ({error}); `make page` does it later.", file=sys.stderr)


if __name__ == "__main__":
    fetch()
    print(f"uPlot is in {VENDOR.relative_to(ROOT)}")
