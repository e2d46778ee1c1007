"""The wheel as people get it, built once for a module, and a clean installation of it."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CLEAN = {
    name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "PIP_TARGET"))
}


def pythons() -> dict[str, str]:
    """Interpreters that the core is tried on, by version: those of UNMIXNET_PYTHONS, else those of the path."""
    given = os.environ.get("UNMIXNET_PYTHONS", "python3.11 python3.12 python3.13").split()
    started = {
        path: subprocess.run([path, "-c", "import platform; print(platform.python_version())"], capture_output=True)
        for name in given
        if (path := shutil.which(name))
    }
    return {done.stdout.decode().strip(): path for path, done in started.items() if done.returncode == 0}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    if shutil.which("npm") is None and not (ROOT / "src/unmixnet/live/page/vendor/uPlot.iife.min.js").exists():
        pytest.skip("npm is needed to fetch the plotting library; on Debian: apt install npm")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """Folder of programs of a clean installation: by pipx where there is one, else in a virtual environment."""
    home = tmp_path_factory.mktemp("installed")
    wanted = f"{wheel}[live]"
    constraints = {"PIP_CONSTRAINT": str(ROOT / "constraints.txt")}
    if pipx := shutil.which("pipx"):
        places = {"PIPX_HOME": str(home / "pipx"), "PIPX_BIN_DIR": str(home / "bin")}
        subprocess.run(
            [pipx, "install", wanted], check=True, env={**CLEAN, **constraints, **places}, capture_output=True
        )
        return home / "bin"
    venv.create(home / "venv", with_pip=True)
    command = [str(home / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet", wanted]
    subprocess.run(command, check=True, env={**CLEAN, **constraints}, capture_output=True)
    return home / "venv" / "bin"
