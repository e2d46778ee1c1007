"""Text from files made safe to print: characters that a terminal or browser would obey become a replacement mark."""

import re

__all__ = ["printable", "printable_lines"]

_BLANK = re.compile(r"[\t\n\r\x0b\x0c\x85\u2028\u2029]+")
_CONTROLS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff"
)
"""Control characters, marks that turn the direction of writing, halves of characters; not tab and line feed."""
_INVISIBLE = re.compile(f"[{_CONTROLS}]")


def printable(text: object) -> str:
    """One line of visible characters; tabs and line breaks become a space."""
    return printable_lines(_BLANK.sub(" ", str(text)))


def printable_lines(text: object) -> str:
    """Visible characters, tabs and line feeds."""
    return _INVISIBLE.sub("\ufffd", str(text))
