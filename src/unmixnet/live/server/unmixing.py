"""Unmixing a file or a recording, and downloading what came of it."""

import tempfile
from pathlib import Path
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from unmixnet.live.answers import Answers
from unmixnet.live.server.desk import number_of

__all__ = ["UPLOAD", "unmixing_routes"]

UPLOAD = "/api/unmix"
"""The only path that takes a large body."""


def unmixing_routes(answers: Answers) -> list[Route]:
    """Routes under `/api` for whole recordings."""

    async def upload(request: Request) -> Response:
        name = unquote(request.headers.get("x-file-name", "")[:1000], errors="replace")
        with tempfile.TemporaryDirectory(prefix="unmixnet-") as folder:
            file = Path(folder) / "recording.csv"  # the name that the user gave is only shown
            with file.open("wb") as out:
                async for chunk in request.stream():
                    out.write(chunk)
            return JSONResponse(await answers.of_file(file, name))

    async def recorded(request: Request) -> Response:
        return JSONResponse(await answers.of_recording(number_of(request)))

    async def page(request: Request) -> Response:
        number = number_of(request)
        text = await run_in_threadpool(answers.page, number)
        return _download(text.encode("utf-8"), "text/html", f"unmixnet-report-{number}.html")

    async def archive(request: Request) -> Response:
        number = number_of(request)
        content = await run_in_threadpool(answers.archive, number)
        return _download(content, "application/zip", f"unmixnet-report-{number}.zip")

    return [
        Route(UPLOAD, upload, methods=["POST"]),
        Route("/api/recordings/{number}/unmix", recorded, methods=["POST"]),
        Route("/api/answers/{number}/report.html", page, methods=["GET"]),
        Route("/api/answers/{number}/report.zip", archive, methods=["GET"]),
    ]


def _download(content: bytes, kind: str, name: str) -> Response:
    """A file to keep. Never shown in place: the report carries its style inline, which the page's policy forbids."""
    return Response(content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
