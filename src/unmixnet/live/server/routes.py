"""Routes of the page: recording, calibrating, teaching, unmixing files, exports, and the stream."""

import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from unmixnet.errors import UnmixError
from unmixnet.live.answers import Answers
from unmixnet.live.fanout import Client, PageMessage, encode
from unmixnet.live.hub import Live
from unmixnet.live.recordings import CLEAN_AIR
from unmixnet.live.server.auth import Authentication
from unmixnet.live.server.requests import (
    CalibrationRequest,
    MarkRequest,
    MixturePart,
    RecordingRequest,
    ReleaseRequest,
    TeachingRequest,
    mixture_of,
    parsed_body,
)
from unmixnet.live.session_calibration import SessionCalibrator
from unmixnet.live.store_export import csv_chunks, export_parquet, recording_osmell
from unmixnet.live.teaching import Teaching
from unmixnet.recordings.recording import Mixture

__all__ = [
    "UPLOAD",
    "export_routes",
    "model_routes",
    "number_of",
    "recording_routes",
    "stream_routes",
    "unmix_routes",
]


def recording_routes(live: Live, auth: Authentication) -> list[Route]:
    """Routes under `/api` for marks, recordings, releases and further devices."""

    async def mark(request: Request) -> Response:
        await live.mark((await parsed_body(request, MarkRequest)).text)
        return _done()

    async def start(request: Request) -> Response:
        body = await parsed_body(request, RecordingRequest)
        label = mixture_of(body.label)
        live.recordings.check()
        at_s = await _release_after_recovery(live, label) if body.release else None
        live.recordings.start(body.name, label, body.seconds, at_s)
        live.changed()
        return JSONResponse(live.recordings.running_json())

    async def stop(request: Request) -> Response:
        try:
            number = live.recordings.stop()
        finally:
            live.changed()
        return JSONResponse({"id": number})

    async def remove(request: Request) -> Response:
        live.store.remove_recording(number_of(request))
        live.changed()
        return _done()

    async def release(request: Request) -> Response:
        await _release(live, (await parsed_body(request, ReleaseRequest)).parts)
        return _done()

    async def air(request: Request) -> Response:
        await live.clean_air()
        return _done()

    async def link(request: Request) -> Response:
        return JSONResponse({"link": auth.short_link()})

    return [
        Route("/api/marks", mark, methods=["POST"]),
        Route("/api/recording", start, methods=["POST"]),
        Route("/api/recording/stop", stop, methods=["POST"]),
        Route("/api/recordings/{number}", remove, methods=["DELETE"]),
        Route("/api/air", air, methods=["POST"]),
        Route("/api/release", release, methods=["POST"]),
        Route("/api/links", link, methods=["POST"]),
    ]


async def _release(live: Live, parts: Sequence[MixturePart]) -> None:
    chamber, label = _chamber(live), mixture_of(parts)
    if label is None:
        chamber.air()
    else:
        chamber.release(_parts(label))
    await live.mark(_released(label))


async def _release_after_recovery(live: Live, label: Mixture | None) -> float:
    """Release what is to be recorded into a chamber whose sensors have recovered; the time of its first sample [s]."""
    released = None if label is None or label.names == (CLEAN_AIR,) else label
    at_s = await _chamber(live).release_after_recovery(None if released is None else _parts(released))
    await live.mark(f"{_released(released)}, after the sensors had recovered")
    return at_s


def _chamber(live: Live) -> Any:
    if not hasattr(live.source, "release"):
        raise UnmixError("only the simulated chamber can release a mixture", remedy="Start with --simulate")
    return live.source


def _parts(label: Mixture) -> dict[str, float]:
    return dict(zip(label.names, label.ratios, strict=True))


def _released(label: Mixture | None) -> str:
    if label is None:
        return "clean air"
    return "released " + ", ".join(f"{100 * share:.0f} % {name}" for name, share in _parts(label).items())


def number_of(request: Request) -> int:
    """A number from the path, small enough for a database."""
    text = request.path_params["number"]
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise HTTPException(404, "Not found.")
    return int(text)


def _done() -> Response:
    return JSONResponse({"done": True})


_PIECE = 1 << 16


def export_routes(live: Live) -> list[Route]:
    """Routes under `/api` for downloads."""

    async def recording_csv(request: Request) -> Response:
        span = await run_in_threadpool(live.store.span, number_of(request))
        chunks = csv_chunks(live.store, span.session, span.start_s, span.end_s)
        return _download(chunks, "text/csv", f"unmixnet-recording-{span.id}.csv")

    async def osmell(request: Request) -> Response:
        number = number_of(request)
        content = await run_in_threadpool(recording_osmell, live.store, number)
        return _download(iter([content]), "application/zip", f"unmixnet-recording-{number}.osmell")

    async def session_csv(request: Request) -> Response:
        return _download(csv_chunks(live.store, _session(live)), "text/csv", "unmixnet-session.csv")

    async def session_parquet(request: Request) -> Response:
        pieces = _parquet(live, _session(live))
        return _download(pieces, "application/vnd.apache.parquet", "unmixnet-session.parquet")

    return [
        Route("/api/recordings/{number}/recording.csv", recording_csv, methods=["GET"]),
        Route("/api/recordings/{number}/recording.osmell", osmell, methods=["GET"]),
        Route("/api/session.csv", session_csv, methods=["GET"]),
        Route("/api/session.parquet", session_parquet, methods=["GET"]),
    ]


def _session(live: Live) -> int:
    if live.recorder.session is None:
        raise HTTPException(404, "There are no samples yet.")
    return live.recorder.session


def _parquet(live: Live, session: int) -> Iterator[bytes]:
    """A Parquet file is only whole at its end, so it is written before its first piece is sent."""
    with tempfile.TemporaryDirectory(prefix="unmixnet-") as folder:
        path = export_parquet(live.store, Path(folder) / "session.parquet", session)
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                yield piece


def _download(pieces: Iterator[bytes], kind: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(pieces, media_type=kind, headers=headers)


def model_routes(calibrator: SessionCalibrator, teaching: Teaching) -> list[Route]:
    """Routes under `/api` for calibrations, teaching and models."""

    async def calibrate(request: Request) -> Response:
        body = await parsed_body(request, CalibrationRequest)
        await calibrator.calibrate(body.references, body.clean_air)
        return JSONResponse(calibrator.state())

    async def undo(request: Request) -> Response:
        calibrator.undo()
        return JSONResponse(calibrator.state())

    async def teach(request: Request) -> Response:
        body = await parsed_body(request, TeachingRequest)
        teaching.start(body.name, body.recordings)
        return JSONResponse(teaching.state())

    async def give_up(request: Request) -> Response:
        teaching.stop()
        return JSONResponse(teaching.state())

    async def use(request: Request) -> Response:
        await teaching.use(number_of(request))
        return JSONResponse(teaching.state())

    async def use_first(request: Request) -> Response:
        await teaching.use(None)
        return JSONResponse(teaching.state())

    return [
        Route("/api/calibration", calibrate, methods=["POST"]),
        Route("/api/calibration/undo", undo, methods=["POST"]),
        Route("/api/lesson", teach, methods=["POST"]),
        Route("/api/lesson/stop", give_up, methods=["POST"]),
        Route("/api/models/first/use", use_first, methods=["POST"]),
        Route("/api/models/{number}/use", use, methods=["POST"]),
    ]


UPLOAD = "/api/unmix"
"""The only path that takes a large body."""


def unmix_routes(answers: Answers) -> list[Route]:
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
        return _attachment(text.encode("utf-8"), "text/html", f"unmixnet-report-{number}.html")

    async def archive(request: Request) -> Response:
        number = number_of(request)
        content = await run_in_threadpool(answers.archive, number)
        return _attachment(content, "application/zip", f"unmixnet-report-{number}.zip")

    return [
        Route(UPLOAD, upload, methods=["POST"]),
        Route("/api/recordings/{number}/unmix", recorded, methods=["POST"]),
        Route("/api/answers/{number}/report.html", page, methods=["GET"]),
        Route("/api/answers/{number}/report.zip", archive, methods=["GET"]),
    ]


def _attachment(content: bytes, kind: str, name: str) -> Response:
    """A file to download; it is never shown inline, since its inline style is forbidden by the page's policy."""
    return Response(content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


_STALLED_S = 20.0
"""A reader that takes nothing for so long is disconnected; its page connects again."""


def stream_routes(live: Live) -> list[Route]:
    """`/api/stream`, and `/api/state` for programs."""

    async def stream(request: Request) -> Response:
        client = live.fanout.join()
        return EventSourceResponse(_events(live, client), ping=15, send_timeout=_STALLED_S)

    async def state(request: Request) -> Response:
        return JSONResponse({**live.state(), "estimate": live.recorder.estimate})

    return [Route("/api/stream", stream, methods=["GET"]), Route("/api/state", state, methods=["GET"])]


async def _events(live: Live, client: Client) -> AsyncIterator[ServerSentEvent]:
    try:
        yield _event(encode("state", live.state()))
        yield _event(encode("history", await live.in_recorder_thread(live.recorder.history)))
        async for message in live.fanout.messages(client):
            yield _event(message)
            if message.kind == "missed":  # a missed message may have been a new state
                yield _event(encode("state", live.state()))
    finally:
        live.fanout.leave(client)


def _event(message: PageMessage) -> ServerSentEvent:
    return ServerSentEvent(data=message.text, event=message.kind)
