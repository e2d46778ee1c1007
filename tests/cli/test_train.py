"""`unmixnet train` as a user meets it: a bundle at the end, and the same one after any interruption."""

import signal
import time
from pathlib import Path

import numpy as np
import pytest

from tests.inference.bundle import tiny
from unmixnet.inference.bundle import load_bundle

from .commands import beside, inside, json_object

EPOCHS = 40


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> Path:
    return tiny.write_folder(tmp_path_factory.mktemp("train"), epochs=EPOCHS, model="mlp")


@pytest.fixture(scope="module")
def programs() -> Path:
    return tiny.programs()


@pytest.fixture(scope="module")
def whole(config, programs) -> dict:
    """A run that nothing interrupts."""
    return finished(config, config.parent / "whole", programs)


def finished(config: Path, run: Path, programs: Path, *more: str) -> dict:
    process = beside(["train", str(config), "-o", str(run), "--json", *more], programs)
    out, err = process.communicate()
    assert process.returncode == 0, err
    return json_object(out)


def epochs_done(run: Path) -> int:
    log = run / "log.jsonl"
    return len(log.read_text().splitlines()) if log.exists() else 0


def interrupted(config: Path, run: Path, programs: Path, sent: signal.Signals, when: int) -> tuple[int, str]:
    """Send a signal once so many epochs are logged; gives the exit code and stderr."""
    resume = ["--resume"] if run.exists() else []
    process = beside(["train", str(config), "-o", str(run), *resume], programs)
    while process.poll() is None and epochs_done(run) < when:
        time.sleep(0.01)
    process.send_signal(sent)
    _, err = process.communicate()
    return process.returncode, err


def test_a_run_ends_with_a_bundle_and_its_score_beside_the_nulls(whole, config):
    made = load_bundle(whole["bundle"])
    assert made.digest == whole["digest"] and made.name == "tiny" and made.components == tiny.COMPONENTS
    assert whole["epochs"] == EPOCHS and epochs_done(Path(whole["run"])) == EPOCHS
    assert whole["recordings"] == {"train": 24, "validation": 12}
    scores = whole["validation"]
    assert scores["metric"] == "MAE" and scores["model"] < scores["mean"] == pytest.approx(1 / 3)
    assert len(made.recordings) == 36


def test_a_folder_with_a_run_in_it_is_not_overwritten(whole, config, monkeypatch, capsys):
    assert inside(["train", str(config), "-o", whole["run"]], monkeypatch) == 2
    assert "Add --resume to continue it" in capsys.readouterr().err


def test_a_killed_run_resumes_to_the_same_bundle(whole, config, programs):
    run = config.parent / "killed"
    code, _ = interrupted(config, run, programs, signal.SIGKILL, when=17)
    assert code == -signal.SIGKILL
    again = finished(config, run, programs, "--resume")
    assert again["digest"] == whole["digest"] and again["epochs"] == EPOCHS


def test_twin_another_seed_ends_elsewhere(whole, config, programs):
    other = finished(config, config.parent / "seed", programs, "--seed", "1")
    assert other["digest"] != whole["digest"]


def test_ctrl_c_saves_and_says_how_to_go_on(whole, config, programs):
    run, long = config.parent / "stopped", config.parent / "long.toml"
    long.write_text(config.read_text().replace(f"epochs = {EPOCHS}", "epochs = 100000\npatience = 100000"))
    code, err = interrupted(long, run, programs, signal.SIGINT, when=3)
    assert code == 130 and "--resume" in err and "Traceback" not in err
    assert (run / "checkpoint").exists() and not (run / "bundle").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[data]\nprotocol = 'folder:none'", "no protocol"),
        ("[data]\nprotocol = 'folder:all'\nwindow_s = 500", "a window has 1000"),
        ("[data]\nprotocol = 'folder:all'\nepochs = 5", "unknown key"),
        ("[data]", "this key is missing"),
    ],
)
def test_a_mistake_in_the_file_is_answered_with_its_remedy(config, tmp_path, text, message, monkeypatch, capsys):
    (tmp_path / "bad.toml").write_text(text)
    assert inside(["train", str(tmp_path / "bad.toml"), "--folder", str(config.parent)], monkeypatch) == 2
    assert message in capsys.readouterr().err


def test_odd_labels_and_mixed_rates_are_said_before_training(tmp_path, monkeypatch, capsys):
    for name, step_s in (("a", 0.5), ("b", 1.0)):
        rows = "".join(f"{i * step_s},{500 + i % 7},{300 + i % 5}\n" for i in range(60))
        (tmp_path / f"{name}.csv").write_text("time_s,NO2 [counts],CO [counts]\n" + rows)
    (tmp_path / "manifest.csv").write_text("file,label\na.csv,almond_60_clove_50\nb.csv,clove\n")
    inside(["train", "--folder", str(tmp_path), "-o", str(tmp_path / "run")], monkeypatch)
    messages = capsys.readouterr().err
    assert "sum to 110" in messages and "different sample rates" in messages


@pytest.mark.soak
def test_ten_kills_at_random_moments_leave_no_trace(config, programs, whole, measured):
    rng, run, same = np.random.default_rng(), config.parent / "ten", 0
    for turn in range(10):
        interrupted(config, run, programs, signal.SIGKILL, when=int(rng.integers(1, EPOCHS)))
        again = finished(config, run, programs, "--resume")
        same += again["digest"] == whole["digest"]
        run = config.parent / f"ten{turn}"
    measured("kills after which the resumed run ended bit-identical", same)
    assert same == 10


@pytest.mark.soak
def test_unmixnet_itself_resumes_to_the_same_bundle(tmp_path, programs):
    config = tiny.write_folder(tmp_path, epochs=12)
    whole = finished(config, tmp_path / "whole", programs)
    code, _ = interrupted(config, tmp_path / "killed", programs, signal.SIGKILL, when=8)
    assert code == -signal.SIGKILL
    assert finished(config, tmp_path / "killed", programs, "--resume")["digest"] == whole["digest"]
