"""The stream of a page: first all that is known, then frames as they come."""

from collections.abc import AsyncIterator

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from unmixnet.live.fanout import Client, Frame, encode
from unmixnet.live.hub import Live

__all__ = ["stream_routes"]

_STALLED_S = 20.0
"""A reader that takes nothing for so long is let go; its page connects again."""


def stream_routes(live: Live) -> list[Route]:
    """`/api/stream`, and `/api/state` for programs."""

    async def stream(request: Request) -> Response:
        client = live.fanout.join()
        return EventSourceResponse(_events(live, client), ping=15, send_timeout=_STALLED_S)

    async def state(request: Request) -> Response:
        return JSONResponse({**live.state(), "estimate": live.listener.estimate})

    return [Route("/api/stream", stream, methods=["GET"]), Route("/api/state", state, methods=["GET"])]


async def _events(live: Live, client: Client) -> AsyncIterator[ServerSentEvent]:
    try:
        yield _event(encode("state", live.state()))
        yield _event(encode("history", await live.recorder(live.listener.history)))
        async for frame in live.fanout.frames(client):
            yield _event(frame)
            if frame.kind == "missed":  # it may have been news
                yield _event(encode("state", live.state()))
    finally:
        live.fanout.leave(client)


def _event(frame: Frame) -> ServerSentEvent:
    return ServerSentEvent(data=frame.text, event=frame.kind)
