"""The files of the page, read once by name: a request chooses among them and never names a path."""

from functools import cache
from importlib.resources import files

from starlette.exceptions import HTTPException
from starlette.responses import Response

from unmixnet.errors import UnmixError

__all__ = ["PageMissingError", "check_page", "page_file"]

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_VENDOR = ("uPlot.iife.min.js", "uPlot.min.css")


class PageMissingError(UnmixError):
    """The page was not built."""


@cache
def _files() -> dict[str, bytes]:
    home = files("unmixnet.live") / "page"
    folders = [home, home / "vendor"]
    present = [file for folder in folders if folder.is_dir() for file in folder.iterdir() if file.is_file()]
    return {file.name: file.read_bytes() for file in present if _suffix(file.name) in _TYPES}


def page_file(name: str) -> Response:
    """One file of the page."""
    content = _files().get(name)
    if content is None:
        raise HTTPException(404, "There is no such file.")
    return Response(content, media_type=_TYPES[_suffix(name)])


def check_page() -> None:
    """Refuse to start without the plotting library, which is fetched when the package is built."""
    missing = [name for name in _VENDOR if name not in _files()]
    if missing:
        raise PageMissingError(
            f"the page lacks {' and '.join(missing)}, which a wheel contains and a checkout fetches",
            remedy="Run `make page` in the checkout (it needs npm)",
        )


def _suffix(name: str) -> str:
    return name[name.rfind(".") :]
