"""No path from a user reaches the file system."""

import pytest

from .serving import Served

UP = ("../", "..\\", "%2e%2e/", "%2e%2e%2f", "..%2f", "..%5c", "%252e%252e%252f", "..;/", "....//", "%c0%ae%c0%ae/")
GOALS = ("etc/passwd", "store.db", "__init__.py", "windows/win.ini", "proc/self/environ")
STRINGS = tuple(up * 6 + goal for up in UP for goal in GOALS)
PLACES = ("/page/{}", "/api/recordings/{}/recording.csv", "/api/answers/{}/report.html", "/{}")


def test_there_are_fifty_strings():
    assert len(set(STRINGS)) == 50


@pytest.mark.parametrize("place", PLACES)
def test_fifty_traversal_strings_find_nothing(served: Served, place):
    for text in STRINGS:
        answer = served.client.get(place.format(text))
        assert answer.status_code in (400, 404, 405), text
        assert b"root:" not in answer.content and b"SQLite" not in answer.content


@pytest.mark.parametrize("text", ["/etc/passwd", "../../x", "C:\\x", "a\x00b", "x" * 900])
def test_the_name_of_an_uploaded_file_is_only_shown(served: Served, text, tmp_path):
    from urllib.parse import quote

    answer = served.client.post("/api/unmix", content=b"nonsense", headers={"X-File-Name": quote(text)})
    assert answer.status_code == 409
    assert "/tmp" not in answer.json()["error"] and "recording.csv" not in answer.json()["error"]


def test_twin_a_file_of_the_page_is_found(served: Served):
    assert served.client.get("/page/app.js").status_code == 200
