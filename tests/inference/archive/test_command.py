"""`unmixnet unmix-archive`: one JSON object on stdout, refusals on stderr and in the exit code."""

import json

import pytest
import typer
from typer.testing import CliRunner

from tests.cli.commands import json_object
from tests.inference.bundle import tiny
from unmixnet.cli.archive import unmix_archive
from unmixnet.errors import ConfigError

from .archives import answers, write_csv

app = typer.Typer()
app.command()(unmix_archive)


def run(tmp_path, *more: str):
    place = ["--model", str(tiny.folder() / "bundle"), "--workers", "1"]
    arguments = [str(tmp_path / "in"), str(tmp_path / "out"), *place, *more]
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_json_is_exactly_one_object_and_everything_else_is_on_stderr(tmp_path, quick):
    write_csv(tmp_path / "in", 3)
    (tmp_path / "in" / "bad.csv").write_text("time_s,NO2\n")
    done = run(tmp_path, "--json")
    told = json_object(done.stdout)
    assert told["schema"] == "unmixnet.unmix-archive/2" and told["digest"] == quick.digest
    assert told["total"] | {"bytes": 0} == {"files": 4, "windows": 9, "refused": 1, "jumps": 0, "bytes": 0}
    assert done.exit_code == 2 and "bad.csv, line 1: a header and no complete row" in done.stderr
    (tmp_path / "in" / "bad.csv").unlink()
    again = run(tmp_path, "--json")
    assert again.exit_code == 0
    assert json.loads(again.stdout)["this_run"] | {"seconds": 0} == {
        "files": 0, "windows": 0, "known_before": 3, "seconds": 0,
    }  # fmt: skip


def test_a_sound_archive_ends_with_zero_and_says_where_it_is(tmp_path, quick):
    write_csv(tmp_path / "in", 3)
    done = run(tmp_path)
    assert done.exit_code == 0 and done.stdout == "" and "holds 9 windows of 3 files" in done.stderr
    assert len(answers(tmp_path / "out")) == 9


def test_ctrl_c_is_answered_with_how_to_go_on(tmp_path, quick, monkeypatch):
    write_csv(tmp_path / "in", 3)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("unmixnet.inference.archive.manifest.ArchiveManifest.add", interrupted)
        done = run(tmp_path)
    assert done.exit_code == 130 and "it goes on where it stopped" in done.stderr
    assert run(tmp_path).exit_code == 0 and len(answers(tmp_path / "out")) == 9


def test_an_archive_that_is_not_there_is_told(tmp_path, quick):
    with pytest.raises(ConfigError, match="there is no such folder"):
        run(tmp_path)
