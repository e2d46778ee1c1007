"""Recording, marking, releasing, removing: each does what it says, and says why if it does not."""

import time

import pytest

from unmixnet.live.store import StoreError

from .fakes import MadeUpSource
from .serving import Served, serving

MIXED = [{"name": "mango", "share": 20}, {"name": "strawberry", "share": 80}]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("desk"), MadeUpSource(rate_Hz=20, speed=10)) as running:
        time.sleep(0.5)
        yield running


def post(served: Served, path: str, **body) -> tuple[int, dict]:
    answer = served.client.post(path, json=body)
    return answer.status_code, answer.json()


def test_a_recording_starts_stops_and_has_what_was_heard(desk: Served):
    assert post(desk, "/api/recording", name="kitchen", label=MIXED)[0] == 200
    assert post(desk, "/api/recording", name="again")[0] == 409
    time.sleep(0.5)
    status, done = post(desk, "/api/recording/stop")
    assert status == 200
    recording = desk.live.store.recording(done["id"])
    assert recording.channels == desk.live.listener.channels and recording.duration_s > 2
    assert recording.label.names == ("mango", "strawberry") and recording.label.ratios == (0.2, 0.8)


def test_a_recording_with_an_end_stops_by_itself(desk: Served):
    before = len(desk.live.takes.listed())
    assert post(desk, "/api/recording", name="timed", seconds=3)[0] == 200
    for _ in range(40):
        time.sleep(0.05)
        if desk.live.takes.running is None:
            break
    assert desk.live.takes.running is None
    done = desk.live.takes.listed()
    assert len(done) == before + 1 and done[-1]["seconds"] == pytest.approx(3, abs=0.2)


def test_nothing_to_stop_is_said(desk: Served):
    status, body = post(desk, "/api/recording/stop")
    assert status == 409 and "nothing is being recorded" in body["error"] and body["id"]


def test_a_mark_is_on_the_page_and_in_the_store(desk: Served):
    assert post(desk, "/api/marks", text="lid opened")[0] == 200
    assert desk.live.listener.marks[-1]["text"] == "lid opened"
    assert desk.live.store.events(desk.live.listener.session)[-1].text == "lid opened"


def test_a_release_reaches_the_chamber_as_shares(desk: Served):
    assert post(desk, "/api/release", parts=MIXED)[0] == 200
    assert desk.live.source.released[-1] == {"mango": 0.2, "strawberry": 0.8}
    assert post(desk, "/api/release", parts=[])[0] == 200
    assert desk.live.source.released[-1] == {}


def test_a_recording_with_a_release_begins_where_the_release_does(desk: Served):
    chamber, air = desk.live.source, [{"name": "clean air", "share": 1}]
    status, take = post(desk, "/api/recording", name="reference", label=MIXED, seconds=600, release=True)
    assert status == 200 and chamber.released[-1] == {"mango": 0.2, "strawberry": 0.8}
    assert take["start_s"] == chamber.begun_s and take["until_s"] == chamber.begun_s + 600
    assert post(desk, "/api/recording", name="again", label=air, release=True)[0] == 409
    assert chamber.released[-1] != {}  # a recording that is refused leaves the chamber alone
    time.sleep(0.3)
    assert post(desk, "/api/recording/stop")[0] == 200
    assert post(desk, "/api/recording", name="clean air", label=air, seconds=600, release=True)[0] == 200
    assert chamber.released[-1] == {}
    time.sleep(0.3)
    assert post(desk, "/api/recording/stop")[0] == 200 and desk.live.takes.listed()[-1]["clean_air"]


def test_a_recording_that_cannot_be_written_goes_on(desk: Served, monkeypatch):
    assert post(desk, "/api/recording", name="kept")[0] == 200
    time.sleep(0.4)
    with monkeypatch.context() as broken:

        def full(*_: object):
            raise StoreError("the disk is full")

        broken.setattr(desk.live.store, "add_recording", full)
        assert post(desk, "/api/recording/stop")[0] == 409 and desk.live.takes.running is not None
    assert post(desk, "/api/recording/stop")[0] == 200 and desk.live.takes.listed()[-1]["name"] == "kept"


def test_a_recording_can_be_taken_away_and_kept_as_csv(desk: Served):
    number = desk.live.takes.listed()[0]["id"]
    text = desk.client.get(f"/api/recordings/{number}/recording.csv")
    assert text.status_code == 200 and "attachment" in text.headers["content-disposition"]
    assert text.text.splitlines()[0].startswith("time_s,MOX1") and len(text.text.splitlines()) > 20
    assert desk.client.delete(f"/api/recordings/{number}").status_code == 200
    assert desk.client.delete(f"/api/recordings/{number}").status_code == 409
    assert desk.client.get(f"/api/recordings/{number}/recording.csv").status_code == 409


@pytest.mark.parametrize(
    "path, body",
    [
        ("/api/marks", {}),
        ("/api/marks", {"text": ""}),
        ("/api/marks", {"text": "x" * 201}),
        ("/api/marks", {"text": "x", "more": 1}),
        ("/api/recording", {"name": " "}),
        ("/api/recording", {"name": "x", "seconds": 0}),
        ("/api/recording", {"name": "x", "label": [{"name": "a", "share": -1}]}),
        ("/api/recording", {"name": "x", "label": [{"name": "a", "share": 1}] * 25}),
        ("/api/calibration", {"references": [0]}),
        ("/api/calibration", {"references": [2**60]}),
        ("/api/lesson", {"name": "x", "recordings": [1]}),
        ("/api/lesson", {"name": "x", "recordings": ["1", "2"]}),
    ],
)
def test_a_wish_that_is_not_understood_is_refused(desk: Served, path, body):
    status, told = post(desk, path, **body)
    assert status == 400 and set(told) == {"error", "id"}


def test_a_component_named_twice_is_refused_in_words(desk: Served):
    status, told = post(desk, "/api/recording", name="x", label=[{"name": "a", "share": 1}] * 2)
    assert status == 409 and "Name every component once" in told["error"]


def test_another_device_gets_a_link_of_its_own(desk: Served):
    link = post(desk, "/api/links")[1]["link"]
    with desk.stranger() as phone:
        assert phone.get(link).status_code == 200 and phone.get("/api/state").status_code == 200
