"""Sections of the page that are pictures: traces, shares along the recording, and the inside of the chamber."""

import numpy as np

from unmixnet.files.printable import printable
from unmixnet.inference.answer import Answer, Verdict
from unmixnet.inference.report.bars import COLOURED, colour_of
from unmixnet.inference.report.chamber import chamber_view, contrast_time, sensors_by_cell
from unmixnet.inference.report.formatting import clipped, factor, markup, percent
from unmixnet.inference.report.plot import Axis, Line, areas, curves, frame, time_axis, value_axis
from unmixnet.inference.report.words import explained, leading, shortened

__all__ = ["chamber_section", "share_section", "trace_section"]

_AT_ONCE = 8
"""Sensors that are drawn at once; the others are folded."""
_PREFIXES = ((1.0, ""), (1e3, "m"), (1e6, "µ"), (1e9, "n"), (1e12, "p"))


def trace_section(answer: Answer) -> str:
    """Measured and reconstructed, one plot per sensor."""
    if not answer.channels or not len(answer.time_s):
        return ""
    _, each = explained(answer)
    x = time_axis(answer.time_s)
    panels = [_trace(answer, m, float(each[m]), x) for m in range(len(answer.channels))]
    wide = "two" if len(panels) <= 4 else "many"
    folded = _fold(panels[_AT_ONCE:], wide)
    return (
        '<section><h2>What was measured, and what the physics makes of it</h2><p class="sub">If the two lines '
        "disagree, the answer does not explain the recording.</p>"
        f'<ul class="keys"><li>{_key("var(--measured)")}measured</li><li>{_key("var(--accent)")}reconstructed</li>'
        f'<li>in {markup(answer.unit)}</li></ul><div class="grid {wide}">{"".join(panels[:_AT_ONCE])}</div>{folded}'
        "</section>"
    )


def _trace(answer: Answer, m: int, share: float, x: Axis) -> str:
    measured, reconstructed = answer.measured[:, m], answer.reconstructed[:, m]
    y = value_axis(measured, reconstructed)
    lines = [Line(measured, "var(--measured)", 3.2), Line(reconstructed, "var(--accent)", 1.7)]
    note = "does not move" if not np.isfinite(share) else f"{percent(max(share, 0.0))} explained"
    note = "no signal" if answer.verdict is Verdict.NOTHING else note
    name = printable(answer.channels[m]) or f"channel {m + 1}"
    return _panel(
        name, note, frame(curves(answer.time_s, lines, x, y), x, y, about=f"{name}, measured and reconstructed")
    )


def _panel(title: str, note: str, inside: str, kind: str = "") -> str:
    head = f'<h3 title="{markup(title)}">{markup(clipped(title, 40))}</h3><span>{markup(note)}</span>'
    return f'<div class="card panel {kind}"><header>{head}</header>{inside}</div>'


def _fold(panels: list[str], wide: str) -> str:
    if not panels:
        return ""
    more = "1 more sensor" if len(panels) == 1 else f"{len(panels)} more sensors"
    inside = f'<div class="grid {wide}">{"".join(panels)}</div>'
    return f'<details class="fold"><summary>{more}</summary>{inside}</details>'


def _key(colour: str, kind: str = "") -> str:
    return f'<i class="{kind}" style="background:{colour}"></i>'


def component_keys(answer: Answer, shown: list[int]) -> str:
    """Swatches and names of the coloured components, and one for the rest."""
    names = [
        f"<li>{_key(colour_of(rank), 'box')}{markup(shortened(answer.components[k]))}</li>"
        for rank, k in enumerate(shown)
    ]
    rest = [f"<li>{_key('var(--rest)', 'box')}all others</li>"] if len(shown) < len(answer.components) else []
    return f'<ul class="keys">{"".join(names + rest)}</ul>'


def _parts(values: np.ndarray, shown: list[int]) -> list[np.ndarray]:
    """Columns of the shown components, and the sum of the others."""
    others = [k for k in range(values.shape[-1]) if k not in set(shown)]
    columns = [values[..., k] for k in shown]
    return [*columns, np.nansum(values[..., others], axis=-1)] if others else columns


def _colours(parts: int, shown: int) -> list[str]:
    return [colour_of(rank) for rank in range(shown)] + ["var(--rest)"] * (parts - shown)


def share_section(answer: Answer) -> str:
    """The shares along the recording, stacked."""
    if len(answer.window_time_s) < 2 or len(answer.components) < 2:
        return ""
    shown = leading(answer, COLOURED)
    parts = _parts(answer.window_ratios, shown)
    x = time_axis(answer.time_s, answer.window_time_s)
    y = Axis(0.0, 1.0, ((0.0, "0"), (0.5, "50 %"), (1.0, "100 %")))
    drawing = areas(answer.window_time_s, parts, _colours(len(parts), len(shown)), x, y)
    plot = frame(drawing, x, y, about="Shares of the components along the recording", height_px=170)
    doubt = "" if answer.trusted else " They are grey because they should not be trusted."
    return (
        '<section><h2>The answer along the recording</h2><p class="sub">The shares as they look from each stretch of '
        f"the recording. A steady picture is a good sign; a picture that wanders is not.{doubt}</p>"
        f'{component_keys(answer, shown)}<div class="card panel">{plot}</div></section>'
    )


def chamber_section(answer: Answer) -> str:
    """The chamber at one moment, and its states in time."""
    states = answer.states
    graph = chamber_view(answer)
    if not graph:
        return ""
    moment = contrast_time(states)
    top = float(np.nan_to_num(states.concentration_ppm[moment]).sum(axis=1).max(initial=0.0))
    shown = leading(answer, COLOURED)
    keys = (
        f'<ul class="keys"><li><i class="ramp"></i>odorants in a cell, 0 to {markup(factor(top))} ppm</li>'
        f"<li>{_key('var(--flow)')}diffusive flux</li>"
        '<li><i class="ring"></i>share of a sensor’s sites that is taken</li></ul>'
    )
    tall = max(150, 28 * min(len(answer.channels), _AT_ONCE))
    series = "".join(draw(answer, shown, tall) for draw in (_concentration, _flux, _coverage))
    doubt = "" if answer.trusted else " Like the shares, this should not be trusted."
    return (
        f"<section><h2>Inside the chamber, as the model sees it</h2>"
        f'<p class="sub">At {markup(_seconds(states.time_s[moment]))}, when the cells differ most. Implied by the '
        f"model, not measured; ppm are not calibrated.{doubt}</p>{keys}"
        f'<div class="card">{graph}</div><div class="grid three series">{series}</div></section>'
    )


def _seconds(time: float) -> str:
    return f"{time:.0f} s" if abs(time) >= 10 else f"{time:.1f} s"


def _concentration(answer: Answer, shown: list[int], tall: int) -> str:
    states = answer.states
    seated = [states.cells.index(cell) for cell in sensors_by_cell(answer)] or list(range(len(states.cells)))
    near = states.concentration_ppm[:, seated].mean(axis=1)
    lines = [Line(near[:, k], colour_of(rank)) for rank, k in enumerate(shown)]
    x, y = time_axis(states.time_s), value_axis(near[:, shown], zero=True)
    where = "At the sensors" if sensors_by_cell(answer) else "Mean of all cells"
    plot = frame(curves(states.time_s, lines, x, y), x, y, about=f"{where}: concentration in time", height_px=tall)
    return _panel(where, "ppm, implied", plot)


def _flux(answer: Answer, shown: list[int], tall: int) -> str:
    states = answer.states
    if not states.edges:
        return ""
    edge = int(np.argmax(np.abs(np.nan_to_num(states.flux_mol_m2_s)).sum(axis=(0, 2))))
    flux = states.flux_mol_m2_s[:, edge][:, shown]
    most = float(np.abs(np.nan_to_num(flux)).max(initial=0.0))
    size, prefix = next(((s, p) for s, p in _PREFIXES if most * s >= 1), (1.0, "") if most == 0 else _PREFIXES[-1])
    lines = [Line(size * flux[:, rank], colour_of(rank)) for rank in range(len(shown))]
    x, y = time_axis(states.time_s), value_axis(size * flux, zero=True)
    plot = frame(curves(states.time_s, lines, x, y), x, y, about="Diffusive flux in time", height_px=tall)
    return _panel(f"Flux, {printable(states.edges[edge])}", f"{prefix}mol/(m² s)", plot)


def _coverage(answer: Answer, shown: list[int], tall: int) -> str:
    """One strip per sensor: how much of its surface each component takes."""
    states, M = answer.states, min(len(answer.channels), _AT_ONCE)
    if not M:
        return ""
    x = time_axis(states.time_s)
    names = [printable(name) or f"channel {m + 1}" for m, name in enumerate(answer.channels[:M])]
    y = Axis(0.0, float(M), tuple((M - 1 - m + 0.42, name) for m, name in enumerate(names)))
    full = max(float(np.nan_to_num(states.coverage).sum(axis=2).max(initial=0.0)), 1e-12)
    drawing = "".join(
        areas(states.time_s, parts, _colours(len(parts), len(shown)), x, y, base=float(M - 1 - m))
        for m in range(M)
        for parts in [[0.85 / full * part for part in _parts(states.coverage[:, m], shown)]]
    )
    plot = frame(drawing, x, y, about="Coverage of each sensor in time", height_px=tall, rules=False)
    return _panel("Sensor sites taken", f"tallest {percent(full)}", plot, "named")
