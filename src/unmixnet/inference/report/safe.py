"""Names from files and models, made safe to show: they stay text wherever they are put."""

import re
from html import escape

__all__ = ["clipped", "encodable", "markup", "plain"]

_BLANK = re.compile(r"[\t\n\r\x0b\x0c\x85\u2028\u2029]+")
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)
"""Controls (a terminal obeys them), marks that turn the direction of writing, halves of characters."""


def plain(text: object) -> str:
    """One line of visible characters; what a terminal or browser would obey becomes the replacement mark."""
    return _UNSEEN.sub("\ufffd", _BLANK.sub(" ", str(text)))


def clipped(text: str, most: int) -> str:
    """At most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def markup(text: object) -> str:
    """The text for an HTML page; a number and its per cent sign stay on one line."""
    return escape(re.sub(r"(?<=\d) %", "\u00a0%", plain(text)), quote=True)


def encodable(text: object) -> str:
    """The text as it is, except for halves of characters, which no file can hold."""
    return str(text).encode("utf-8", "replace").decode("utf-8")
