"""Authentication: one-time links and tokens become session cookies; which host names are served."""

import hashlib
import hmac
import ipaddress
import secrets
import time
from collections import OrderedDict, deque
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from unmixnet.errors import UnmixError
from unmixnet.live.server.page_files import page_file

__all__ = ["Authentication", "AuthenticationError", "check_address", "is_loopback", "login_routes"]

_MOST_SESSIONS = 64
_LEAST_TOKEN = 16
_LINK_LASTS_S = 900.0
_WRONG_PER_MINUTE = 10
_WILDCARDS = ("0.0.0.0", "::", "")


class AuthenticationError(UnmixError):
    """A server that others could reach without a token, or that has no host name."""


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine can reach the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Authentication:
    """Links, tokens and sessions that are valid now.

    Arguments:
        host, port: where the server listens.
        token: typed in by people without a link; needed unless the address is loopback.
        names: further names under which the page is reached.
    """

    def __init__(self, host: str, port: int, *, token: str | None = None, names: tuple[str, ...] = ()) -> None:
        self.host, self.port, self.token = host, port, token
        check_address(host, token, names)
        self.hosts = frozenset(_with_port(name, port) for name in _names(host, names))
        self.cookie = f"unmixnet_{port}"  # browsers send cookies to every port of a host: two servers must not clash
        self._links: dict[bytes, float] = {}
        self._sessions: OrderedDict[bytes, None] = OrderedDict()
        self._wrong: deque[float] = deque(maxlen=_WRONG_PER_MINUTE)

    def link(self, *, lasts_s: float = float("inf")) -> str:
        """A new link that works once."""
        key = secrets.token_urlsafe(24)
        self._links[_digest(key)] = time.monotonic() + lasts_s
        return f"http://{self._address()}/login?key={key}"

    def short_link(self) -> str:
        """A link for another device, which expires unless it is used."""
        return self.link(lasts_s=_LINK_LASTS_S)

    def open_with_key(self, key: str) -> str | None:
        """A session for a link that was not used before, or None."""
        until = self._links.pop(_digest(key), None)
        return self._session() if until is not None and time.monotonic() <= until else None

    def open_with_token(self, token: str) -> str | None:
        """A session for the token, or None."""
        if self.token is None or not hmac.compare_digest(_digest(token), _digest(self.token)):
            self._wrong.append(time.monotonic())
            return None
        return self._session()

    @property
    def accepts_attempts(self) -> bool:
        """Whether another token may be tried now."""
        return len(self._wrong) < _WRONG_PER_MINUTE or time.monotonic() - self._wrong[0] > 60

    def has_session(self, session: str | None) -> bool:
        """Whether a cookie is that of an open session."""
        return session is not None and _digest(session) in self._sessions

    def _session(self) -> str:
        session = secrets.token_urlsafe(32)
        self._sessions[_digest(session)] = None
        while len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return session

    def _address(self) -> str:
        """The name for links: the address itself, or the first name where it stands for all addresses."""
        first = _with_port(self.host, self.port)
        return first if first in self.hosts else sorted(self.hosts)[0]


def check_address(host: str, token: str | None, names: tuple[str, ...]) -> None:
    """Refuse an address that others can reach without a token, or that has no name of its own."""
    if is_loopback(host):
        return
    if token is None or len(token) < _LEAST_TOKEN:
        raise AuthenticationError(
            f"others can reach the address {host or '(all)'}, which needs a token of {_LEAST_TOKEN} characters or more",
            where="--host",
            remedy="Set the variable UNMIXNET_TOKEN, or omit --host",
        )
    if host in _WILDCARDS and not names:
        raise AuthenticationError(
            f"{host or '(all)'} means every address of this machine, which needs a host name",
            where="--host",
            remedy="Give the name under which the page is opened, such as --name enose.local",
        )


def _names(host: str, names: tuple[str, ...]) -> set[str]:
    known = set(names) | ({host} if host not in _WILDCARDS else set())
    return known | ({"127.0.0.1", "localhost", "::1"} if is_loopback(host) else set())


def _with_port(name: str, port: int) -> str:
    name = name.strip().lower()
    return f"[{name}]:{port}" if ":" in name and not name.startswith("[") else f"{name}:{port}"


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def login_routes(auth: Authentication) -> list[Route]:
    """`/health`, `/login` and what that page shows; every other path needs a session."""

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def login(request: Request) -> Response:
        if request.method == "POST":
            return await _by_token(request, auth)
        session = auth.open_with_key(request.query_params.get("key", ""))
        return _welcome(auth, session) if session else _page("login.html", 401)

    async def style(request: Request) -> Response:
        return page_file("style.css")

    async def mark(request: Request) -> Response:
        return page_file("mark.svg")

    return [
        Route("/health", health, methods=["GET"]),
        Route("/login", login, methods=["GET", "POST"]),
        Route("/login/style.css", style, methods=["GET"]),
        Route("/login/mark.svg", mark, methods=["GET"]),
    ]


async def _by_token(request: Request, auth: Authentication) -> Response:
    if not auth.accepts_attempts:
        text = "Too many wrong tokens; wait a minute."
        return JSONResponse({"error": text, "id": secrets.token_hex(4)}, 429)
    fields = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=4)
    session = auth.open_with_token(fields.get("token", [""])[0])
    return _welcome(auth, session) if session else _page("login.html", 401)


def _welcome(auth: Authentication, session: str) -> Response:
    """The cookie, and a page that goes on by itself.

    A redirect would not do: a link that was opened from another site carries no strict cookie through its redirects.
    """
    answer = _page("welcome.html", 200)
    answer.set_cookie(auth.cookie, session, httponly=True, samesite="strict", path="/")
    return answer


def _page(name: str, status: int) -> Response:
    page = page_file(name)
    page.status_code = status
    return page
