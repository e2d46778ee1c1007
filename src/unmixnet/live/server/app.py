"""The application: routes in small files, and the guard around all of them."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from unmixnet.live.answers import Answers
from unmixnet.live.hub import Live
from unmixnet.live.server.auth import Door
from unmixnet.live.server.desk import desk_routes
from unmixnet.live.server.exporting import exporting_routes
from unmixnet.live.server.failures import HANDLERS
from unmixnet.live.server.learning import learning_routes
from unmixnet.live.server.login import login_routes
from unmixnet.live.server.page_files import page_file
from unmixnet.live.server.security import Guard
from unmixnet.live.server.stream import stream_routes
from unmixnet.live.server.unmixing import UPLOAD, unmixing_routes
from unmixnet.live.session_calibration import Calibrating
from unmixnet.live.teaching import Lessons

__all__ = ["create_app"]


def create_app(live: Live, door: Door, models: Path) -> Guard:
    """The guarded application; it listens to the source for as long as it is served.

    Arguments:
        models: folder for taught models.
    """
    calibrating = Calibrating(live)
    lessons = Lessons(live, calibrating, models)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        calibrating.recall()
        async with live.running():
            try:
                yield
            finally:
                await lessons.close()

    routes = [
        *login_routes(door),
        *_page_routes(),
        *stream_routes(live),
        *desk_routes(live, door),
        *learning_routes(calibrating, lessons),
        *unmixing_routes(Answers(live)),
        *exporting_routes(live),
    ]
    app = Starlette(routes=routes, exception_handlers=HANDLERS, lifespan=lifespan)
    return Guard(app, door, {UPLOAD: live.settings.upload_bytes})


def _page_routes() -> list[Route]:
    async def index(request: Request) -> Response:
        return page_file("index.html")

    async def part(request: Request) -> Response:
        return page_file(request.path_params["name"])

    return [Route("/", index, methods=["GET"]), Route("/page/{name}", part, methods=["GET"])]
