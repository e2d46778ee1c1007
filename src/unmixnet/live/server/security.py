"""The outermost layer: requests that are not allowed do not reach the application.

In this order: no web sockets, a Host that is ours, an Origin that is ours on writes, a session (every path but
`/health` and `/login`), and a body that is counted while it comes in. Every answer carries the same headers.
"""

import contextlib
import logging
import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from pathlib import PurePath
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unmixnet.errors import UnmixError
from unmixnet.files.printable import printable
from unmixnet.inference.report.formatting import clipped
from unmixnet.live.server.auth import Authentication
from unmixnet.live.server.page_files import page_file

__all__ = ["HANDLERS", "HEADERS", "OPEN", "SMALL_BODY", "SecurityMiddleware"]

OPEN = frozenset({"/health", "/login", "/login/style.css", "/login/mark.svg"})
"""Paths that need no session."""
SMALL_BODY = 64 * 1024
"""Bytes that a request may carry unless its path has a limit of its own."""
_READS = frozenset({"GET", "HEAD"})
_OWN = frozenset({"same-origin", "none"})
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


class SecurityMiddleware:
    """An ASGI application around another.

    Arguments:
        app: the application behind it.
        auth: sessions and names.
        bodies: limits of paths that take more than `SMALL_BODY` bytes.
    """

    def __init__(self, app: ASGIApp, auth: Authentication, bodies: Mapping[str, int]) -> None:
        self.app, self.auth, self.bodies = app, auth, dict(bodies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        with_headers = _WithHeaders(send)
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, with_headers)
            return
        limit = self.bodies.get(scope["path"], SMALL_BODY)
        with contextlib.suppress(Exception):  # the application has logged it, and answered with an id
            await self.app(scope, _counted(receive, limit), with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        """The response to a request that is refused; None lets it pass."""
        host = self._host(scope)
        if host is None:
            return _refuse(421, "This server does not serve that host name.")
        if scope["method"] not in _READS and not _own_origin(scope, host):
            return _refuse(403, "Requests that change something must come from this server's own page.")
        if not _own_fetch(scope):
            return _refuse(403, "This request comes from another site.")
        if scope["path"] not in OPEN and not self.auth.has_session(self._session(scope)):
            return _login_response(scope)
        length = _only(scope, b"content-length")
        limit = self.bodies.get(scope["path"], SMALL_BODY)
        if length is not None and (not length.isascii() or not length.isdigit() or int(length[:20]) > limit):
            return _refuse(413, _too_large(limit))
        return None

    def _host(self, scope: Scope) -> str | None:
        host = (_only(scope, b"host") or "").lower()
        return host if host in self.auth.hosts else None

    def _session(self, scope: Scope) -> str | None:
        text = "; ".join(value.decode("latin-1") for name, value in scope["headers"] if name == b"cookie")
        try:
            morsel = SimpleCookie(text).get(self.auth.cookie)
        except CookieError:
            return None
        return morsel.value if morsel is not None else None


class _WithHeaders:
    """`send` that adds the headers."""

    def __init__(self, send: Send) -> None:
        self.send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message.get("headers", [])}
            extra = [
                (name.lower().encode(), value.encode())
                for name, value in HEADERS.items()
                if name.lower().encode() not in present
            ]
            message = {**message, "headers": [*message.get("headers", []), *extra]}
        await self.send(message)


def _counted(receive: Receive, limit: int) -> Receive:
    """`receive` that stops at `limit` bytes of body, whatever its header says; the server drops the rest."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise HTTPException(413, _too_large(limit))
        return message

    return counted


def _only(scope: Scope, name: bytes) -> str | None:
    """The value of a header that came exactly once."""
    values = [value for key, value in scope["headers"] if key == name]
    return values[0].decode("latin-1") if len(values) == 1 else None


def _own_origin(scope: Scope, host: str) -> bool:
    origin = _only(scope, b"origin")
    if origin is None:
        return False
    parts = urlsplit(origin) if origin.isascii() and origin.isprintable() else None
    return parts is not None and origin.lower() == f"http://{host}" and parts.netloc.lower() == host


def _own_fetch(scope: Scope) -> bool:
    """Browsers send the origin of a request; a link on another site may open the page, nothing more."""
    site = _only(scope, b"sec-fetch-site")
    return site is None or site in _OWN or (scope["method"] in _READS and _only(scope, b"sec-fetch-mode") == "navigate")


def _login_response(scope: Scope) -> Response:
    """For a request without a session: JSON for a program, the login page for a browser."""
    if scope["method"] == "GET" and "text/html" in (_only(scope, b"accept") or ""):
        page = page_file("login.html")
        page.status_code = 401
        return page
    return _refuse(401, "Open the link that `unmixnet live` printed at the terminal.")


def _refuse(status: int, text: str) -> Response:
    return JSONResponse({"error": text, "id": secrets.token_hex(4)}, status)


def _too_large(limit: int) -> str:
    size = f"{limit // 1_000_000} MB" if limit >= 1_000_000 else f"{limit // 1024} KB"
    return f"The request is larger than {size}."


_log = logging.getLogger("unmixnet.live")


async def _refused(request: Request, error: Exception) -> JSONResponse:
    """An error that the user can correct."""
    assert isinstance(error, UnmixError)
    where = PurePath(error.where).name
    return _error_response(409, str(UnmixError(error.problem, where=where, remedy=error.remedy)))


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return _error_response(error.status_code, error.detail, error.headers)


async def _defect(request: Request, error: Exception) -> JSONResponse:
    """A defect of ours: its id stands beside the traceback in the log at the terminal."""
    ident = secrets.token_hex(4)
    _log.error("error %s", ident, exc_info=error)
    return JSONResponse({"error": "Something went wrong in the server; the terminal shows what.", "id": ident}, 500)


def _error_response(status: int, text: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": clipped(printable(text), 600), "id": secrets.token_hex(4)}, status, headers=headers)


HANDLERS = {UnmixError: _refused, HTTPException: _http, Exception: _defect}
