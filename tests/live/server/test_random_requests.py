"""No request, however malformed, is answered with an internal error."""

from .random_requests import failed_requests
from .serving import Served


def test_a_hundred_random_requests_give_no_5xx(served: Served):
    assert failed_requests(served, 100) == []
    assert served.client.get("/health").status_code == 200


def test_twin_a_defect_would_be_seen(served: Served, monkeypatch):
    monkeypatch.setattr(served.live, "state", lambda: 1 / 0)
    assert failed_requests(served, 40, known=["/api/state"])
