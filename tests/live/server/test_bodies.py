"""Bodies are counted while they come in, whatever their header says, and never reach the memory whole."""

import resource
import socket
from collections.abc import Iterator

import pytest

from .serving import Served


def raw(served: Served, head: str, body: bytes = b"") -> int:
    """Status of a request that is sent as it is."""
    cookie = f"{served.auth.cookie}={served.client.cookies[served.auth.cookie]}"
    lines = f"{head}Host: {served.host}\r\nOrigin: {served.url}\r\nCookie: {cookie}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.auth.port), timeout=10) as line:
        line.sendall(lines.encode() + body)
        return int(line.recv(4096).split(b" ")[1])


def chunks(size: int) -> Iterator[bytes]:
    """A body whose length no header tells."""
    block = b"x" * 65536
    for _ in range(size // len(block)):
        yield block


@pytest.mark.parametrize("path", ["/api/marks", "/api/recording", "/api/calibration", "/login", "/api/lesson"])
def test_a_body_that_says_it_is_large_is_refused_unread(served: Served, path):
    answer = served.client.post(path, content=b"x" * 70_000)
    assert answer.status_code == 413 and set(answer.json()) == {"error", "id"}


@pytest.mark.parametrize("path", ["/api/marks", "/api/unmix"])
def test_a_body_in_chunks_is_counted_as_it_comes(served: Served, path):
    answer = served.client.post(path, content=chunks(24_000_000))
    assert answer.status_code == 413 and set(answer.json()) == {"error", "id"}


def test_a_large_body_takes_no_memory(served: Served, tmp_path):
    before = peak_kB()
    assert served.client.post("/api/unmix", content=chunks(40_000_000)).status_code == 413
    assert served.client.post("/api/marks", content=chunks(40_000_000)).status_code == 413
    assert peak_kB() - before < 5_000


def peak_kB() -> int:
    """The most memory that this process, which the server is in, has ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_twin_a_small_body_is_served(served: Served):
    assert served.client.post("/api/marks", json={"text": "x" * 150}).status_code == 200


@pytest.mark.parametrize("length", ["-1", "1e9", "0x10", "9" * 400, "+5", "1, 2"])
def test_a_length_that_is_no_number_is_refused(served: Served, length):
    assert raw(served, f"POST /api/marks HTTP/1.1\r\nContent-Length: {length}\r\n", b"{}") in (400, 413)
