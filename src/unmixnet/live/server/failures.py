"""What is said when a request cannot be served: one sentence and an id, never a traceback, never a whole path."""

import logging
import secrets
from collections.abc import Mapping
from pathlib import PurePath

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from unmixnet.errors import UnmixError
from unmixnet.inference.report.safe import clipped, plain

__all__ = ["HANDLERS"]

_log = logging.getLogger("unmixnet.live")


async def _refused(request: Request, error: Exception) -> JSONResponse:
    """Something that the user can mend."""
    assert isinstance(error, UnmixError)
    where = PurePath(error.where).name
    return _said(409, str(UnmixError(error.problem, where=where, remedy=error.remedy)))


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return _said(error.status_code, error.detail, error.headers)


async def _defect(request: Request, error: Exception) -> JSONResponse:
    """Something that we must mend: an id, which stands beside the traceback in the log at the terminal."""
    ident = secrets.token_hex(4)
    _log.error("error %s", ident, exc_info=error)
    return JSONResponse({"error": "Something went wrong in the server; the terminal shows what.", "id": ident}, 500)


def _said(status: int, text: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": clipped(plain(text), 600), "id": secrets.token_hex(4)}, status, headers=headers)


HANDLERS = {UnmixError: _refused, HTTPException: _http, Exception: _defect}
