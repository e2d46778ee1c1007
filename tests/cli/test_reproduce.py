"""`unmixnet reproduce` and `unmixnet fingerprints` as a user meets them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "unmixnet", *arguments], capture_output=True, text=True)


@pytest.fixture(scope="module")
def data_folder() -> Path:
    chosen = os.environ.get("UNMIXNET_DATA")
    if not chosen or not (Path(chosen) / "uci322").is_dir():
        pytest.skip("needs the plateaus of UCI 322: set UNMIXNET_DATA to a folder that holds uci322/")
    return Path(chosen)


def test_json_is_one_object_and_a_second_run_resumes(data_folder, tmp_path):
    target = tmp_path / "peers.json"
    common = ("reproduce", "peers", "--only", "plateaus", "--seeds", "1", "--out", str(target), "--json")
    first = json.loads(run(*common).stdout)
    assert first["tables"] == ["plateaus"] and first["rows"] and json.loads(target.read_text()) == first
    again = json.loads(run(*common, "--resume").stdout)
    assert again["rows"] == first["rows"] and again["earlier"][0]["tables"] == ["plateaus"]


def test_an_unknown_table_names_the_known_ones():
    done = run("reproduce", "peers", "--only", "offical")
    assert done.returncode == 2 and "official" in done.stderr and done.stdout == ""


def test_without_data_the_error_says_where_to_get_it(tmp_path):
    done = run("fingerprints", "smellnet-mixture", "--data", str(tmp_path / "nowhere"))
    assert done.returncode == 2 and "data fetch" in done.stderr and "Traceback" not in done.stderr
