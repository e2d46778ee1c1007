"""A page gets all that is known, then what happens; the recorder does not care who looks on."""

import time

from .event_stream import events
from .fakes import CHANNELS, COMPONENTS, MadeUpSource
from .serving import Served, serving


def test_a_page_first_gets_the_state_then_the_past_then_the_stream(served: Served):
    received = [(kind, value) for _, kind, value in events(served.client, 2.5)]
    kinds = [kind for kind, _ in received]
    assert kinds[:2] == ["state", "history"] and {"samples", "estimate"} <= set(kinds)
    state = [value for kind, value in received if kind == "state"][-1]  # the first one may come before the first sample
    assert state["source"]["channels"] == list(CHANNELS) and state["source"]["unit"] == "counts"
    assert state["model"]["components"] == list(COMPONENTS)
    times = [t for kind, value in received if kind == "samples" for t in value["time_s"]]
    assert len(times) > 20 and times == sorted(times)


def test_what_was_received_is_stored_or_rejected(served: Served):
    recorder = served.live.recorder
    now = recorder.counts
    assert now.received == now.stored + now.rejected + now.waiting and now.stored > 0
    assert abs(served.live.store.count(recorder.session) - now.stored) <= 10  # it goes on while we count


def test_samples_are_on_the_page_at_once(tmp_path):
    """The source stamps nothing here: a sample of signal time t is due t after the first one."""
    with serving(tmp_path, MadeUpSource(rate_Hz=50)) as quick:
        began, late = None, []
        for at, kind, value in events(quick.client, 3):
            if kind == "samples":
                began = at - value["time_s"][-1] if began is None else min(began, at - value["time_s"][-1])
                late.append(at - value["time_s"][-1])
        late = sorted(delay - began for delay in late)
        assert len(late) > 15
        assert late[len(late) // 2] < 0.25


def test_a_fast_replay_is_thinned_on_the_page_and_whole_in_the_store(tmp_path):
    with serving(tmp_path, MadeUpSource(rate_Hz=2000)) as fast:
        messages = [value for _, kind, value in events(fast.client, 2) if kind == "samples"]
        assert max(len(message["time_s"]) for message in messages) <= 60
        session = fast.live.recorder.session
        assert fast.live.store.count(session) > 10 * 60


def test_a_source_that_fails_is_lost_and_the_page_lives_on(tmp_path):
    class Broken(MadeUpSource):
        async def stream(self):
            async for item in super().stream():
                yield item
                if len(seen) > 5:
                    raise OSError("cable pulled")
                seen.append(item)

    seen: list = []
    with serving(tmp_path, Broken()) as lost:
        time.sleep(1)
        state = lost.client.get("/api/state").json()
        assert state["source"]["status"] == "lost" and state["source"]["stored"] > 0
        assert "cable" not in str(state)
