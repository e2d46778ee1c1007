"""A board that is unplugged and plugged in again, fifty times."""

import asyncio

import pytest

from tests.live.boards import Board, replugged

pytestmark = pytest.mark.soak


def test_fifty_replugs_are_survived(tmp_path, measured):
    with Board(tmp_path) as plugged:
        *turns, last = asyncio.run(replugged(plugged, 50))
    measured("times found again, of 50", len(turns))
    assert last == [9000] and all(found == list(range(100 * k, 100 * k + 20)) for k, found in enumerate(turns))
