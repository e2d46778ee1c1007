"""The report as one self-contained HTML page: no script, no network, light or dark, phone or paper."""

from importlib.resources import files
from pathlib import PurePath

import numpy as np

from unmixnet.inference.answer import Answer, Verdict
from unmixnet.inference.report.bars import component_bars, familiarity_gauge, fit_gauge, strength_gauge
from unmixnet.inference.report.figures import chamber_section, share_section, trace_section
from unmixnet.inference.report.formatting import factor, markup, power
from unmixnet.inference.report.words import (
    caution,
    explained,
    familiarity_words,
    fit_words,
    headline,
    laws,
    strength_words,
)

__all__ = ["render_page"]

_MARK = (
    '<svg viewBox="0 0 22 22" aria-hidden="true"><circle cx="7" cy="14.5" r="5.5" fill="#0072b2" opacity=".85"/>'
    '<circle cx="15" cy="14.5" r="5.5" fill="#e69f00" opacity=".85"/>'
    '<circle cx="11" cy="7.5" r="5.5" fill="#009e73" opacity=".85"/></svg>'
)
_WARNING = (
    '<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" '
    'stroke-linejoin="round" aria-hidden="true"><path d="M12 3.5 2.5 20h19Z"/><path d="M12 10v4.5M12 17.4v.1"/></svg>'
)


def render_page(answer: Answer, *, alone: bool = False) -> str:
    """The page as text; `alone`: without links to the files of numbers that a report has beside it."""
    sections = (
        _hero(answer),
        _gauges(answer),
        _findings(answer),
        trace_section(answer),
        share_section(answer),
        chamber_section(answer),
        _closure(answer),
        _meaning(answer),
        _provenance(answer, alone=alone),
    )
    trust = "" if answer.trusted else ' class="grey"'
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{markup(headline(answer))} – {markup(_file(answer))}</title><style>{_sheet()}</style></head>"
        f"<body><main{trust}>{''.join(sections)}</main></body></html>\n"
    )


def _sheet() -> str:
    return files("unmixnet.inference.report").joinpath("report.css").read_text(encoding="utf-8")


def _file(answer: Answer) -> str:
    return PurePath(answer.recording.replace("\\", "/")).name or "recording"


def _hero(answer: Answer) -> str:
    return (
        f'<div class="top">{_MARK}<b>UnMixNet</b><span class="file">{markup(_file(answer))}</span></div>'
        f"<h1>{markup(headline(answer)).replace(' (', '&nbsp;(')}</h1>{_lead(answer)}{_banner(answer)}"
        f'<div class="card">{component_bars(answer)}</div>'
    )


def _lead(answer: Answer) -> str:
    """What was looked at, in one line."""
    times = answer.time_s[np.isfinite(answer.time_s)]
    long = f"{factor(float(np.ptp(times)))} s of " if times.size > 1 else ""
    sensors = f"{len(answer.channels)} sensor{'' if len(answer.channels) == 1 else 's'}"
    known = len(answer.components)
    among = f"{known} component{'' if known == 1 else 's'} that the model knows"
    return f'<p class="lead">From {long}{sensors}, among {among}.</p>'


def _banner(answer: Answer) -> str:
    if answer.trusted:
        return ""
    return (
        f'<div class="banner" role="alert">{_WARNING}<div><b>Do not trust these shares</b>'
        f"<p>{markup(caution(answer))}</p></div></div>"
    )


def _gauges(answer: Answer) -> str:
    total = float("nan") if answer.verdict is Verdict.NOTHING else explained(answer)[0]
    miss = (
        f" A typical miss is {factor(answer.fit)} times the spread seen in training." if np.isfinite(answer.fit) else ""
    )
    tiles = (
        ("Strength", strength_gauge(answer), strength_words(answer)),
        ("Familiarity", familiarity_gauge(answer), familiarity_words(answer)),
        ("Fit", fit_gauge(total), fit_words(answer) + miss),
    )
    boxes = "".join(f'<div class="card tile"><h3>{t}</h3>{g}<p>{markup(words)}</p></div>' for t, g, words in tiles)
    return (
        '<section><h2>How far to trust it</h2><p class="sub">Is there enough to smell, has the model met anything '
        f'like it, and can its physics reproduce what was measured?</p><div class="grid three">{boxes}</div></section>'
    )


def _findings(answer: Answer) -> str:
    if not answer.findings:
        return ""
    items = "".join(f"<li>{markup(finding)}</li>" for finding in answer.findings)
    return f'<section><h2>Worth knowing</h2><div class="card"><ul class="plain">{items}</ul></div></section>'


def _closure(answer: Answer) -> str:
    words = {"closes": "✓ closes", "nearly": "≈ nearly", "open": "✗ open"}
    rows = "".join(
        f'<tr><td class="law">{law.name}</td><td class="means soft">{law.meaning}</td>'
        f'<td class="n">{power(law.violation)}</td><td class="n state {law.state}">{words[law.state]}</td></tr>'
        for law in laws(answer.closure)
    )
    return (
        '<section><h2>Does the physics close?</h2><p class="sub">The answer comes out of a simulation. These are the '
        "largest violations of its laws at any time and place, relative; zero is exact, and 10<sup>−16</sup> is as "
        'exact as a computer’s numbers.</p><div class="card"><table><tr><th>law</th><th class="means">in words</th>'
        f'<th class="n">worst violation</th><th></th></tr>{rows}</table></div></section>'
    )


def _meaning(answer: Answer) -> str:
    note = f" {answer.confidence_note}" if answer.confidence_note else ""
    is_ = (
        "The mixture that makes a physical model of release, transport, adsorption and readout reproduce the traces.",
        "Shares of the components that the model knows, in the sense of the labels it was trained on. Presence is the "
        "probability that a component is there at all.",
        f"Intervals meant to hold the true share nine times in ten, for recordings like those in training.{note}",
    )
    is_not = (
        "Concentrations, fluxes and coverages are implied by the model, not measured, and their ppm are not "
        "calibrated.",
        "A substance that was not in training cannot be named. It shows as something else, or as unlike anything.",
        "Closed balances show that the model keeps its laws, not that the answer is right.",
        "Not a safety instrument: do not decide with it whether air is safe to breathe.",
    )
    columns = "".join(
        f'<div class="card is"><h3>{title}</h3><ul class="plain">{"".join(f"<li>{markup(t)}</li>" for t in items)}</ul>'
        "</div>"
        for title, items in (("What this is", is_), ("What this is not", is_not))
    )
    return f'<section><h2>How to read it</h2><div class="grid two">{columns}</div></section>'


def _provenance(answer: Answer, *, alone: bool) -> str:
    from unmixnet import __version__

    numbers = (
        '<a href="answer.json">answer.json</a> · <a href="traces.csv">traces.csv</a> · '
        '<a href="states.csv">states.csv</a>'
    )
    rows = (
        ("Recording", f"<code>{markup(answer.recording)}</code>"),
        ("Model", f"{markup(answer.model)}"),
        ("Model digest", f"<code>{markup(answer.model_digest)}</code>"),
        ("Software", f"UnMixNet {markup(__version__)}"),
        *(() if alone else (("Numbers", numbers),)),
    )
    items = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows)
    return f'<section><h2>Where it comes from</h2><div class="card"><dl>{items}</dl></div></section>'
