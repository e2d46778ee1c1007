"""The application: all routes behind one security layer, and the server that runs it."""

import contextlib
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from unmixnet.errors import UnmixError
from unmixnet.live.answers import Answers
from unmixnet.live.hub import Live
from unmixnet.live.server.auth import Authentication, login_routes
from unmixnet.live.server.page_files import page_file
from unmixnet.live.server.routes import (
    UPLOAD,
    export_routes,
    model_routes,
    recording_routes,
    stream_routes,
    unmix_routes,
)
from unmixnet.live.server.security import HANDLERS, SecurityMiddleware
from unmixnet.live.session_calibration import SessionCalibrator
from unmixnet.live.teaching import Teaching

__all__ = ["ServeError", "create_app", "listen", "serve"]


def create_app(live: Live, auth: Authentication, models: Path) -> SecurityMiddleware:
    """The application behind its security layer; it listens to the source for as long as it is served.

    Arguments:
        models: folder for taught models.
    """
    calibrator = SessionCalibrator(live)
    teaching = Teaching(live, calibrator, models)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        calibrator.restore()
        async with live.running():
            try:
                yield
            finally:
                await teaching.close()

    routes = [
        *login_routes(auth),
        *_page_routes(),
        *stream_routes(live),
        *recording_routes(live, auth),
        *model_routes(calibrator, teaching),
        *unmix_routes(Answers(live)),
        *export_routes(live),
    ]
    app = Starlette(routes=routes, exception_handlers=HANDLERS, lifespan=lifespan)
    return SecurityMiddleware(app, auth, {UPLOAD: live.settings.upload_bytes})


def _page_routes() -> list[Route]:
    async def index(request: Request) -> Response:
        return page_file("index.html")

    async def part(request: Request) -> Response:
        return page_file(request.path_params["name"])

    return [Route("/", index, methods=["GET"]), Route("/page/{name}", part, methods=["GET"])]


class ServeError(UnmixError):
    """A server that cannot listen."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
        # connections inherit it; without it every answer waits 40 ms for an acknowledgement
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    except OSError as error:
        raise ServeError(
            f"the address {host}, port {port}, cannot be used ({os.strerror(error.errno or 0)})",
            where="--port",
            remedy="Choose another one, or --port 0 for any that is free",
        ) from None


def serve(live: Live, auth: Authentication, listening: socket.socket, models: Path) -> None:
    """Serve until Ctrl-C. No access log, since it would hold the keys of the links."""
    config = uvicorn.Config(
        create_app(live, auth, models),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=2,
        lifespan="on",
    )
    uvicorn.Server(config).run(sockets=[listening])
