"""The hub survives what its parts do to it."""

import time

from unmixnet.errors import UnmixError

from .fakes import MadeUpSource
from .serving import Served, serving


def stored_within(served: Served, seconds: float) -> int:
    before = served.live.listener.stored
    time.sleep(seconds)
    return served.live.listener.stored - before


def test_a_store_that_fails_for_a_moment_does_not_end_the_stream(tmp_path, monkeypatch, caplog):
    with serving(tmp_path, MadeUpSource(rate_Hz=50)) as served:
        assert stored_within(served, 0.5) > 0
        for error in (UnmixError("the disk is full"), OSError("a cable")):
            with monkeypatch.context() as broken:
                broken.setattr(served.live.store, "append", _raising(error))
                assert stored_within(served, 0.4) == 0
        assert stored_within(served, 0.5) > 0


def test_a_model_that_cannot_read_the_sensors_is_told_and_they_are_recorded(tmp_path):
    with serving(tmp_path, MadeUpSource(("A", "B")), make_engine=_raising(UnmixError("it lacks MOX1"))) as served:
        time.sleep(0.6)
        state = served.client.get("/api/state").json()
        assert state["model"]["trouble"] == "it lacks MOX1." and not state["model"]["ready"]
        assert state["source"]["stored"] > 0 and state["estimate"] is None


def test_an_engine_with_a_defect_is_told_without_its_inside(tmp_path, caplog):
    with serving(tmp_path, make_engine=_raising(KeyError("secret"))) as served:
        time.sleep(0.6)
        state = served.client.get("/api/state").json()
        assert "terminal" in state["model"]["trouble"] and "secret" not in str(state)
        assert state["source"]["stored"] > 0


def _raising(error: Exception):
    def raising(*_: object):
        raise error

    return raising
