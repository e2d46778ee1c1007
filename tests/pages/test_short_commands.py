"""Short commands of the pages run, and so do their blocks, in a folder that has the files which they name."""

import re
import subprocess
import sys
import tomllib

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.inference.bundle.tiny import shared_home  # noqa: F401
from tests.pages.page_text import ROOT, with_page
from tests.pages.plans import LONG_BLOCKS, QUICK, plan_of
from tests.pages.workspace import commands, home, words_of, workspace  # noqa: F401
from unmixnet.cli import app


@pytest.mark.parametrize("command", commands(QUICK))
def test_a_short_command_runs(workspace, home, command):  # noqa: F811
    done = CliRunner().invoke(app, words_of(command, home=home)[1:])
    assert done.exit_code in plan_of(command).codes, done.output


def test_twin_a_short_command_that_fails_is_noticed(workspace):  # noqa: F811
    assert CliRunner().invoke(app, ["check", "nowhere.csv"]).exit_code not in plan_of("unmixnet check FILE…").codes


# ---------------------------------------------------------------- blocks


@pytest.mark.parametrize("page", sorted({page for page, _ in with_page("python")}))
def test_python_of_the_pages_runs(workspace, page, request):  # noqa: F811
    """The blocks of a page one after the other, as a reader would."""
    if page == "README.md":
        pytest.skip("tests/test_readme.py runs it, and looks at what comes out")
    if page in LONG_BLOCKS:
        pytest.skip("make soak runs it")
    blocks = [block for where, block in with_page("python") if where == page]
    if any("smellnet" in block for block in blocks):
        request.getfixturevalue("data_folder")
    made: dict = {}
    for block in blocks:
        exec(compile(block, page, "exec"), made)
    assert set(made) > {"__builtins__"}


def test_the_readme_has_no_python_but_what_its_own_test_runs():
    assert [page for page, _ in with_page("python")].count("README.md") == 3


@pytest.mark.parametrize(("page", "block"), with_page("toml"), ids=lambda value: value[:24])
def test_toml_of_the_pages_is_taken(workspace, page, block, tmp_path):  # noqa: F811
    from unmixnet.recordings.reader import read_recording
    from unmixnet.simulation.config import SimulationConfig, parse_simulation
    from unmixnet.simulation.problem import build
    from unmixnet.training.config import parse_training

    values = tomllib.loads(block)
    if set(values) <= SimulationConfig.model_fields.keys():
        # a part of a file stands for that part of examples/jar.toml
        rest = {} if "run" in values else tomllib.loads((ROOT / "examples" / "jar.toml").read_text())
        assert build(parse_simulation(rest | values)).chamber.cells
        return
    if "[training]" in block:
        assert parse_training(block).data.protocol == "simulated:unseen"
        return
    sidecar = tomllib.loads(block)
    rows = "\n".join(f"{10 * i},{20 + i % 3},{1 + i % 2}" for i in range(50))
    (tmp_path / "run.csv").write_text(f"{sidecar['time_column']},NO2,R1\n{rows}\n")
    (tmp_path / "run.toml").write_text(block)
    read = read_recording(tmp_path / "run.csv")
    assert read.units == tuple(sidecar["units"][name] for name in ("NO2", "R1")) and read.label is not None


@pytest.mark.parametrize(("page", "block"), with_page("csv"), ids=lambda value: value[:24])
def test_manifests_of_the_pages_are_read(page, block, tmp_path):
    from unmixnet.recordings.manifest import read_manifest

    for line in block.strip().splitlines()[1:]:
        path = tmp_path / line.split(",")[0]
        path.parent.mkdir(exist_ok=True)
        path.write_text("time_s,A [counts]\n0,1\n1,2\n")
    (tmp_path / "manifest.csv").write_text(block)
    assert len(read_manifest(tmp_path / "manifest.csv")) == len(block.strip().splitlines()) - 1


# ---------------------------------------------------------------- the live page


def not_on_the_page(tutorial: str) -> list[str]:
    """What the tutorial tells the reader to look for or to press, and the page does not show."""
    named = re.findall(r"\*\*([^*]+)\*\*|(?<!\*)\*([^*\n]+)\*(?!\*)", tutorial)
    shown = "".join(path.read_text() for path in (ROOT / "src/unmixnet/live/page").glob("*.[hj]*"))
    return [word for word in map("".join, named) if word not in shown]


def test_the_live_page_has_every_button_that_the_chemist_is_told_of():
    tutorial = (ROOT / "docs/tutorials/chemist.md").read_text().split("## 2.")[1]
    assert "**Release**" in tutorial and not_on_the_page(tutorial) == []


def test_twin_a_button_that_was_renamed_is_noticed():
    assert not_on_the_page("Press **Let it out**, under *Mixture*.") == ["Let it out"]


# ---------------------------------------------------------------- scripts


@pytest.mark.soak
def test_the_script_of_the_solver_finds_what_was_released(tmp_path):
    script = ROOT / "examples" / "transport_solver.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    numbers = re.findall(r"\[([^\]]+)\]", done.stdout.splitlines()[-1])
    released, inferred = (np.array([float(number) for number in text.split()]) for text in numbers)
    np.testing.assert_allclose(inferred, released, rtol=1e-6)


def test_every_script_of_the_examples_is_run_here():
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == {"transport_solver.py"}
