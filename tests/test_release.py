"""What is released: a small wheel that works by itself, quickly, with its papers."""

import json
import re
import resource
import shutil
import subprocess
import sys
import time
import tomllib
import zipfile
from pathlib import Path

import pytest

import unmixnet
from tests.live.server_process import linked
from tests.released import CLEAN, ROOT, installed, pythons, wheel  # noqa: F401

LARGEST_MB = 20
PYTHONS = pythons()


def best_of(runs: int, command: list[str]) -> float:
    """Processor seconds of the quickest of some runs: what the program needs, whatever else the machine does."""
    took = []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(took)


# ---------------------------------------------------------------- start


def test_the_package_is_imported_within_two_seconds():
    assert best_of(3, [sys.executable, "-c", "import unmixnet"]) <= 2


def test_help_answers_within_half_a_second():
    assert best_of(5, [sys.executable, "-m", "unmixnet", "--help"]) <= 0.5


def test_twin_importing_jax_would_be_noticed():
    assert best_of(1, [sys.executable, "-c", "import jax, sklearn.ensemble; import unmixnet"]) > 0.5


# ---------------------------------------------------------------- papers


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_version_is_the_same_everywhere():
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited and cited[1] == project()["version"] == unmixnet.__version__


def test_the_citation_has_what_the_format_asks_for():
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["license"] == project()["license"]
    authors = {author["family-names"] for author in citation["references"][0]["authors"]}
    assert authors == {"Shi", "Han", "Zhang", "Sobeih"}


def test_every_dependency_has_an_exact_version():
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8").lower().replace("_", "-")
    pinned = set(re.findall(r"^([a-z0-9.-]+)==", text, re.MULTILINE))
    groups = [project()["dependencies"], *project()["optional-dependencies"].values()]
    wanted = [requirement.lower().replace("_", "-") for group in groups for requirement in group]
    names = {re.split(r"[<>=\[ ]", requirement)[0] for requirement in wanted}
    assert names - pinned == set()


def test_the_core_needs_no_pandas():
    """It imports none, and asks for none; a second reader in tests is declared there."""
    assert not [name for name in project()["dependencies"] if name.startswith("pandas")]
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "import unmixnet as um\n"
        "from unmixnet.recordings.audit import audit_folder\n"
        "print(um.unmix(um.load_model('simulated'), um.read_recording(um.example_recording())).verdict)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=CLEAN, capture_output=True, text=True)
    assert done.stdout == "mixture\n", done.stderr


# ---------------------------------------------------------------- what the first command installs


def installs(target: str, empty: Path) -> set[str]:
    """Extras that a target of the Makefile would install into an environment that is not there yet."""
    command = ["make", "--dry-run", "--always-make", target, f"VENV={empty}", f"PYTHON={sys.executable}"]
    # inside `make test`, its flags would be passed on
    plain = {name: value for name, value in CLEAN.items() if not name.startswith(("MAKE", "MFLAGS"))}
    plan = subprocess.run(command, cwd=ROOT, env=plain, check=True, capture_output=True, text=True).stdout
    return set(",".join(re.findall(r"-e '\.\[([a-z,]+)\]'", plan)).split(","))


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_demo_installs_the_core_and_the_live_page_only(tmp_path):
    assert installs("demo", tmp_path / "venv") == {"live"}


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_twin_the_tests_add_what_they_need(tmp_path):
    assert installs("test", tmp_path / "venv") == {"live", "test", "docs", "rocket", "onnx", "ray"}


# ---------------------------------------------------------------- the wheel


@pytest.mark.soak
def test_the_wheel_is_small_and_has_models_page_and_examples(wheel, measured):  # noqa: F811
    size = wheel.stat().st_size / 1e6
    measured("size of the wheel [MB]", round(size, 2))
    assert size < LARGEST_MB
    names = zipfile.ZipFile(wheel).namelist()
    for part in ("bundles/simulated/", "bundles/smellnet-mixture/", "live/page/vendor/uPlot", "examples/enose.toml"):
        assert any(f"unmixnet/{part}" in name for name in names), part
    assert not [name for name in names if name.startswith(("tests/", "docs/", "studies/"))]


def _program(programs: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    environment = {**CLEAN, "UNMIXNET_NO_CACHE": "1"}
    return subprocess.run(
        [str(programs / "unmixnet"), *arguments], cwd=cwd, env=environment, capture_output=True, text=True
    )


@pytest.mark.soak
def test_the_installed_program_runs_its_demo_outside_the_checkout(installed, tmp_path, measured):  # noqa: F811
    begin = time.perf_counter()
    done = _program(installed, "demo", "--json", cwd=tmp_path)
    measured("seconds of the first demo of a clean installation", round(time.perf_counter() - begin, 1))
    assert done.returncode == 0, done.stderr
    names = {component["name"] for component in json.loads(done.stdout)["components"][:2]}
    assert names == {"peach", "garlic"} and (tmp_path / "out" / "demo" / "index.html").is_file()


@pytest.mark.soak
def test_the_installed_program_starts_at_once(installed, measured):  # noqa: F811
    took = best_of(5, [str(installed / "unmixnet"), "--help"])
    measured("seconds of --help in a clean installation", round(took, 2))
    assert took <= 0.5


@pytest.mark.soak
def test_the_installed_package_is_imported_within_two_seconds(installed, measured):  # noqa: F811
    # the program's first line names the Python that it runs with
    python = (installed / "unmixnet").read_text(encoding="utf-8").splitlines()[0].removeprefix("#!")
    took = best_of(5, [python, "-c", "import unmixnet"])
    measured("seconds of `import unmixnet` in a clean installation", round(took, 2))
    assert took <= 2


@pytest.mark.soak
def test_the_installed_program_has_its_page(installed, tmp_path):  # noqa: F811
    command = [str(installed / "unmixnet"), "live", "--simulate", "--port", "0"]
    with linked(command, cwd=tmp_path, env=CLEAN) as link:
        assert link.startswith("http://127.0.0.1:")


@pytest.mark.soak
@pytest.mark.parametrize(("version", "python"), PYTHONS.items(), ids=PYTHONS)
def test_the_core_answers_in_an_empty_environment(wheel, tmp_path, measured, version, python):  # noqa: F811
    """From the wheel alone, without any extra, on every Python at hand; UNMIXNET_PYTHONS names them."""
    home = tmp_path / "venv"
    subprocess.run([python, "-m", "venv", str(home)], check=True, env=CLEAN, capture_output=True)
    install = [str(home / "bin/python"), "-m", "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt")]
    subprocess.run([*install, str(wheel)], check=True, env=CLEAN, capture_output=True)
    done = _program(home / "bin", "demo", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    megabytes = sum(file.lstat().st_size for file in home.rglob("*") if file.is_file()) / 1e6
    measured(f"size of the core's environment, Python {version} [MB]", round(megabytes))
    studies = subprocess.run([home / "bin/python", "-c", "import studies"], cwd=tmp_path, capture_output=True)
    assert studies.returncode != 0, "a study was installed"
