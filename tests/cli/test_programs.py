"""Compiled programs are kept, found again, and never a reason to fail."""

import os
import subprocess
import sys

import pytest

from unmixnet.cli import compilation_cache as programs
from unmixnet.examples import example

OURS = ("UNMIXNET_CACHE", "UNMIXNET_NO_CACHE", "JAX_COMPILATION_CACHE_DIR", "XDG_CACHE_HOME")


def without(*, clear: tuple[str, ...] = OURS, **more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in clear} | more


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """As before the first command: nothing chosen, jax not imported."""
    for name in OURS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delitem(sys.modules, "jax")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # what is set below is taken back after the test
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "1")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "")
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    return tmp_path


def chosen() -> str | None:
    programs.keep_programs()
    return os.environ.get("JAX_COMPILATION_CACHE_DIR")


def test_programs_go_to_the_users_cache_and_nothing_is_made_before_they_come(fresh):
    assert chosen() == str(fresh / "cache" / "unmixnet" / "xla")
    assert not (fresh / "cache").exists()


def test_another_folder_or_none_may_be_chosen(fresh, monkeypatch):
    monkeypatch.setenv("UNMIXNET_NO_CACHE", "1")
    assert chosen() is None
    monkeypatch.delenv("UNMIXNET_NO_CACHE")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "/elsewhere")
    assert chosen() == "/elsewhere"


def test_a_folder_that_cannot_be_written_is_done_without(fresh, monkeypatch):
    (fresh / "cache").write_text("a file where a folder should be")
    assert chosen() is None
    monkeypatch.setattr(programs.os, "access", lambda *_: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(fresh))
    assert chosen() is None


def test_a_process_that_has_jax_already_is_left_alone(fresh, monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", sys)
    assert chosen() is None


def test_the_oldest_programs_make_room(tmp_path):
    for age, name in enumerate(("new", "old", "oldest")):
        (tmp_path / name).write_bytes(b"x" * 100)
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    programs._prune(tmp_path, most_bytes=150)
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_the_second_command_finds_the_programs_of_the_first(tmp_path):
    scene = tmp_path / "scene.toml"
    scene.write_text(example("enose").replace("duration_s = 180.0", "duration_s = 5.0"))
    command = [sys.executable, "-m", "unmixnet", "simulate", str(scene), "-o", str(tmp_path / "o.parquet")]
    environment = without(
        UNMIXNET_CACHE=str(tmp_path / "kept"),
        JAX_LOG_COMPILES="1",
        JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0.1",
    )

    def run() -> tuple[set[str], int]:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        kept = {path.name for path in (tmp_path / "kept" / "xla").glob("*-cache")}
        return kept, done.stderr.count("compilation cache hit")

    first, hits = run()
    assert first and hits == 0
    again, hits = run()
    assert first <= again and hits >= len(first)
