"""`unmixnet unmix` with the bundle that ships: a known mixture, clean air, and files that are no good."""

import contextlib
import io
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from unmixnet.examples import example_recording
from unmixnet.recordings.simulated import CLEAN_AIR, FULL_SCALE_COUNTS, Setting, drift, noise_counts

from .commands import inside


@dataclass(frozen=True)
class Printed:
    """What a command printed of some files."""

    answers: dict[str, dict]
    code: int
    errors: str


def clean_air(rows: int = 600, seed: int = 7) -> str:
    """A simulated recording of strength zero, in a session that training does not have."""
    setting, rng = Setting(), np.random.default_rng(seed)
    level = CLEAN_AIR + drift(setting).offset[-1]
    counts = FULL_SCALE_COUNTS / (1 + np.exp(-level)) + noise_counts(4) * rng.normal(size=(rows, 4))
    lines = [f"{row / 10:g}," + ",".join(str(round(x)) for x in readings) for row, readings in enumerate(counts)]
    return "\n".join(["time_s," + ",".join(f"MOX{m} [counts]" for m in range(1, 5)), *lines, ""])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    home, text = tmp_path_factory.mktemp("files"), example_recording().read_text()
    for name, content in {
        "example": text,
        "air": clean_air(),
        "empty": "",
        "unknown": text.replace("MOX3", "H2S"),
        "last_line_cut": text.rstrip()[:-6],
        "half": text[: len(text) // 2],
        "header": text[:20],
        "garbled": text.replace("0.3,", "0.3,???", 1),
    }.items():
        (home / f"{name}.csv").write_text(content)
    return home


@pytest.fixture(scope="module")
def printed(folder) -> Printed:
    """One command for all files, so that it compiles once."""
    out, err = io.StringIO(), io.StringIO()
    files = sorted(folder.glob("*.csv"))
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = inside(["unmix", *map(str, files), "--model", "simulated", "--json"], patch)
    answers = json.loads(out.getvalue())["answers"]
    return Printed({path.stem: answer for path, answer in zip(files, answers, strict=True)}, code, err.getvalue())


def test_the_packaged_example_is_the_mixture_of_its_name(printed):
    answer = printed.answers["example"]
    components = {part["name"]: part for part in answer["components"]}
    assert answer["verdict"] == "mixture"
    assert set(sorted(components, key=lambda name: -components[name]["share"])[:2]) == {"peach", "garlic"}
    for name in ("peach", "garlic"):
        assert components[name]["low"] <= 0.5 <= components[name]["high"]


def test_clean_air_holds_nothing_above_background(printed):
    assert printed.answers["air"]["verdict"] == "nothing above background"
    assert printed.answers["air"]["strength"] < 0.1 * printed.answers["example"]["strength"]


def test_a_line_that_was_cut_is_left_out_and_reported(printed):
    answer = printed.answers["last_line_cut"]
    assert answer["verdict"] == "mixture"
    assert any("line 601" in finding and "has no line end" in finding for finding in answer["findings"])


@pytest.mark.parametrize(
    ("name", "problem", "remedy"),
    [
        ("empty", "0 bytes; expected a header and rows of readings", "Copy the file from the device again"),
        ("unknown", "no channel MOX3; the file has MOX1, MOX2, H2S, MOX4", "Rename the column"),
        ("half", "the model", "Record for 59.5 s or longer"),
        ("garbled", "line 5", "???"),
        ("header", "line 1: a header and no complete row", "copy the file again"),
    ],
)
def test_a_file_that_cannot_be_answered_is_named_with_what_to_try(printed, folder, name, problem, remedy):
    error = printed.answers[name]["error"]
    assert error.startswith(str(folder / f"{name}.csv"))
    assert problem in error and remedy in error and error in printed.errors


def test_bad_files_set_the_exit_code_and_give_no_traceback(printed):
    assert printed.code == 2
    assert "Traceback" not in printed.errors
