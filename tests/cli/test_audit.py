"""`unmixnet audit` as a user meets it."""

import json
import subprocess
import sys

import numpy as np
import pytest


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "unmixnet", *arguments], capture_output=True, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small campaign as an Arduino user might have it: six files with a header, one of them twice."""
    root = tmp_path_factory.mktemp("campaign")
    rng = np.random.default_rng(0)
    for name in ("coffee", "tea"):
        for i in range(3):
            rows = np.round(400 + np.cumsum(rng.normal(size=(200, 2)), axis=0)).astype(int)
            text = "timestamp_ms,NO2,CO\n" + "".join(f"{100 * t},{a},{b}\n" for t, (a, b) in enumerate(rows))
            (root / f"{name}_{i}.csv").write_text(text)
    (root / "tea_copy.csv").write_bytes((root / "tea_0.csv").read_bytes())
    return root


def test_json_is_one_object_on_stdout_and_nothing_else(folder):
    done = run("audit", str(folder), "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert sum(verdict["copy_of"] is not None for verdict in report["verdicts"]) == 1
    assert report["headline"] == "Of 7 recordings, 6 are distinct measurements; 1 are not."


def test_text_and_page_name_the_copy(folder, tmp_path):
    target = tmp_path / "audit.html"
    done = run("audit", str(folder), "--report", str(target))
    assert done.returncode == 0, done.stderr
    assert "exact cop" in done.stdout
    assert "tea_copy.csv" in target.read_text()


def test_a_manifest_is_believed_where_it_names_label_session_and_split(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    rows = ["file,label,session,split"]
    rows += [f"{n}_{i}.csv,{n},day{i},{'test' if i == 2 else 'train'}" for n in ("coffee", "tea") for i in range(3)]
    (tmp_path / "manifest.csv").write_text("\n".join(rows) + "\n")
    report = json.loads(run("audit", str(tmp_path), "--json", "--report", str(tmp_path / "page.html")).stdout)
    assert [split["name"] for split in report["splits"]] == ["train", "test"]
    assert len(report["sessions"]) == 3
    assert {verdict["label"] for verdict in report["verdicts"]} == {"coffee100", "tea100"}
    assert "tea_copy.csv" not in {verdict["file"] for verdict in report["verdicts"]}


@pytest.mark.parametrize("kind", ["nothing", "file", "empty"])
def test_what_is_no_folder_of_recordings_is_an_error_that_says_what_to_do(kind, tmp_path):
    place = tmp_path / "place"
    if kind == "file":
        place.write_text("x")
    if kind == "empty":
        place.mkdir()
    done = run("audit", str(place))
    assert done.returncode == 2
    assert str(place) in done.stderr and done.stderr.count("\n") == 1 and "Traceback" not in done.stderr


def test_help_answers_without_the_heavy_libraries():
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom unmixnet.cli import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "heavy = {'jax', 'pandas', 'sklearn', 'matplotlib', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
