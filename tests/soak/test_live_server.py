"""The long counts of the live server: random requests, a large body, and how late a sample is on five pages."""

import threading
import time

import numpy as np
import pytest

from tests.live.server.event_stream import events
from tests.live.server.random_requests import failed_requests
from tests.live.server.serving import Served, serving
from tests.live.server.test_bodies import chunks, peak_kB
from tests.live.signals import shipped
from unmixnet.live.sources.simulated import SimulatedSource

pytestmark = pytest.mark.soak


def test_a_thousand_random_requests_give_no_5xx(tmp_path, measured):
    with serving(tmp_path) as served:
        failed = failed_requests(served, 1000, seed=7)
        measured("answers with 5xx of 1,000", len(failed))
        assert failed == []
        assert served.client.get("/health").status_code == 200


def test_two_hundred_megabytes_are_refused_without_memory(tmp_path, measured):
    with serving(tmp_path) as served:
        served.client.post("/api/unmix", content=chunks(1_000_000))
        before = peak_kB()
        for path in ("/api/unmix", "/api/marks"):
            assert served.client.post(path, content=chunks(200_000_000)).status_code == 413
        more = peak_kB() - before
        measured("more memory at its peak [kB]", more)
        assert more < 5_000


class Stamped:
    """A source that notes when it gave each sample away."""

    def __init__(self, source) -> None:
        self.source, self.given = source, {}

    def __getattr__(self, name: str):
        return getattr(self.source, name)

    async def stream(self):
        async for item in self.source.stream():
            if hasattr(item, "time_s"):
                self.given[round(item.time_s, 4)] = time.time()
            yield item


def ready(served: Served, timeout_s: float = 300.0) -> None:
    """Wait until the model answers."""
    end = time.monotonic() + timeout_s
    while not served.client.get("/api/state").json()["model"]["ready"]:
        assert time.monotonic() < end, "the model was not ready in time"
        time.sleep(0.2)


def test_a_sample_is_on_five_pages_within_a_quarter_of_a_second(tmp_path, measured):
    """With the packaged model, which unmixes every second beside the five pages, in one process."""
    source = Stamped(SimulatedSource())
    with serving(tmp_path, source, model=shipped(), make_engine=None) as served:
        ready(served)
        assert served.client.post("/api/release", json={"parts": [{"name": "mango", "share": 1}]}).status_code == 200
        late: list[list[float]] = [[] for _ in range(5)]
        estimates = [0] * 5

        def look(page: int) -> None:
            with served.without_session() as client:
                client.get(served.auth.link())
                for at, kind, value in events(client, 60):
                    if kind == "samples":
                        late[page] += [at - source.given[t] for t in value["time_s"]]
                    estimates[page] += kind == "estimate" and bool(value["ratios"])

        pages = [threading.Thread(target=look, args=(page,)) for page in range(5)]
        for page in pages:
            page.start()
        for page in pages:
            page.join()
        counts = served.live.recorder.counts
    assert all(len(times) > 550 for times in late) and min(estimates) > 20
    assert counts.received == counts.stored + counts.rejected + counts.waiting
    p99 = float(np.quantile(np.concatenate(late), 0.99))
    measured("p99 of sample to page [s]", round(p99, 4))
    measured("median of sample to page [s]", round(float(np.median(np.concatenate(late))), 4))
    measured("estimates on each page", estimates)
    assert p99 <= 0.25
