"""Time is monotone: through the overflow of millis(), through a restart of the board, and without any count."""

import pytest

from unmixnet.live.lines import MILLIS, Clock


def times(*readings: tuple[float, float | None]) -> list[float]:
    clock = Clock()
    return [clock.at(host_s, millis) for host_s, millis in readings]


def test_the_boards_count_is_the_time_whatever_the_line_took_to_arrive():
    assert times((5.0, 1000), (5.9, 1100), (5.91, 1200)) == [0.0, 0.1, 0.2]


def test_the_overflow_of_millis_is_not_noticed():
    assert times((0, MILLIS - 100), (0.1, 0), (0.2, 100)) == [0.0, 0.1, 0.2]


def test_twin_a_plain_difference_would_notice():
    assert (0 - (MILLIS - 100)) / 1000 < 0


def test_a_restarted_board_goes_on_by_the_hosts_clock():
    assert times((0, 500_000), (0.1, 500_100), (3.1, 20), (3.2, 120)) == pytest.approx([0.0, 0.1, 3.1, 3.2])


def test_lines_without_a_count_are_timed_by_their_arrival():
    assert times((7.0, None), (7.5, None), (7.25, None)) == [0.0, 0.5, 0.5]


def test_a_day_of_tenths_is_exact():
    clock = Clock()
    for row in range(864_00 + 1):
        last = clock.at(0.0, 1000 * row % MILLIS)
    assert last == 86_400.0


def test_fifty_days_pass_two_overflows():
    clock, last = Clock(), 0.0
    for minute in range(100 * 24 * 60 + 1):
        last = clock.at(60.0 * minute, 60_000 * minute % MILLIS)
    assert last == 100 * 86_400.0
