"""Random requests: half-sensible paths, methods, headers and bodies."""

import json
import random

import httpx

from .serving import Served

METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "BREW")
VALUES = (
    None,
    True,
    -1,
    0,
    1,
    2**63,
    2**70,
    1e308,
    -0.0,
    "",
    "x",
    "\u202e\x00",
    "x" * 300,
    [],
    {},
    [[]] * 40,
    ["a"],
    [1, 2],
)
KEYS = ("name", "label", "seconds", "text", "parts", "references", "clean_air", "recordings", "share", "__class__")
RAW = (
    b"",
    b"{",
    b"[" * 60_000,
    b'{"a":' * 9000,
    b"\xff\xfe",
    b"null",
    b'"\\ud800"',
    b"NaN",
    b'{"text": NaN}',
    b"0" * 5000,
)
SEGMENTS = (
    "api",
    "page",
    "login",
    "health",
    "recordings",
    "1",
    "0",
    "99999999999999999999",
    "9" * 5000,
    "-1",
    "..",
    "%00",
    "é",
    " ",
    "stop",
)


def body(rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return rng.choice(RAW)
    value = {rng.choice(KEYS): rng.choice(VALUES) for _ in range(rng.randrange(4))}
    if rng.random() < 0.5:
        value["parts"] = value["label"] = [
            {"name": rng.choice(("mango", "", 3)), "share": rng.choice((1, -1, 1e300, "2"))}
        ]
    return json.dumps(value).encode()


def path(rng: random.Random, known: list[str]) -> str:
    if rng.random() < 0.7:
        return rng.choice(known).replace("{number}", rng.choice(("1", "7", "9" * 30, "x", "-3"))).replace("{name}", "x")
    return "/" + "/".join(rng.choice(SEGMENTS) for _ in range(rng.randrange(1, 5)))


def failed_requests(
    served: Served, count: int, seed: int = 0, known: list[str] | None = None
) -> list[tuple[str, str, int]]:
    """Requests that were answered by a 5xx status."""
    rng = random.Random(seed)
    known = known or [route.path for route in served.app.app.routes if "stream" not in route.path]  # type: ignore[attr-defined]
    failed = []
    for _ in range(count):
        method, at = rng.choice(METHODS), path(rng, known)
        headers = {"Content-Type": rng.choice(("application/json", "text/plain", "multipart/form-data", "é"))}
        if rng.random() < 0.2:
            headers["X-File-Name"] = rng.choice(("%", "%ff%00", "../x", "x" * 2000))
        encoded = {name: value.encode("utf-8") for name, value in headers.items()}
        try:
            status = served.client.request(method, at, content=body(rng), headers=encoded).status_code
        except (httpx.RemoteProtocolError, httpx.InvalidURL, httpx.WriteError, httpx.ReadError):
            continue  # not even HTTP
        if status >= 500:
            failed.append((method, at, status))
    return failed
