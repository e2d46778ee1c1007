"""A folder that has a file under every name which the pages use, and machines that stand in for the reader's."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.inference.bundle import tiny
from tests.pages.command_syntax import whole
from tests.pages.page_text import ROOT, everywhere, in_blocks, in_sentences
from tests.pages.plans import plan_of, words_of
from tests.recordings.server import Home, serving
from tests.recordings.test_fetch import ARCHIVE, offer_mixtures, zipped
from tests.recordings.valid_text import uci
from unmixnet.examples import example_recording
from unmixnet.inference.bundle import find_bundle


def commands(how: str) -> list[str]:
    """Commands of the pages that are run in one way."""
    written = [*everywhere(in_blocks), *filter(whole, everywhere(in_sentences))]
    return sorted({command for command in written if (plan := plan_of(command)) and plan.how == how})


def fill(folder: Path) -> Path:
    """The files."""
    for name in ("my_recordings", "my_folder"):
        (folder / name).mkdir()
        tiny.write_folder(folder / name, sessions=3)
        (folder / name / "tiny.toml").unlink()
    (folder / "later").mkdir()
    tiny.write_folder(folder / "later", sessions=1, first=10)
    config = tiny.CONFIG.format(epochs=2).replace('folder = "."', 'folder = "my_recordings"')
    (folder / "CONFIG.toml").write_text(config)
    (folder / "my_run.csv").write_text((folder / "my_recordings" / "s0_0.csv").read_text())
    recording = example_recording().read_text()
    for name in ("a.csv", "recording.csv"):
        (folder / name).write_text(recording)
    (folder / "FILE.csv").write_text(for_every_model(recording))
    (folder / "air.csv").write_text(air(recording))
    (folder / "IN").mkdir()
    (folder / "IN" / "one.csv").write_text(for_every_model(recording))
    (folder / "jar.toml").write_text((ROOT / "examples" / "jar.toml").read_text())
    (folder / "MODEL").symlink_to(find_bundle("simulated"))
    reader = ROOT / "src" / "unmixnet" / "inference" / "onnx" / "numpy_reader.py"
    (folder / reader.name).write_text(reader.read_text())
    return folder


def for_every_model(recording: str) -> str:
    """The four sensors once more, under the names that the other models know."""
    head, *rows = recording.strip().splitlines()
    more = ",".join(f"{name} [counts]" for name in ("NO2", "C2H5OH", "VOC", "CO"))
    return "\n".join([f"{head},{more}", *(f"{row},{row.split(',', 1)[1]}" for row in rows)]) + "\n"


def air(recording: str) -> str:
    """The first row, held: its time goes on, its readings stay."""
    head, *rows = recording.strip().splitlines()
    times = [row.split(",", 1)[0] for row in rows]
    return "\n".join([head, *(f"{time},{rows[0].split(',', 1)[1]}" for time in times)]) + "\n"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory) -> Iterator[Path]:
    """The folder, as the one in which the reader sits."""
    folder, before = fill(tmp_path_factory.mktemp("workspace")), Path.cwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


@pytest.fixture(scope="module")
def home() -> Iterator[str]:
    """Address of a stand-in for the public homes of the data sets."""
    with serving(Home()) as offering:
        offer_mixtures(offering)
        offering.files[ARCHIVE] = zipped(ethylene_CO=uci(300), ethylene_methane=uci(200, seed=1))
        yield offering.url


__all__ = ["commands", "home", "words_of", "workspace"]
