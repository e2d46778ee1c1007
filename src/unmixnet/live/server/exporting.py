"""Taking away what was recorded: CSV, Parquet, `.osmell`; long sessions go piece by piece."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from unmixnet.live.hub import Live
from unmixnet.live.server.desk import number_of
from unmixnet.live.store_export import csv_chunks, export_parquet, recording_osmell

__all__ = ["exporting_routes"]

_PIECE = 1 << 16


def exporting_routes(live: Live) -> list[Route]:
    """Routes under `/api` for downloads."""

    async def recording_csv(request: Request) -> Response:
        named = await run_in_threadpool(live.store.named, number_of(request))
        chunks = csv_chunks(live.store, named.session, named.start_s, named.end_s)
        return _download(chunks, "text/csv", f"unmixnet-recording-{named.id}.csv")

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
    if live.listener.session is None:
        raise HTTPException(404, "There are no samples yet.")
    return live.listener.session


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
