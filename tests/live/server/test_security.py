"""Nothing is open but /health and login; names and origins are ours; errors say nothing of the inside."""

import asyncio
import socket

import httpx
import pytest
from starlette.applications import Starlette

from unmixnet.live.server.auth import Authentication, AuthenticationError
from unmixnet.live.server.page_files import _files
from unmixnet.live.server.security import HEADERS, OPEN

from .serving import Served, serving

METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PROPFIND")


def routes(served: Served) -> list[str]:
    inner = served.app.app
    assert isinstance(inner, Starlette)
    return [route.path.replace("{number}", "1").replace("{name}", "app.js") for route in inner.routes]


def let_in(client: httpx.Client, paths: list[str]) -> set[str]:
    """Requests that a client without credentials gets an answer to."""
    tried = {(method, path): client.request(method, path).status_code for path in paths for method in METHODS}
    return {f"{method} {path}" for (method, path), status in tried.items() if status not in (401, 403)}


def test_every_route_but_health_and_login_refuses_strangers(served: Served):
    paths = [*routes(served), "/", "/nothing/here", "/page/../app.js", "//health", "/health/", "/HEALTH", "/login/x"]
    with served.without_session(headers={"Origin": served.url}) as stranger:
        assert len(set(paths)) >= 25
        assert let_in(stranger, [path for path in paths if path not in OPEN]) == set()
        assert stranger.get("/health").json() == {"status": "ok"}


def test_twin_a_route_without_the_guard_is_seen(served: Served):
    transport = httpx.ASGITransport(app=served.app.app)  # type: ignore[arg-type]

    async def get() -> int:
        async with httpx.AsyncClient(transport=transport, base_url=served.url) as inside:
            return (await inside.get("/page/app.js")).status_code

    assert asyncio.run(get()) == 200


@pytest.mark.parametrize(
    "cookie", ["", "x", "unmixnet", "' OR 1=1", "a" * 5000, "\x01", "=;=;", "ä".encode().decode("latin-1")]
)
def test_a_made_up_cookie_opens_nothing(served: Served, cookie):
    headers = {"Cookie": f"{served.auth.cookie}={cookie}".encode("latin-1")}
    with served.without_session() as stranger:
        assert stranger.get("/api/state", headers=headers).status_code in (400, 401)


def test_a_link_works_once_and_gives_a_cookie_that_scripts_cannot_read(served: Served):
    link = served.auth.link()
    with served.without_session() as first, served.without_session() as second:
        answer = first.get(link)
        cookie = answer.headers["set-cookie"].lower()
        assert answer.status_code == 200 and "httponly" in cookie and "samesite=strict" in cookie and "path=/" in cookie
        assert first.get("/api/state").status_code == 200
        assert second.get(link).status_code == 401 and second.get("/api/state").status_code == 401


def test_a_link_expires(served: Served):
    link = served.auth.link(lasts_s=-1)
    with served.without_session() as late:
        assert late.get(link).status_code == 401


HOSTS = (
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1",
    "127.0.0.1:1",
    "127.0.0.1:{port}.evil.example",
    "127.0.0.1.evil.example:{port}",
    "localhost.evil.example:{port}",
    "evil@127.0.0.1:{port}",
    "0.0.0.0:{port}",
    "127.1:{port}",
    "[::ffff:127.0.0.1]:{port}",
    "2130706433:{port}",
)


@pytest.mark.parametrize("host", HOSTS)
def test_twelve_spoofed_hosts_are_refused(served: Served, host):
    headers = {"Host": host.format(port=served.auth.port)}
    for path in ("/", "/health", "/login", "/api/state"):
        assert served.client.get(path, headers=headers).status_code in (400, 421)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST"])
def test_twin_our_own_names_are_served(served: Served, host):
    answer = served.client.get("/api/state", headers={"Host": f"{host}:{served.auth.port}"})
    assert answer.status_code == 200


def test_two_hosts_or_none_are_refused(served: Served):
    name = served.host.encode()
    for head in (b"Host: " + name + b"\r\nHost: evil.example\r\n", b""):
        with socket.create_connection(("127.0.0.1", served.auth.port)) as raw:
            raw.sendall(b"GET /health HTTP/1.1\r\n" + head + b"Connection: close\r\n\r\n")
            assert raw.recv(200).split(b" ")[1] in (b"400", b"421")


ORIGINS = (
    None,
    "null",
    "",
    "http://evil.example",
    "https://127.0.0.1:{port}",
    "http://127.0.0.1",
    "http://127.0.0.1:1",
    "http://127.0.0.1:{port}.evil.example",
    "http://evil.example?http://127.0.0.1:{port}",
    "http://user@127.0.0.1:{port}",
    "http://127.0.0.1:{port}/",
    "file://127.0.0.1:{port}",
)


@pytest.mark.parametrize("origin", ORIGINS)
def test_twelve_bad_origins_may_not_write(served: Served, origin):
    cookies = served.client.cookies
    headers = {} if origin is None else {"Origin": origin.format(port=served.auth.port)}
    with httpx.Client(base_url=served.url, cookies=cookies) as client:
        before = len(served.live.recorder.marks)
        assert client.post("/api/marks", json={"text": "x"}, headers=headers).status_code == 403
        assert client.delete("/api/recordings/1", headers=headers).status_code == 403
        assert len(served.live.recorder.marks) == before


def test_twin_our_own_origin_may_write(served: Served):
    assert served.client.post("/api/marks", json={"text": "x"}).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_may_not_even_read(served: Served, site):
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
    assert served.client.get("/page/app.js", headers=headers).status_code == 403
    assert served.client.get("/", headers={**headers, "Sec-Fetch-Mode": "navigate"}).status_code == 200


def test_every_answer_carries_the_headers(served: Served):
    with served.without_session() as stranger:
        answers = [served.client.get("/"), served.client.get("/nothing"), stranger.get("/"), stranger.get("/health")]
    assert HEADERS["Content-Security-Policy"].startswith("default-src 'self'")
    for answer in answers:
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


def test_the_page_needs_nothing_inline_and_nothing_from_elsewhere(served: Served):
    for path in ("/", "/login"):
        text = served.client.get(path, headers={"Accept": "text/html"}).text
        assert "<script>" not in text and "style=" not in text and "<style" not in text and "onclick" not in text
        assert "//" not in text.replace("<!doctype", "").replace("http-equiv", "")


def test_no_script_of_the_page_parses_markup(served: Served):
    names = [name for name in _files() if name.endswith(".js")]
    ours = [name for name in names if not name.startswith("uPlot")]
    assert len(ours) >= 10
    barred = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "DOMParser")
    for name in names:
        text = served.client.get(f"/page/{name}").text
        assert not [word for word in barred if word in text and not (name.startswith("uPlot") and word == "Function(")]


def test_a_defect_of_ours_is_an_id_and_no_traceback(served: Served, monkeypatch, caplog):
    monkeypatch.setattr(served.live.recordings, "stop", lambda: {}["secret place"])
    answer = served.client.post("/api/recording/stop")
    assert answer.status_code == 500
    assert set(answer.json()) == {"error", "id"} and "secret" not in answer.text and "Traceback" not in answer.text
    assert answer.json()["id"] in caplog.text and "secret place" in caplog.text


def test_a_web_socket_is_closed(served: Served):
    with socket.create_connection(("127.0.0.1", served.auth.port)) as raw:
        ask = f"GET /api/stream HTTP/1.1\r\nHost: {served.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        raw.sendall((ask + "Sec-WebSocket-Key: dGhlIHNhbXBsZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        assert raw.recv(64).split(b" ")[1] in (b"400", b"401", b"403")


# ---------------------------------------------------------------- the auth


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "enose.local", ""])
@pytest.mark.parametrize("token", [None, "", "short"])
def test_an_address_that_others_reach_needs_a_token_and_says_so(host, token):
    with pytest.raises(AuthenticationError, match="token"):
        Authentication(host, 1, token=token, names=("enose.local",))


def test_an_address_for_all_needs_a_name():
    with pytest.raises(AuthenticationError, match="--name"):
        Authentication("0.0.0.0", 1, token="t" * 16)
    assert Authentication("0.0.0.0", 1, token="t" * 16, names=("enose.local",)).hosts == {"enose.local:1"}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
def test_a_loopback_address_needs_none(host):
    assert f"localhost:{8}" in Authentication(host, 8).hosts


def test_the_token_lets_in_and_wrong_ones_run_out():
    auth = Authentication("192.168.1.4", 1, token="correct horse battery")
    assert auth.has_session(auth.open_with_token("correct horse battery"))
    assert all(auth.open_with_token(f"guess {i}") is None for i in range(10))
    assert not auth.accepts_attempts


def test_the_login_form_takes_the_token(tmp_path):
    token = "correct horse battery"
    with serving(tmp_path, token=token) as guarded, guarded.without_session(headers={"Origin": guarded.url}) as person:
        assert person.post("/login", data={"token": "wrong"}).status_code == 401
        assert person.get("/api/state").status_code == 401
        assert person.post("/login", data={"token": token}).status_code == 200
        assert person.get("/api/state").status_code == 200
