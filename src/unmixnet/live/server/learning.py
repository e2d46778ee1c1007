"""Calibrating and teaching, from the page."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from unmixnet.live.server.desk import number_of
from unmixnet.live.server.requests import Calibrate, Teach, asked
from unmixnet.live.session_calibration import Calibrating
from unmixnet.live.teaching import Lessons

__all__ = ["learning_routes"]


def learning_routes(calibrating: Calibrating, lessons: Lessons) -> list[Route]:
    """Routes under `/api` for calibrations, lessons and models."""

    async def calibrate(request: Request) -> Response:
        wish = await asked(request, Calibrate)
        await calibrating.calibrate(wish.references, wish.clean_air)
        return JSONResponse(calibrating.state())

    async def undo(request: Request) -> Response:
        calibrating.undo()
        return JSONResponse(calibrating.state())

    async def teach(request: Request) -> Response:
        wish = await asked(request, Teach)
        lessons.start(wish.name, wish.recordings)
        return JSONResponse(lessons.state())

    async def give_up(request: Request) -> Response:
        lessons.stop()
        return JSONResponse(lessons.state())

    async def use(request: Request) -> Response:
        await lessons.use(number_of(request))
        return JSONResponse(lessons.state())

    async def use_first(request: Request) -> Response:
        await lessons.use(None)
        return JSONResponse(lessons.state())

    return [
        Route("/api/calibration", calibrate, methods=["POST"]),
        Route("/api/calibration/undo", undo, methods=["POST"]),
        Route("/api/lesson", teach, methods=["POST"]),
        Route("/api/lesson/stop", give_up, methods=["POST"]),
        Route("/api/models/first/use", use_first, methods=["POST"]),
        Route("/api/models/{number}/use", use, methods=["POST"]),
    ]
