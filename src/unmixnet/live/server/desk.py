"""Recording, marking, releasing: what a person does beside the stream."""

from collections.abc import Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from unmixnet.errors import UnmixError
from unmixnet.live.hub import Live
from unmixnet.live.recordings import CLEAN_AIR
from unmixnet.live.server.auth import Door
from unmixnet.live.server.requests import Mark, Part, Release, Start, asked, mixture
from unmixnet.recordings.recording import Mixture

__all__ = ["desk_routes", "number_of"]


def desk_routes(live: Live, door: Door) -> list[Route]:
    """Routes under `/api` for marks, recordings, releases and further devices."""

    async def mark(request: Request) -> Response:
        await live.mark((await asked(request, Mark)).text)
        return _done()

    async def start(request: Request) -> Response:
        wish = await asked(request, Start)
        label = mixture(wish.label)
        live.takes.check()
        at_s = await _afresh(live, label) if wish.release else None
        live.takes.start(wish.name, label, wish.seconds, at_s)
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
    chamber, label = _chamber(live), mixture(parts)
    if label is None:
        chamber.air()
    else:
        chamber.release(_parts(label))
    await live.mark(_released(label))


async def _afresh(live: Live, label: Mixture | None) -> float:
    """Release what is to be recorded into a chamber whose sensors have recovered; the time of its first sample [s]."""
    given = None if label is None or label.names == (CLEAN_AIR,) else label
    at_s = await _chamber(live).afresh(None if given is None else _parts(given))
    await live.mark(f"{_released(given)}, after the sensors had recovered")
    return at_s


def _chamber(live: Live) -> Any:
    if not hasattr(live.source, "release"):
        raise UnmixError("only the simulated chamber can be told what to release", remedy="Start with --simulate")
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
        raise HTTPException(404, "There is no such thing.")
    return int(text)


def _done() -> Response:
    return JSONResponse({"done": True})
