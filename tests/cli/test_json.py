"""Every command with --json prints one object, which names its schema and has no spaces in the names of its fields."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.main import get_command

from tests.cli.commands import inside, json_object
from tests.inference.bundle import tiny
from unmixnet.cli import app
from unmixnet.cli.output import print_json
from unmixnet.examples import example

ROOT = Path(__file__).parents[2]
PRINTED = {
    "audit": ["audit", "{folder}"],
    "calibrate-session": ["calibrate-session", "{bundle}", "{folder}/s0_0.csv=almond", "-o", "{out}/session.json"],
    "check": ["check", "{folder}/s0_0.csv", "{folder}/nowhere.csv"],
    "data list": ["data", "list", "--data", "{out}"],
    "devices": ["devices"],
    "evaluate": ["evaluate", "{model}", "{folder}", "--seen"],
    "fingerprints": ["fingerprints", "folder", "--data", "{folder}"],
    "simulate": ["simulate", "{out}/scene.toml", "-o", "{out}/out.parquet"],
    "unmix": ["unmix", "{folder}/s0_0.csv", "{folder}/nowhere.csv", "--model", "{bundle}", "--states"],
    "validate": ["validate", "--figure", "{out}/bulbs.png"],
}
"""Run here; {model} and {bundle} are tiny ones, {folder} holds the recordings that it learned."""
ELSEWHERE = {
    "calibrate": "tests/cli/test_calibrate.py",
    "data fetch": "tests/recordings/test_fetch.py",
    "demo": "tests/cli/test_demo.py",
    "export": "tests/inference/onnx/test_onnx.py",
    "train": "tests/cli/test_train.py",
    "unmix-archive": "tests/inference/archive/test_command.py",
}
"""Long ones: run by the tests of what they do, which pass what is printed through `json_object`."""


def with_json(command: Any, name: str = "") -> Iterator[str]:
    """Names of the commands that have the option."""
    for part, below in getattr(command, "commands", {}).items():
        yield from with_json(below, f"{name} {part}".strip())
    if any("--json" in parameter.opts for parameter in command.params):
        yield name


def test_every_command_with_the_option_is_run():
    assert set(with_json(get_command(app))) == PRINTED.keys() | ELSEWHERE.keys()
    assert [file for file in ELSEWHERE.values() if "json_object(" not in (ROOT / file).read_text()] == []


@pytest.mark.parametrize("name", PRINTED)
def test_one_object_with_a_schema_is_printed(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("unmixnet.simulation.validation.ORACLES", ("langmuir.langmuir",))
    monkeypatch.setattr("unmixnet.simulation.validation.duncan_toor_plot.draw_duncan_toor", lambda path: path)
    tiny.baseline(), tiny.bundle()
    scene = example("enose").replace("duration_s = 180.0", "duration_s = 2.0")
    (tmp_path / "scene.toml").write_text(scene)
    home = tiny.folder()
    places = {"folder": home, "model": home / "perceptron", "bundle": home / "bundle", "out": tmp_path}
    words = [word.format(**places) for word in PRINTED[name]]
    assert inside([*words, "--json"], monkeypatch) == (2 if "nowhere" in " ".join(words) else 0)
    assert json_object(capsys.readouterr().out)["schema"] in schemas()


@pytest.mark.parametrize("printed", ['{"a": 1}', '{"schema": "unmixnet.x/1", "a": [{"b c": 1}]}', "[]"])
def test_twin_an_object_without_a_schema_or_with_a_space_is_noticed(printed):
    with pytest.raises(AssertionError):
        json_object(printed)


def test_a_number_that_does_not_exist_is_null(capsys):
    print_json("unmixnet.x/1", {"mean": float("nan"), "range": (1.0, np.inf), "inside": {"low": -np.inf}})
    assert json_object(capsys.readouterr().out) == {
        "schema": "unmixnet.x/1",
        "mean": None,
        "range": [1.0, None],
        "inside": {"low": None},
    }


# ---------------------------------------------------------------- the page that lists them


def schemas() -> set[str]:
    """Every schema that stands in the sources of the commands, and the two that come from elsewhere."""
    from unmixnet.inference.session.calibration import SCHEMA

    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/unmixnet/cli").glob("*.py"))
    return {*re.findall(r'print_json\(\s*"(unmixnet\.[\w/-]+)"', text), SCHEMA, "unmixnet.check/2"}


def test_the_page_of_commands_lists_every_schema():
    page = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
    assert len(schemas()) > 14
    assert set(re.findall(r"`(unmixnet\.[\w-]+/\d+)`", page)) == schemas()
