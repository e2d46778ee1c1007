"""The hub survives what its parts do to it."""

import time
from collections.abc import Callable

from unmixnet.errors import UnmixError
from unmixnet.live import hub
from unmixnet.live import recorder as recorder_module
from unmixnet.live.store import Store

from .fakes import MadeUpEngine, MadeUpSource
from .serving import serving


def until(happens: Callable[[], bool], timeout_s: float = 60.0) -> bool:
    """Whether it happens in time; a machine that has much else to do may need a while."""
    end = time.monotonic() + timeout_s
    while not happens():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def test_a_store_that_fails_for_a_moment_costs_no_row_and_the_page_is_told(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(recorder_module, "RETRY_S", 0.1)
    with serving(tmp_path, MadeUpSource(rate_Hz=50)) as served:
        recorder, store = served.live.recorder, served.live.store
        assert until(lambda: recorder.counts.stored > 0)
        for error, text in (
            (UnmixError("the disk is full", where="/secret"), "The disk is full."),
            (OSError("a cable"), "terminal"),
        ):
            with monkeypatch.context() as broken:
                broken.setattr(store, "append", _raising(error))
                assert until(lambda: recorder.counts.waiting > 20)
                source = served.client.get("/api/state").json()["source"]
                assert text in source["problem"] and source["waiting"] > 20 and "cable" not in source["problem"]
                assert "secret" not in source["problem"]
                stored = recorder.counts.stored
            assert until(lambda: served.client.get("/api/state").json()["source"]["problem"] == "")
            assert until(lambda stored=stored: recorder.counts.stored > stored + 20)
        numbers = [round(50 * sample.time_s) for sample in store.samples(recorder.session)]
        assert numbers == list(range(len(numbers))) and "Readings are not being stored" in caplog.text


def test_what_waits_is_stored_when_the_source_is_silent(tmp_path, monkeypatch):
    class Short(MadeUpSource):
        async def stream(self):
            async for item in super().stream():
                yield item
                if getattr(item, "time_s", 0) >= 0.5:
                    return

    monkeypatch.setattr(hub, "RETRY_S", 0.1)
    monkeypatch.setattr(recorder_module, "RETRY_S", 0.1)
    with monkeypatch.context() as broken:
        broken.setattr(Store, "append", _raising(UnmixError("the disk is full")))
        with serving(tmp_path, Short()) as served:
            recorder = served.live.recorder
            assert until(lambda: recorder.counts.waiting == 11)
            broken.undo()
            assert until(lambda: recorder.counts.waiting == 0) and served.live.store.count(recorder.session) == 11


def test_what_still_waits_at_the_end_is_stored_or_told(tmp_path, monkeypatch, caplog):
    with serving(tmp_path) as served:
        recorder = served.live.recorder
        assert until(lambda: recorder.counts.stored > 0)
        monkeypatch.setattr(served.live.store, "append", _raising(UnmixError("the disk is full")))
        assert until(lambda: recorder.counts.waiting > 0)
    waiting = served.live.recorder.counts.waiting
    assert waiting > 0 and f"{waiting} rows were never stored. The disk is full." in caplog.text


def test_a_model_that_fails_at_a_row_is_not_asked_again_and_rows_are_stored(tmp_path, caplog):
    class Broken(MadeUpEngine):
        def step(self, sample, state):
            raise KeyError("secret")

    with serving(tmp_path, make_engine=lambda *_: Broken()) as served:
        assert until(lambda: "terminal" in served.client.get("/api/state").json()["model"]["problem"])
        assert "secret" not in served.client.get("/api/state").text
        stored = served.live.recorder.counts.stored
        assert until(lambda: served.live.recorder.counts.stored > stored) and caplog.text.count("the model failed") == 1


def test_a_model_that_cannot_read_the_sensors_is_told_and_they_are_recorded(tmp_path):
    with serving(tmp_path, MadeUpSource(("A", "B")), make_engine=_raising(UnmixError("it lacks MOX1"))) as served:
        assert until(lambda: bool(served.live.problem) and served.live.recorder.counts.stored > 0)
        state = served.client.get("/api/state").json()
        assert state["model"]["problem"] == "it lacks MOX1." and not state["model"]["ready"]
        assert state["source"]["stored"] > 0 and state["estimate"] is None


def test_an_engine_with_a_defect_is_told_without_its_inside(tmp_path, caplog):
    with serving(tmp_path, make_engine=_raising(KeyError("secret"))) as served:
        assert until(lambda: bool(served.live.problem) and served.live.recorder.counts.stored > 0)
        state = served.client.get("/api/state").json()
        assert "terminal" in state["model"]["problem"] and "secret" not in str(state)
        assert state["source"]["stored"] > 0


def _raising(error: Exception):
    def raising(*_: object):
        raise error

    return raising
