"""What commands print: names stand there as they are, whatever Rich or a terminal would read in them."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.errors import MarkupError
from rich.text import Text

from tests.cli.commands import inside
from unmixnet.cli.output import Styled, bold, error_message, message, print_table, print_text, progress, spinner
from unmixnet.examples import example

HOSTILE = ("jar[final]", "a[/b]", "[red]", "D [m²/s]", ":smile:", "{0}", "back\\[slash]")
"""Markup that Rich obeys, swallows or fails at, and its codes of emoji."""
OBEYED = "\x1b]0;title\x07\x1b[31m\u202egpj\x9b2J"


@pytest.mark.parametrize("name", HOSTILE)
def test_every_kind_of_output_shows_a_name_as_it_is(name, capsys):
    message("path ", bold(name))
    print_text(name, Styled(name, "bold red"), indent=2)
    print_table(name, [name, "second"], [[name, [bold(name), "!"]]])
    error_message(name)
    with progress() as display:
        display(name, 3)()
        display.bar(name, 3).update(name, note=name)
        display.log(name)
    with spinner(name) as bar:
        bar.update(name)
    out, err = capsys.readouterr()
    assert out.count(name) == 6
    assert err.count(name) == 4


@pytest.mark.parametrize("name", HOSTILE[:4])
def test_twin_markup_that_is_read_loses_the_name_or_fails(name, capsys, monkeypatch):
    """The same law on output that reads markup."""
    monkeypatch.setattr("unmixnet.cli.output._text", lambda parts: Text.from_markup("".join(map(str, parts))))
    try:
        message("path ", name)
    except MarkupError:
        return
    assert name not in capsys.readouterr().err


def test_a_terminal_is_never_given_controls_of_a_name(capsys):
    message(OBEYED)
    print_text(OBEYED)
    print_table(OBEYED, [OBEYED], [[OBEYED]])
    error_message(OBEYED)
    shown = "".join(capsys.readouterr())
    assert not [char for char in OBEYED if not char.isprintable() and char in shown]
    assert "gpj" in shown and "\ufffd" in shown


def test_text_keeps_its_lines_and_a_long_path_is_not_broken(capsys):
    path = "/".join(["folder"] * 60)
    message(f"one\ntwo {path}")
    assert capsys.readouterr().err == f"one\ntwo {path}\n"


# ---------------------------------------------------------------- through commands


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "scene[" / "b].toml"
    path.parent.mkdir()
    path.write_text(example("enose").replace("duration_s = 180.0", "duration_s = 5.0"))
    return path


def recording(path: Path) -> Path:
    """A small recording of two channels."""
    path.parent.mkdir(parents=True, exist_ok=True)
    t = np.arange(0, 20, 0.5)
    rows = [f"{s:.2f},{300 + i % 7},{200 + i % 5}" for i, s in enumerate(t)]
    path.write_text("\n".join(["time_s,MQ3,MQ5", *rows]) + "\n")
    return path


def test_simulate_names_the_file_that_it_wrote(scene, tmp_path, monkeypatch, capsys):
    target = tmp_path / "jar[final].parquet"
    assert inside(["simulate", str(scene), "-o", str(target)], monkeypatch) == 0
    told = capsys.readouterr().err
    assert target.is_file() and str(target) in told
    assert re.search(r"\d+ steps( \(\d+ rejected\))?, \d+ rows, status ok", told)


def test_check_names_files(tmp_path, monkeypatch, capsys):
    good, bad = recording(tmp_path / "a[/b].csv"), tmp_path / "[red]b.csv"
    bad.write_text("nothing\n")
    assert inside(["check", str(good), str(bad)], monkeypatch) == 2
    out = capsys.readouterr().out
    assert str(good) in out and str(bad) in out


def test_check_of_many_files_names_them(tmp_path, monkeypatch, capsys):
    for i in range(4):
        recording(tmp_path / "a[" / f"b][red]{i}.csv")
    for i in range(3):
        (tmp_path / "a[" / f"b]refused{i}.csv").write_text("nothing\n")
    assert inside(["check", str(tmp_path)], monkeypatch) == 2
    out = capsys.readouterr().out
    assert "a[/b]refused0.csv" in out and "b][red]0.csv" in out


def test_audit_writes_a_page_and_names_it(tmp_path, monkeypatch, capsys):
    folder, page = tmp_path / "data[/b]", tmp_path / "page[red].html"
    for i in range(2):
        recording(folder / f"mango_{i}[red].csv")
    assert inside(["audit", str(folder), "--report", str(page)], monkeypatch) == 0
    assert str(page) in capsys.readouterr().err


def test_an_error_names_the_file_as_it_is(tmp_path, monkeypatch, capsys):
    missing = tmp_path / "no[/b].toml"
    assert inside(["simulate", str(missing), "-o", str(tmp_path / "o.parquet")], monkeypatch) == 2
    err = capsys.readouterr().err
    assert str(missing) in err and "Traceback" not in err


def test_progress_at_a_terminal_shows_such_names_too(scene, tmp_path):
    """A real terminal, where spinners run: their text was the first that failed."""
    files = [str(recording(tmp_path / f"a[/b]{i}.csv")) for i in range(2)]
    code = (
        "from unmixnet.cli.output import message, progress, spinner\n"
        "import sys, time\n"
        "with spinner('busy with a[/b] [red]'):\n    time.sleep(0.3)\n"
        "with progress() as display:\n"
        "    bar = display.bar('bytes of a[/b]', 3, in_bytes=True); bar.advance(); bar.update(note='[red] note')\n"
        "    display('stage[/b]', 2)(); message('line[/b]'); time.sleep(0.3)\n"
    )
    shown = at_terminal([sys.executable, "-c", code])
    assert all(text in shown for text in ("busy with a[/b] [red]", "bytes of a[/b]", "[red] note", "stage[/b]"))
    assert "line[/b]" in shown and "Traceback" not in shown
    shown = at_terminal([sys.executable, "-m", "unmixnet", "check", *files, "--json"])
    assert "Checking" in shown and "Traceback" not in shown


def at_terminal(command: list[str]) -> str:
    """What a command writes to stderr when that is a terminal; stdout is a file."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "200"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
    process.wait(60)
    return shown.decode()


def test_nothing_but_one_object_on_stdout(scene, tmp_path, monkeypatch, capsys):
    target = tmp_path / "jar[final].parquet"
    assert inside(["simulate", str(scene), "-o", str(target), "--json"], monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["output"] == str(target)
