"""From board to disk: nothing that was acknowledged is lost, and everything that came is accounted for."""

from pathlib import Path

import pytest

from tests.live.recorder_processes import MB, growth, kill_again_and_again, missing, through_a_terminal
from unmixnet.live.sample import Sample
from unmixnet.live.store import Store

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux: pseudo-terminals and /proc")


def test_no_acknowledged_row_is_lost_when_the_recorder_is_killed(tmp_path):
    acknowledged, lost = kill_again_and_again(tmp_path, 2)
    assert acknowledged > 100 and lost == 0


def test_twin_a_row_that_was_never_committed_is_missed(tmp_path):
    with Store.open(tmp_path / "store.db") as store:
        session = store.start_session("board", ("A",), "counts")
        store.append(session, [Sample(0.0, (0.0,))])
    assert missing(tmp_path / "store.db", session, 2) == 1


def test_ten_minutes_of_signal_are_stored_or_rejected_to_the_last_line_in_flat_memory(tmp_path):
    lines, faults = 6000, 200
    recorder, stored, rejected = through_a_terminal(tmp_path, lines, faults)
    assert stored + rejected == lines and lines - faults <= stored < lines
    assert growth(recorder, lines) < 5 * MB
