"""Bodies of requests as strict data: every text is short and visible, every list is bounded."""

from collections.abc import Sequence
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from unmixnet.files.printable import printable
from unmixnet.recordings.recording import Mixture

__all__ = [
    "CalibrationRequest",
    "MarkRequest",
    "MixturePart",
    "Number",
    "RecordingRequest",
    "ReleaseRequest",
    "TeachingRequest",
    "mixture_of",
    "parsed_body",
]

_LARGEST = 2**53


def _visible(text: str) -> str:
    visible = printable(text).strip()
    if not visible:
        raise ValueError("a text is empty")
    return visible


Name = Annotated[str, Field(max_length=80), AfterValidator(_visible)]
Text = Annotated[str, Field(max_length=200), AfterValidator(_visible)]
Number = Annotated[int, Field(ge=1, lt=_LARGEST)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class MixturePart(_Request):
    """A component and how much of it, in any unit."""

    name: Name
    share: Annotated[float, Field(gt=0, le=1e6, strict=False)]


class RecordingRequest(_Request):
    """Start a recording; `release` lets the mixture of its label into the simulated chamber."""

    name: Name
    label: Annotated[list[MixturePart], Field(max_length=24)] = []
    seconds: Annotated[float, Field(ge=1, le=3600, strict=False)] | None = None
    release: bool = False


class MarkRequest(_Request):
    """Mark an event."""

    text: Text


class ReleaseRequest(_Request):
    """Let a mixture into the simulated chamber; nothing is clean air."""

    parts: Annotated[list[MixturePart], Field(max_length=24)] = []


class CalibrationRequest(_Request):
    """Calibrate on recordings of known mixtures and of clean air, by their numbers."""

    references: Annotated[list[Number], Field(max_length=64)] = []
    clean_air: Annotated[list[Number], Field(max_length=64)] = []


class TeachingRequest(_Request):
    """Train on recordings, by their numbers."""

    name: Name
    recordings: Annotated[list[Number], Field(min_length=2, max_length=500)]


_Body = TypeVar("_Body", bound=_Request)


async def parsed_body(request: Request, kind: type[_Body]) -> _Body:
    """The body as data, or a refusal that says which field is wrong."""
    body = await request.body()
    try:
        return kind.model_validate_json(body or b"{}")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the body"
        raise HTTPException(400, f"{printable(place)[:80]}: {printable(first['msg'])[:200]}") from None


def mixture_of(parts: Sequence[MixturePart]) -> Mixture | None:
    """A label; None for no parts."""
    if not parts:
        return None
    return Mixture.from_parts([part.name for part in parts], [part.share for part in parts])
