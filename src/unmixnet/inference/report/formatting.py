"""Numbers as people read them, and names from files made safe to show."""

import math
import re
from html import escape

from unmixnet.files.printable import printable

__all__ = ["clipped", "encodable", "factor", "interval", "markup", "percent", "power", "scientific"]


def percent(share: float) -> str:
    """62 %, <1 %, >99 %; a dash for a number that is not there."""
    if not math.isfinite(share):
        return "–"
    if 0 < share < 0.005:
        return "<1 %"
    if 0.995 < share < 1:
        return ">99 %"
    return f"{100 * share:.0f} %"


def interval(low: float, high: float) -> str:
    """51–72 %."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return "–"
    ends = f"{100 * low:.0f}", f"{100 * high:.0f}"
    return f"{ends[0]} %" if ends[0] == ends[1] else f"{ends[0]}–{ends[1]} %"


def factor(value: float) -> str:
    """Two significant digits without an exponent: 1.4, 0.042, 120."""
    if not math.isfinite(value):
        return "–"
    rounded = float(f"{value:.2g}")
    return f"{rounded:.0f}" if abs(rounded) >= 10 else f"{rounded:.6f}".rstrip("0").rstrip(".")


def scientific(value: float) -> str:
    """3e-16, as a terminal shows it."""
    if not math.isfinite(value):
        return "–"
    if value == 0 or abs(value) >= 0.01:
        return f"{value:.2g}"
    digits, exponent = f"{value:.0e}".split("e")
    return f"{digits}e{int(exponent)}"


def power(value: float) -> str:
    """3 × 10⁻¹⁶, in HTML."""
    short = scientific(value)
    if "e" not in short:
        return short
    digits, exponent = short.split("e")
    return f"{digits} × 10<sup>{exponent.replace('-', '−')}</sup>"


def clipped(text: str, most: int) -> str:
    """At most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def markup(text: object) -> str:
    """The text for an HTML page; a number and its per cent sign stay on one line."""
    return escape(re.sub(r"(?<=\d) %", "\u00a0%", printable(text)), quote=True)


def encodable(text: object) -> str:
    """The text as it is, except for halves of characters, which no file can hold."""
    return str(text).encode("utf-8", "replace").decode("utf-8")
