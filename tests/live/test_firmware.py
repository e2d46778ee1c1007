"""The sketch prints lines that the parser takes: compiled for this machine, with a board made of a few lines."""

import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from unmixnet.live.lines import LineParser
from unmixnet.live.sample import Sample

SKETCH = Path(__file__).parents[2] / "firmware" / "unmixnet_enose" / "unmixnet_enose.ino"
# A board whose millis() is about to overflow, whose first pin reads 0, 1, 2, ... and whose port blocks for a while.
BOARD = r"""
#include <cstdint>
#include <cstdio>
#include <string>
enum { A0 = 14, A1, A2, A3 };
static uint64_t ticks = 4294966296u;
static uint32_t millis() { return (uint32_t)ticks; }
static uint32_t reads = 0;
static int analogRead(int pin) { return pin == A0 ? (int)(reads++ / 8) : 100 * pin; }
struct Port {
  void begin(uint32_t) {}
  void print(const char *text) { std::fputs(text, stdout); }
  void println(const char *text) { std::puts(text); }
} Serial;
#include SKETCH
int main() {
  setup();
  for (int ms = 0; ms < 3000; ms++) {
    loop();
    ticks += ms == 1500 ? 450 : 1;
  }
}
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory) -> list[bytes]:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("needs a C++ compiler (Debian: apt-get install g++)")
    folder = tmp_path_factory.mktemp("board")
    (folder / "board.cpp").write_text(BOARD)
    build = [compiler, "-Wall", "-Wextra", "-Werror", f'-DSKETCH="{SKETCH}"', "board.cpp", "-o", "board"]
    subprocess.run(build, cwd=folder, check=True)
    return subprocess.run([folder / "board"], capture_output=True, check=True).stdout.splitlines()


def test_every_line_of_the_sketch_is_a_sample(printed):
    parser = LineParser()
    samples = [parser.parse(line, i / 10) for i, line in enumerate(printed)]
    assert parser.channels == ("MOX1", "MOX2", "MOX3", "MOX4") and parser.missed == 0
    assert all(isinstance(sample, Sample) for sample in samples)
    assert [sample.values for sample in samples[:2]] == [(0.0, 1500.0, 1600.0, 1700.0), (1.0, 1500.0, 1600.0, 1700.0)]


def test_the_sketch_keeps_ten_hertz_through_the_overflow_and_takes_up_its_rhythm_after_a_pause(printed):
    parser = LineParser()
    times = [parser.parse(line, 0.0).time_s for line in printed]
    steps = [round(1000 * (later - earlier)) for earlier, later in pairwise(times)]
    assert len(steps) == 30 and set(steps) <= {100, 449, 450, 451} and steps.count(100) == 29
