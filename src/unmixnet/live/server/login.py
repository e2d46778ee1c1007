"""Coming in: a one-time link, or the token where there is one, becomes a cookie that no script can read."""

import secrets
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from unmixnet.live.server.auth import Door
from unmixnet.live.server.page_files import page_file

__all__ = ["login_routes"]


def login_routes(door: Door) -> list[Route]:
    """`/health`, `/login` and what that page shows; everything else needs what they give."""

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def login(request: Request) -> Response:
        if request.method == "POST":
            return await _by_token(request, door)
        session = door.open_with_key(request.query_params.get("key", ""))
        return _welcome(door, session) if session else _page("login.html", 401)

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


async def _by_token(request: Request, door: Door) -> Response:
    if not door.patient:
        text = "Too many wrong tokens; wait a minute."
        return JSONResponse({"error": text, "id": secrets.token_hex(4)}, 429)
    fields = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=4)
    session = door.open_with_token(fields.get("token", [""])[0])
    return _welcome(door, session) if session else _page("login.html", 401)


def _welcome(door: Door, session: str) -> Response:
    """The cookie, and a page that goes on by itself.

    A redirect would not do: a link that was opened from another site carries no strict cookie through its redirects.
    """
    answer = _page("welcome.html", 200)
    answer.set_cookie(door.cookie, session, httponly=True, samesite="strict", path="/")
    return answer


def _page(name: str, status: int) -> Response:
    page = page_file(name)
    page.status_code = status
    return page
