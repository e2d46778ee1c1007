"""Recording, marking, releasing, removing: each does what it says, and says why if it does not."""

import time

import pytest

from unmixnet.live.store import StoreError

from .fakes import MadeUpSource
from .serving import Served, serving

MIXED = [{"name": "mango", "share": 20}, {"name": "strawberry", "share": 80}]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("served"), MadeUpSource(rate_Hz=20, speed=10)) as running:
        time.sleep(0.5)
        yield running


def post(served: Served, path: str, **body) -> tuple[int, dict]:
    answer = served.client.post(path, json=body)
    return answer.status_code, answer.json()


def test_a_recording_starts_stops_and_has_what_was_heard(served: Served):
    assert post(served, "/api/recording", name="kitchen", label=MIXED)[0] == 200
    assert post(served, "/api/recording", name="again")[0] == 409
    time.sleep(0.5)
    status, done = post(served, "/api/recording/stop")
    assert status == 200
    recording = served.live.store.recording(done["id"])
    assert recording.channels == served.live.recorder.channels and recording.duration_s > 2
    assert recording.label.names == ("mango", "strawberry") and recording.label.ratios == (0.2, 0.8)


def test_a_recording_with_an_end_stops_by_itself(served: Served):
    before = len(served.live.recordings.listed())
    assert post(served, "/api/recording", name="timed", seconds=3)[0] == 200
    for _ in range(40):
        time.sleep(0.05)
        if served.live.recordings.running is None:
            break
    assert served.live.recordings.running is None
    done = served.live.recordings.listed()
    assert len(done) == before + 1 and done[-1]["seconds"] == pytest.approx(3, abs=0.2)


def test_stopping_nothing_is_refused_in_words(served: Served):
    status, body = post(served, "/api/recording/stop")
    assert status == 409 and "nothing is being recorded" in body["error"] and body["id"]


def test_a_mark_is_on_the_page_and_in_the_store(served: Served):
    assert post(served, "/api/marks", text="lid opened")[0] == 200
    assert served.live.recorder.marks[-1]["text"] == "lid opened"
    assert served.live.store.events(served.live.recorder.session)[-1].text == "lid opened"


def test_a_release_reaches_the_chamber_as_shares(served: Served):
    assert post(served, "/api/release", parts=MIXED)[0] == 200
    assert served.live.source.released[-1] == {"mango": 0.2, "strawberry": 0.8}
    assert post(served, "/api/release", parts=[])[0] == 200
    assert served.live.source.released[-1] == {}


def test_a_recording_with_a_release_begins_where_the_release_does(served: Served):
    chamber, air = served.live.source, [{"name": "clean air", "share": 1}]
    status, running = post(served, "/api/recording", name="reference", label=MIXED, seconds=600, release=True)
    assert status == 200 and chamber.released[-1] == {"mango": 0.2, "strawberry": 0.8}
    assert running["start_s"] == chamber.begun_s and running["until_s"] == chamber.begun_s + 600
    assert post(served, "/api/recording", name="again", label=air, release=True)[0] == 409
    assert chamber.released[-1] != {}  # a recording that is refused leaves the chamber alone
    time.sleep(0.3)
    assert post(served, "/api/recording/stop")[0] == 200
    assert post(served, "/api/recording", name="clean air", label=air, seconds=600, release=True)[0] == 200
    assert chamber.released[-1] == {}
    time.sleep(0.3)
    assert post(served, "/api/recording/stop")[0] == 200 and served.live.recordings.listed()[-1]["clean_air"]


def test_a_recording_that_cannot_be_written_goes_on(served: Served, monkeypatch):
    assert post(served, "/api/recording", name="kept")[0] == 200
    time.sleep(0.4)
    with monkeypatch.context() as broken:

        def full(*_: object):
            raise StoreError("the disk is full")

        broken.setattr(served.live.store, "add_recording", full)
        assert post(served, "/api/recording/stop")[0] == 409 and served.live.recordings.running is not None
    assert post(served, "/api/recording/stop")[0] == 200 and served.live.recordings.listed()[-1]["name"] == "kept"


def test_a_recording_can_be_taken_away_and_kept_as_csv(served: Served):
    number = served.live.recordings.listed()[0]["id"]
    text = served.client.get(f"/api/recordings/{number}/recording.csv")
    assert text.status_code == 200 and "attachment" in text.headers["content-disposition"]
    assert text.text.splitlines()[0].startswith("time_s,MOX1") and len(text.text.splitlines()) > 20
    assert served.client.delete(f"/api/recordings/{number}").status_code == 200
    assert served.client.delete(f"/api/recordings/{number}").status_code == 409
    assert served.client.get(f"/api/recordings/{number}/recording.csv").status_code == 409


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
def test_a_body_that_is_not_understood_is_refused(served: Served, path, body):
    status, answer = post(served, path, **body)
    assert status == 400 and set(answer) == {"error", "id"}


def test_a_component_named_twice_is_refused_in_words(served: Served):
    status, answer = post(served, "/api/recording", name="x", label=[{"name": "a", "share": 1}] * 2)
    assert status == 409 and "Name every component once" in answer["error"]


def test_another_device_gets_a_link_of_its_own(served: Served):
    link = post(served, "/api/links")[1]["link"]
    with served.without_session() as phone:
        assert phone.get(link).status_code == 200 and phone.get("/api/state").status_code == 200
