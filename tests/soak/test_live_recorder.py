"""A day of signal through a terminal, and fifty deaths of the recorder."""

import time

import pytest

from tests.live.recorder_processes import MB, growth, kill_again_and_again, through_a_terminal

pytestmark = pytest.mark.soak


def test_fifty_deaths_lose_no_acknowledged_row(tmp_path, measured):
    acknowledged, lost = kill_again_and_again(tmp_path, 50)
    measured("acknowledged rows", acknowledged)
    measured("acknowledged rows lost", lost)
    assert lost == 0


def test_a_day_at_ten_hertz_is_stored_or_rejected_to_the_last_line_in_flat_memory(tmp_path, measured):
    lines, faults, start = 864_000, 1000, time.monotonic()
    recorder, stored, rejected = through_a_terminal(tmp_path, lines, faults)
    cpu_s = recorder.reports[-1].cpu_s - recorder.reports[0].cpu_s
    measured("lines sent", lines)
    measured("rows stored", stored)
    measured("lines rejected", rejected)
    measured("memory growth after the first tenth [MB]", round(growth(recorder, lines) / MB, 2))
    measured("times real time, wall clock", round(lines / 10 / (time.monotonic() - start)))
    measured("times real time on one core, by processor time", round(lines / 10 / cpu_s))
    assert stored + rejected == lines and stored >= lines - faults
    assert growth(recorder, lines) < 5 * MB
    assert lines / 10 / cpu_s >= 1000
