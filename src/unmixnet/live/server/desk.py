"""Recording, marking, releasing: what a person does beside the stream."""

from collections.abc import Sequence

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from unmixnet.errors import UnmixError
from unmixnet.live.hub import Live
from unmixnet.live.server.asked import Mark, Part, Release, Start, asked, mixture
from unmixnet.live.server.door import Door

__all__ = ["desk_routes", "number_of"]


def desk_routes(live: Live, door: Door) -> list[Route]:
    """Routes under `/api` for marks, recordings, releases and further devices."""

    async def mark(request: Request) -> Response:
        await live.mark((await asked(request, Mark)).text)
        return _done()

    async def start(request: Request) -> Response:
        wish = await asked(request, Start)
        live.takes.start(wish.name, mixture(wish.label), wish.seconds)
        try:
            if wish.release:
                await _release(live, wish.label)
        except UnmixError:
            live.takes.running = None
            raise
        finally:
            live.changed()
        return JSONResponse(live.takes.running_json())

    async def stop(request: Request) -> Response:
        try:
            number = live.takes.stop()
        finally:
            live.changed()
        return JSONResponse({"id": number})

    async def remove(request: Request) -> Response:
        live.store.remove_recording(number_of(request))
        live.changed()
        return _done()

    async def release(request: Request) -> Response:
        await _release(live, (await asked(request, Release)).parts)
        return _done()

    async def air(request: Request) -> Response:
        await live.clean_air()
        return _done()

    async def link(request: Request) -> Response:
        return JSONResponse({"link": door.short_link()})

    return [
        Route("/api/marks", mark, methods=["POST"]),
        Route("/api/recording", start, methods=["POST"]),
        Route("/api/recording/stop", stop, methods=["POST"]),
        Route("/api/recordings/{number}", remove, methods=["DELETE"]),
        Route("/api/air", air, methods=["POST"]),
        Route("/api/release", release, methods=["POST"]),
        Route("/api/links", link, methods=["POST"]),
    ]


async def _release(live: Live, parts: Sequence[Part]) -> None:
    source = live.source
    if not hasattr(source, "release"):
        raise UnmixError("only the simulated chamber can be told what to release", remedy="Start with --simulate")
    label = mixture(parts)
    if label is None:
        source.air()  # type: ignore[attr-defined]
        await live.mark("clean air")
        return
    source.release(dict(zip(label.names, label.ratios, strict=True)))  # type: ignore[attr-defined]
    pairs = zip(label.names, label.ratios, strict=True)
    await live.mark("released " + ", ".join(f"{100 * share:.0f} % {name}" for name, share in pairs))


def number_of(request: Request) -> int:
    """A number from the path, small enough for a database."""
    text = request.path_params["number"]
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise HTTPException(404, "There is no such thing.")
    return int(text)


def _done() -> Response:
    return JSONResponse({"done": True})
