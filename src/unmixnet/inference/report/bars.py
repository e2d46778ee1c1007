"""Bars with intervals for the components, and gauges for single numbers."""

import math

import numpy as np

from unmixnet.inference.answer import Answer
from unmixnet.inference.report.formatting import factor, interval, markup, percent
from unmixnet.inference.report.words import leading, shortened

__all__ = ["colour_of", "component_bars", "familiarity_gauge", "fit_gauge", "strength_gauge"]

COLOURED = 6
"""Components that have a colour of their own; the others are grey."""
_FULL = (0.1, 0.25, 0.5, 1.0)
"""Right ends that the axis of the bars may have."""


def colour_of(rank: int) -> str:
    """CSS colour of the component with this rank."""
    return f"var(--c{rank})" if rank < COLOURED else "var(--rest)"


def component_bars(answer: Answer) -> str:
    """The components that matter, and the others folded away."""
    shown = leading(answer, COLOURED)
    hidden = [k for k in answer.ranking.tolist() if k not in set(shown)]
    if not shown:
        return '<p class="empty">The model names no components.</p>'
    full = axis_end(answer)
    rows = "".join(_row(answer, k, rank, full) for rank, k in enumerate(shown))
    return f'<div class="bars">{_axis_head()}{rows}{_axis(full)}</div>{_folded(answer, hidden, len(shown), full)}'


def axis_end(answer: Answer) -> float:
    """Right end of the axis: the first round number that holds every share and interval."""
    tops = np.concatenate([answer.ratios, answer.high])
    top = float(np.max(tops[np.isfinite(tops)], initial=0.0))
    return next((end for end in _FULL if top <= end + 1e-9), 1.0)


def _axis_head() -> str:
    return (
        '<div class="bar head" aria-hidden="true"><span></span><span></span><span class="n">share</span>'
        '<span class="n">90&nbsp;% interval</span><span class="n">presence</span></div>'
    )


def _row(answer: Answer, k: int, rank: int, full: float) -> str:
    name, share = markup(shortened(answer.components[k])), float(answer.ratios[k])
    width, low, high = (_width(value, full) for value in (share, answer.low[k], answer.high[k]))
    reach = max(high - low, 0.0)
    return (
        f'<div class="bar" style="--hue:{colour_of(rank)}"><span class="name" title="{markup(answer.components[k])}">'
        f'{name}</span><span class="track"><i class="fill" style="width:{width:.2f}%"></i>'
        f'<i class="reach" style="left:{low:.2f}%;width:{reach:.2f}%"></i></span>'
        f'<span class="n share">{markup(percent(share))}</span>'
        f'<span class="n soft">{markup(interval(answer.low[k], answer.high[k]))}</span>'
        f'<span class="n soft presence">{markup(percent(answer.presence[k]))}</span></div>'
    )


def _width(share: float, full: float) -> float:
    return 100 * min(max(float(share), 0.0), full) / full if math.isfinite(share) else 0.0


def _axis(full: float) -> str:
    ends = "".join(
        f'<span style="left:{100 * part:g}%">{markup(f"{100 * part * full:g} %")}</span>' for part in (0, 0.5, 1)
    )
    return f'<div class="bar axis" aria-hidden="true"><span></span><span class="track ticks">{ends}</span></div>'


def _folded(answer: Answer, hidden: list[int], rank: int, full: float) -> str:
    if not hidden:
        return ""
    total = percent(float(np.nansum(answer.ratios[hidden])))
    what = "1 more component" if len(hidden) == 1 else f"{len(hidden)} more components, together"
    rows = "".join(_row(answer, k, max(rank, COLOURED), full) for k in hidden)
    return f'<details class="rest"><summary>{what} {markup(total)}</summary><div class="bars">{rows}</div></details>'


def strength_gauge(answer: Answer) -> str:
    """Strength on a logarithmic axis; the shaded part is background."""
    strength, background = answer.strength, answer.background
    known = [value for value in (strength, background, 1.0) if math.isfinite(value) and value > 0]
    low, high = math.log(min(known) / 2.5), math.log(max(known) * 2.5)

    def at(value: float) -> float:
        return 100 * (math.log(value) - low) / (high - low) if math.isfinite(value) and value > 0 else 0.0

    shade = f'<i class="shade" style="width:{at(background):.2f}%"></i>'
    marks = _mark(at(background), "background", "tick")
    if abs(at(1.0) - at(background)) > 28:  # else the two words would overlap
        marks += _mark(at(1.0), "typical", "tick")
    return _gauge(f"{factor(strength)}×", at(strength), shade, marks)


def familiarity_gauge(answer: Answer) -> str:
    """Share of known recordings that look at least as strange, from 0.1 % to all of them, logarithmic."""

    def at(value: float) -> float:
        return 100 * (1 + math.log10(min(max(value, 1e-3), 1.0)) / 3) if math.isfinite(value) else 0.0

    shade = f'<i class="shade" style="width:{at(0.05):.2f}%"></i>'
    marks = _mark(0, "strange", "first") + _mark(100, "ordinary", "last")
    share = answer.novelty
    shown = f"{factor(100 * share)} %" if 0 < share < 0.1 else percent(share)
    return _gauge(shown, at(share), shade, marks)


def fit_gauge(share: float) -> str:
    """How much of the signal is explained, 0 to 100 %."""
    at = 100 * min(max(share, 0.0), 1.0) if math.isfinite(share) else 0.0
    shown = percent(max(share, 0.0)) if math.isfinite(share) else "–"
    marks = _mark(0, "nothing", "first") + _mark(100, "all of it", "last")
    return _gauge(shown, at, f'<i class="level" style="width:{at:.2f}%"></i>', marks)


def _gauge(number: str, at: float, shade: str, marks: str) -> str:
    dot = f'<i class="dot" style="left:{at:.2f}%"></i>' if number != "–" else ""
    return f'<b class="big">{markup(number)}</b><div class="gauge">{shade}{dot}{marks}</div>'


def _mark(at: float, text: str, place: str) -> str:
    return f'<span class="mark {place}" style="left:{at:.2f}%">{text}</span>'
