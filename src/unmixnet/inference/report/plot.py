"""Line and area plots for a page: an SVG that stretches to any width, with axis labels in HTML that do not.

Colours are CSS variables, so that a figure follows the page from light to dark.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmixnet.inference.report.formatting import markup

__all__ = ["Axis", "Line", "areas", "curves", "frame", "path", "thinned", "time_axis", "value_axis"]

_SIDE = 1000
"""Side of the stretched coordinate square."""
_MOST_POINTS = 600


@dataclass(frozen=True)
class Line:
    """One curve."""

    values: np.ndarray
    colour: str
    width: float = 1.8
    dashed: bool = False
    opacity: float = 1.0


@dataclass(frozen=True)
class Axis:
    """A linear axis: its ends, and labels at some values."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]

    def at(self, values: np.ndarray | float) -> np.ndarray:
        """Position between 0 (low) and 1 (high)."""
        return (np.asarray(values, float) - self.low) / (self.high - self.low)


def value_axis(*arrays: np.ndarray, zero: bool = False, count: int = 5) -> Axis:
    """An axis that holds all finite values, with about `count` round labels."""
    finite = [array[np.isfinite(array)] for array in map(np.asarray, arrays)]
    values = np.concatenate([np.zeros(1 if zero else 0), *(array.ravel() for array in finite)])
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        middle = 0.5 * (low + high)
        low, high = (0.0, 1.0) if middle == 0 else (middle - 0.1 * abs(middle), middle + 0.1 * abs(middle))
    margin = 0.06 * (high - low)
    low = low if zero and low == 0 else low - margin
    high = high if zero and high == 0 else high + margin
    return Axis(low, high, _ticks(low, high, count))


def time_axis(*times: np.ndarray) -> Axis:
    """Seconds, or minutes for what lasts longer than a quarter of an hour; the last label names the unit."""
    known = [time[np.isfinite(time)] for time in times if np.isfinite(time).any()]
    low, high = (min(float(t.min()) for t in known), max(float(t.max()) for t in known)) if known else (0.0, 1.0)
    high = high if high > low else low + 1.0
    unit, seconds = ("min", 60.0) if high - low > 900 else ("s", 1.0)
    # a recording of 60 s at 10 Hz ends at 59.9 s; its axis may end at 60
    reach = high + 0.02 * (high - low)
    ticks = [(seconds * value, text) for value, text in _ticks(low / seconds, reach / seconds, 4)]
    high = max([high, *(value for value, _ in ticks)])
    if ticks:
        ticks[-1] = (ticks[-1][0], f"{ticks[-1][1]} {unit}")
    return Axis(low, high, tuple(ticks))


def _ticks(low: float, high: float, count: int) -> tuple[tuple[float, str], ...]:
    """Multiples of 1, 2 or 5 × 10ⁿ inside the axis."""
    raw = (high - low) / max(count, 1)
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * m for m in (1, 2, 5, 10) if size * m >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    digits = 1 + max(0, math.ceil(math.log10(max(abs(first), abs(last), 1))))
    form = f",.{decimals}f" if decimals <= 4 else f".{digits}g"
    return tuple((i * step, f"{i * step + 0.0:{form}}".replace("-", "−")) for i in range(first, last + 1))


def thinned(time: np.ndarray, values: np.ndarray, most: int = _MOST_POINTS) -> tuple[np.ndarray, np.ndarray]:
    """At most `most` points that keep every peak: the least and the greatest of each stretch."""
    if len(time) <= most:
        return time, values
    kept: list[int] = []
    for stretch in np.array_split(np.arange(len(time)), most // 2):
        known = stretch[np.isfinite(values[stretch])]
        kept += (
            sorted({int(known[np.argmin(values[known])]), int(known[np.argmax(values[known])])})
            if known.size
            else [int(stretch[0])]
        )
    return time[kept], values[kept]


def path(x: np.ndarray, y: np.ndarray) -> str:
    """SVG path through the points (shares of the square, y upwards); a missing value leaves a gap."""
    parts, pen = [], "M"
    for a, b in zip(x, y, strict=True):
        if not (np.isfinite(a) and np.isfinite(b)):
            pen = "M"
            continue
        parts.append(f"{pen}{_SIDE * a:.1f} {_SIDE * (1 - b):.1f}")
        pen = "L"
    return "".join(parts)


def curves(time: np.ndarray, lines: Sequence[Line], x: Axis, y: Axis) -> str:
    """The lines as SVG."""
    drawn = []
    for line in lines:
        t, values = thinned(time, line.values)
        dash = ' stroke-dasharray="5 4"' if line.dashed else ""
        drawn.append(
            f'<path class="curve" d="{path(x.at(t), y.at(values))}" stroke="{line.colour}" '
            f'stroke-width="{line.width:g}" opacity="{line.opacity:g}"{dash}/>'
        )
    return "".join(drawn)


def areas(
    time: np.ndarray, parts: Sequence[np.ndarray], colours: Sequence[str], x: Axis, y: Axis, *, base: float = 0.0
) -> str:
    """The parts stacked on each other from `base` upwards, as SVG."""
    kept = np.unique(np.linspace(0, len(time) - 1, min(len(time), _MOST_POINTS // 3)).astype(int))
    time, floor = time[kept], np.full(len(kept), base)
    drawn = []
    for part, colour in zip(parts, colours, strict=True):
        top = floor + np.nan_to_num(part[kept])
        there, back = (x.at(time), y.at(top)), (x.at(time[::-1]), y.at(floor[::-1]))
        outline = path(there[0], there[1]) + path(back[0], back[1]).replace("M", "L", 1)
        drawn.append(f'<path class="area" d="{outline}Z" fill="{colour}"/>')
        floor = top
    return "".join(drawn)


def frame(drawing: str, x: Axis, y: Axis, *, about: str, height_px: int = 140, rules: bool = True) -> str:
    """A plot: grid, drawing, and labels outside the stretched square."""
    grid = "".join(
        f'<line class="rule" x1="0" x2="{_SIDE}" y1="{h:.1f}" y2="{h:.1f}"/>'
        for h in (_SIDE * (1 - float(y.at(value))) for value, _ in y.ticks)
        if rules
    )
    left = "".join(f'<span style="bottom:{100 * float(y.at(v)):.2f}%">{markup(text)}</span>' for v, text in y.ticks)
    below = "".join(_time_label(100 * float(x.at(v)), text) for v, text in x.ticks)
    return (
        f'<div class="plot" role="img" aria-label="{markup(about)}"><div class="y">{left}</div>'
        f'<svg viewBox="0 0 {_SIDE} {_SIDE}" preserveAspectRatio="none" style="height:{height_px}px">'
        f'{grid}{drawing}</svg><div class="x">{below}</div></div>'
    )


def _time_label(left: float, text: str) -> str:
    """Centred at its place, except at the ends, where it stays inside."""
    edge = " first" if left < 4 else " last" if left > 94 else ""
    return f'<span class="t{edge}" style="left:{left:.2f}%">{markup(text)}</span>'
