"""The hub survives what its parts do to it."""

import time

from unmixnet.errors import UnmixError
from unmixnet.live import hub, listener
from unmixnet.live.store import Store

from .fakes import MadeUpEngine, MadeUpSource
from .serving import Served, serving


def stored_within(served: Served, seconds: float) -> int:
    before = served.live.listener.counts.stored
    time.sleep(seconds)
    return served.live.listener.counts.stored - before


def test_a_store_that_fails_for_a_moment_costs_no_row_and_the_page_is_told(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(listener, "RETRY_S", 0.1)
    with serving(tmp_path, MadeUpSource(rate_Hz=50)) as served:
        assert stored_within(served, 0.5) > 0
        for error, told in ((UnmixError("the disk is full"), "the disk is full."), (OSError("a cable"), "terminal")):
            with monkeypatch.context() as broken:
                broken.setattr(served.live.store, "append", _raising(error))
                assert stored_within(served, 0.4) == 0
                source = served.client.get("/api/state").json()["source"]
                assert told in source["trouble"] and source["waiting"] > 5 and "cable" not in source["trouble"]
            assert stored_within(served, 0.5) > 20
            source = served.client.get("/api/state").json()["source"]
            assert source["trouble"] == "" and source["waiting"] <= 10
        heard, store = served.live.listener, served.live.store
        times = [round(50 * sample.time_s) for sample in store.samples(heard.session)]
        assert times == list(range(len(times))) and "Readings are not being stored" in caplog.text


def test_what_waits_is_stored_when_the_source_is_silent(tmp_path, monkeypatch):
    class Short(MadeUpSource):
        async def stream(self):
            async for item in super().stream():
                yield item
                if getattr(item, "time_s", 0) >= 0.5:
                    return

    monkeypatch.setattr(hub, "RETRY_S", 0.1)
    monkeypatch.setattr(listener, "RETRY_S", 0.1)
    monkeypatch.setattr(Store, "append", _failing_until(time.monotonic() + 2.0))
    with serving(tmp_path, Short()) as served:
        time.sleep(1.2)
        assert served.live.listener.counts.waiting == 11
        time.sleep(1.5)
        assert served.live.listener.counts.waiting == 0 and served.live.store.count(served.live.listener.session) == 11


def test_what_still_waits_at_the_end_is_stored_or_told(tmp_path, monkeypatch, caplog):
    with serving(tmp_path) as served:
        time.sleep(0.4)
        monkeypatch.setattr(served.live.store, "append", _raising(UnmixError("the disk is full")))
        time.sleep(0.4)
    waiting = served.live.listener.counts.waiting
    assert waiting > 0 and f"{waiting} rows were never stored. the disk is full." in caplog.text


def test_a_model_that_fails_at_a_row_is_not_asked_again_and_rows_are_stored(tmp_path, caplog):
    class Broken(MadeUpEngine):
        def step(self, sample, state):
            raise KeyError("secret")

    with serving(tmp_path, make_engine=lambda *_: Broken()) as served:
        time.sleep(0.8)
        state = served.client.get("/api/state").json()
        assert "terminal" in state["model"]["trouble"] and "secret" not in str(state)
        assert stored_within(served, 0.4) > 0 and caplog.text.count("the model failed") == 1


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


def _failing_until(end: float):
    sound = Store.append

    def append(self, *given):
        if time.monotonic() < end:
            raise UnmixError("the disk is full")
        return sound(self, *given)

    return append
