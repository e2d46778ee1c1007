"""What anybody may name as a recording: refused at once and in little memory, with a code, unless it is one."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from unmixnet.errors import UnmixError
from unmixnet.recordings.audit.files import gather
from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.datasets import load_dataset
from unmixnet.recordings.formats.osmell import read_osmell
from unmixnet.recordings.formats.sidecar import read_sidecar
from unmixnet.recordings.formats.text import LONGEST_LINE
from unmixnet.recordings.manifest import read_manifest
from unmixnet.recordings.reader import FORMATS, read_recording

MEMORY_BYTES = 400 << 20
ROWS = "NO2,CO\n" + "".join(f"{i},{i + 1}\n" for i in range(30))


def pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe.csv")
    return folder / "pipe.csv"


def link_to_zero(folder: Path) -> Path:
    (folder / "zero.csv").symlink_to("/dev/zero")
    return folder / "zero.csv"


def listening(folder: Path) -> Path:
    socket.socket(socket.AF_UNIX).bind(str(folder / "s.csv"))
    return folder / "s.csv"


def subfolder(folder: Path) -> Path:
    (folder / "d.csv").mkdir()
    return folder / "d.csv"


SPECIAL = {"pipe": pipe, "link to /dev/zero": link_to_zero, "socket": listening, "folder": subfolder}


@pytest.mark.parametrize("make", SPECIAL.values(), ids=SPECIAL)
@pytest.mark.parametrize("format", [None, *(known.name for known in FORMATS)])
def test_nothing_but_a_plain_file_is_opened(make, format, tmp_path: Path):
    with pytest.raises(ReadError) as caught:
        read_recording(make(tmp_path), format=format)
    assert caught.value.code is Code.NO_FILE and "not a file" in caught.value.seen


@pytest.mark.parametrize("make", SPECIAL.values(), ids=SPECIAL)
@pytest.mark.parametrize("read", [read_osmell, read_sidecar, read_manifest])
def test_the_other_files_of_a_recording_are_plain_files_too(make, read, tmp_path: Path):
    with pytest.raises(UnmixError, match="not a file"):
        read(make(tmp_path))


def test_a_pipe_beside_a_recording_is_not_waited_for(tmp_path: Path):
    (tmp_path / "run.csv").write_text(ROWS)
    os.mkfifo(tmp_path / "run.toml")
    with pytest.raises(ReadError) as caught:
        read_recording(tmp_path / "run.csv")
    assert caught.value.code is Code.BAD_SIDECAR


def test_a_folder_with_a_device_in_it_is_audited_without_it(tmp_path: Path):
    (tmp_path / "run.csv").write_text(ROWS)
    link_to_zero(tmp_path)
    takes, refusals = gather(tmp_path)
    assert [take.file for take in takes] == ["run.csv"] and not refusals


ENDLESS = {
    "one line": b"NO2,",
    "nothing but NUL": b"",
    "after a header and rows": ROWS.encode(),
}


@pytest.mark.parametrize("start", ENDLESS.values(), ids=ENDLESS)
def test_an_endless_line_is_refused_in_bounded_memory(start, tmp_path: Path):
    """Four gigabytes, most of them a hole in the file, read by a process that may have a tenth of that."""
    path = tmp_path / "long.csv"
    with path.open("wb") as file:
        file.write(start + b"7" * (len(start) and LONGEST_LINE + 1))
        file.truncate(4 << 30)
    code = f"""
import resource, sys
import unmixnet.recordings.reader as reader
from unmixnet.recordings.codes import ReadError
have = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (have + {MEMORY_BYTES}, have + {MEMORY_BYTES}))
try:
    reader.read_recording(sys.argv[1])
except ReadError as error:
    print(error.code)
"""
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() in ("not-text", "empty"), done.stderr


def test_rows_before_a_long_tail_of_nul_are_still_read(tmp_path: Path):
    (tmp_path / "run.csv").write_bytes(ROWS.encode() + bytes(3 * LONGEST_LINE))
    recording = read_recording(tmp_path / "run.csv")
    assert len(recording) == 30 and recording.found(Code.NUL_TAIL)


def test_text_that_does_not_fit_into_memory_is_refused(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("unmixnet.recordings.formats.text.LARGEST_TEXT", 3 << 20)
    (tmp_path / "run.csv").write_text("NO2\n" + "1\n" * (2 << 20))
    with pytest.raises(ReadError) as caught:
        read_recording(tmp_path / "run.csv")
    assert caught.value.code is Code.TOO_LARGE


BOARD = {"configHeader": {"dateCreated": 1}, "rawDataBody": {"dataColumns": [{"colId": 1}], "dataBlock": [[0, 1.5]]}}
STRUCTURED = {
    "a board's JSON": json.dumps(BOARD, indent=4),
    "JSON in one line": json.dumps(BOARD),
    "JSON lines": '{"NO2": 1}\n{"NO2": 2}\n',
    "a JSON array": "[\n  [1, 2],\n  [3, 4]\n]\n",
    "numbers in a JSON array": "[1.5, 2,\n 3, 4]\n",
    "a web page": "<!DOCTYPE html>\n<title>404</title>\n<p>NO2,CO\n1,2\n",
}


@pytest.mark.parametrize("text", STRUCTURED.values(), ids=STRUCTURED)
@pytest.mark.parametrize("name", ["run.bmerawdata", "run.csv", "run.json"])
def test_json_and_markup_are_no_recordings(text, name, tmp_path: Path):
    (tmp_path / name).write_text(text)
    with pytest.raises(ReadError) as caught:
        read_recording(tmp_path / name)
    assert caught.value.code is Code.UNKNOWN_FORMAT and "CSV" in caught.value.remedy


@pytest.mark.parametrize("boot", ["[INFO] ready", "[12:00:00] boot", "{boot}", "<boot>"])
def test_boot_text_in_brackets_is_no_json(boot, tmp_path: Path):
    (tmp_path / "run.csv").write_text(f"{boot}\n{ROWS}")
    assert read_recording(tmp_path / "run.csv").channels == ("NO2", "CO")


@pytest.mark.skipif("UNMIXNET_DATA" not in os.environ, reason="set UNMIXNET_DATA to the folder with the recordings")
def test_the_raw_files_of_bosch_boards_are_refused():
    files = Path(os.environ["UNMIXNET_DATA"]).rglob("*.bmerawdata")
    for file in (file for file in files if file.stat().st_size):
        with pytest.raises(ReadError, match="unknown-format"):
            read_recording(file)


WRONG = [None, 7, 3.5, b"run.csv", ["run.csv"], "", ".", "no\0file", "x" * 5000, "nothing.csv", "[b]nothing[/b].csv"]


@pytest.mark.parametrize("path", WRONG, ids=lambda path: repr(path)[:20])
def test_only_our_errors_leave_the_reader_and_the_data_sets(path):
    with pytest.raises(UnmixError) as caught:
        read_recording(path)
    assert caught.value.remedy
    if path not in (None, "", "."):
        with pytest.raises(UnmixError):
            load_dataset("folder", path)
    with pytest.raises(UnmixError, match="no data set"):
        load_dataset(path)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("format", [7, "", "csv", ["plain-csv"]])
def test_an_unknown_format_is_our_error(format, tmp_path: Path):
    (tmp_path / "run.csv").write_text(ROWS)
    with pytest.raises(UnmixError, match="no format"):
        read_recording(tmp_path / "run.csv", format=format)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions do not bind this user")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path):
    (tmp_path / "run.csv").write_text(ROWS)
    (tmp_path / "run.csv").chmod(0)
    with pytest.raises(ReadError, match="no-file"):
        read_recording(tmp_path / "run.csv")
