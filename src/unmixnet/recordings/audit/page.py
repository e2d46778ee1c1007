"""One self-contained HTML page of an audit, for readers who do not program."""

from collections import defaultdict
from collections.abc import Callable
from html import escape
from pathlib import Path

import numpy as np

from unmixnet.recordings.audit.figures import draw_composition, draw_leaks, draw_pair, draw_timeline
from unmixnet.recordings.audit.report import AuditReport, FileVerdict, Kind, Leak
from unmixnet.recordings.audit.statements import Statement, headline, statements
from unmixnet.recordings.reader import read_recording
from unmixnet.recordings.recording import Recording

__all__ = ["render_page", "write_page"]

_MOST_ROWS = 400
_WORDS = {"serious": "Serious", "notice": "Worth knowing", "good": "In order"}
_CSS = """
:root { --ink:#1d2a30; --soft:#5c6b73; --line:#dde5e9; --bad:#c8401f; --mild:#b7791f; --fine:#0b7a75; }
* { box-sizing:border-box } body { margin:0; background:#f5f8f9; color:var(--ink);
  font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif }
main { max-width:1000px; margin:0 auto; padding:40px 28px 80px }
h1 { font-size:15px; font-weight:600; color:var(--soft); margin:0 } .lead { font-size:30px; line-height:1.25;
  font-weight:650; margin:6px 0 26px } h2 { font-size:21px; margin:48px 0 6px } .sub { color:var(--soft);
  margin:0 0 14px }
.tiles { display:flex; gap:12px; flex-wrap:wrap } .tile { background:#fff; border:1px solid var(--line);
  border-radius:10px; padding:12px 18px; min-width:150px; flex:1 } .tile b { display:block; font-size:26px }
.tile span { color:var(--soft); font-size:14px } .card { background:#fff; border:1px solid var(--line);
  border-left:5px solid var(--fine); border-radius:8px; padding:14px 20px; margin:12px 0 }
.card.serious { border-left-color:var(--bad) } .card.notice { border-left-color:var(--mild) }
.card h3 { margin:0 0 4px; font-size:17px } .card p { margin:4px 0 } .tag { float:right; font-size:12px;
  font-weight:600; color:var(--fine) } .serious .tag { color:var(--bad) } .notice .tag { color:var(--mild) }
.why { color:var(--soft) } .figure { background:#fff; border:1px solid var(--line); border-radius:10px;
  padding:14px; margin:12px 0; overflow-x:auto } .figure svg { max-width:100%; height:auto; display:block }
details { margin-top:8px; font-size:14px } summary { cursor:pointer; color:var(--soft) }
table { border-collapse:collapse; width:100%; font-size:13.5px; background:#fff } th,td { text-align:left;
  padding:5px 10px; border-bottom:1px solid var(--line); vertical-align:top } th { color:var(--soft);
  font-weight:600 }
td.n, th.n { text-align:right; font-variant-numeric:tabular-nums } code { font-size:12.5px;
word-break:break-all } .key { display:inline-block; width:22px; height:4px; vertical-align:middle;
margin-right:6px } ul.ok { list-style:none; padding:0; margin:8px 0 } ul.ok li { padding:3px 0 } ul.ok
li::before { content:"✓ ";
  color:var(--fine); font-weight:700 }
"""


def write_page(report: AuditReport, target: str | Path) -> None:
    """Write the page; example recordings are read again from the audited folder."""
    folder = Path(report.folder)
    page = render_page(report, lambda file: read_recording(folder / file, place=file))
    Path(target).write_text(page, encoding="utf-8")


def render_page(report: AuditReport, recall: Callable[[str], Recording]) -> str:
    """The page as text; `recall` gives the recording of a file."""
    findings = statements(report)
    sections = [
        _summary(report),
        _cards([item for item in findings if item.weight != "good"]),
        _in_order([item for item in findings if item.weight == "good"]),
        _composition(report),
        _timeline(report),
        _examples(report, recall),
        _leak_section(report),
        _channels(report),
        _file_table(report),
        _method(),
    ]
    name = Path(report.folder).name
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Audit of {escape(name)}</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><style>{_CSS}</style></head>'
        f"<body><main>{''.join(sections)}</main></body></html>\n"
    )


def _summary(report: AuditReport) -> str:
    verdicts = report.verdicts
    tiles = [
        (f"{len(verdicts):,}", "recordings read"),
        (f"{sum(verdict.clean for verdict in verdicts):,}", "distinct measurements"),
        (f"{sum(v.kind is not Kind.REAL and v.copy_of is None for v in verdicts):,}", "computed files"),
        (f"{sum(v.copy_of is not None for v in verdicts):,}", "exact copies"),
        (f"{len(report.sessions) or '–'}", "recording sessions"),
    ]
    boxes = "".join(f'<div class="tile"><b>{number}</b><span>{text}</span></div>' for number, text in tiles)
    return (
        f"<h1>Audit of the recordings in “{escape(Path(report.folder).name)}”</h1>"
        f'<p class="lead">{escape(headline(report))}</p><div class="tiles">{boxes}</div>'
    )


def _cards(findings: list[Statement]) -> str:
    if not findings:
        return "<h2>Findings</h2><p>No problems found.</p>"
    return "<h2>Findings</h2>" + "".join(_card(item) for item in findings)


def _card(item: Statement) -> str:
    why = f'<p class="why">{escape(item.why)}</p>' if item.why else ""
    advice = f"<p><b>What to do:</b> {escape(item.advice)}</p>" if item.advice else ""
    return (
        f'<div class="card {item.weight}"><span class="tag">{_WORDS[item.weight]}</span>'
        f"<h3>{escape(item.title)}</h3><p>{escape(item.what)}</p>{why}{advice}{_some_files(item.files)}</div>"
    )


def _some_files(files: tuple[str, ...], most: int = 8) -> str:
    if not files:
        return ""
    names = "".join(f"<li><code>{escape(name)}</code></li>" for name in files[:most])
    rest = f"<li>… and {len(files) - most:,} more</li>" if len(files) > most else ""
    return f"<details><summary>Show files ({len(files):,})</summary><ul>{names}{rest}</ul></details>"


def _in_order(findings: list[Statement]) -> str:
    if not findings:
        return ""
    items = "".join(f"<li><b>{escape(item.title)}.</b> {escape(item.what)}</li>" for item in findings)
    return f'<h2>What is in order</h2><ul class="ok">{items}</ul>'


def _composition(report: AuditReport) -> str:
    return (
        "<h2>What the files are</h2>"
        '<p class="sub">Each bar is one part of the data set. Only the measured share is evidence.</p>'
        f'<div class="figure">{draw_composition(report)}</div>'
    )


def _timeline(report: AuditReport) -> str:
    if not any(session.start_h is not None for session in report.sessions):
        return ""
    return (
        "<h2>When the recordings were made</h2>"
        '<p class="sub">Every stroke is a measured recording; grey bands are sessions. A test recording that '
        "shares a band with training recordings was made under the same conditions.</p>"
        f'<div class="figure">{draw_timeline(report)}</div>'
    )


def _examples(report: AuditReport, recall: Callable[[str], Recording]) -> str:
    shown = []
    for kind, title in ((Kind.ALTERED_COPY, "An altered copy"), (Kind.WHITE_NOISE, "White noise")):
        example = _telling_example(report.kinds(kind), recall)
        if example is None or example.parent is None:
            continue
        picture = draw_pair(recall(example.file), recall(example.parent), example)
        agreement = example.correlation
        agreement_text = f" Its small changes agree with the measured ones, r = {agreement:.2f}." if agreement else ""
        colour = "#8d5a97" if kind is Kind.WHITE_NOISE else "#e4572e"
        shown.append(
            f'<div class="figure"><b>{title}</b><p class="sub">{_key("#9fb3bd")}measured: '
            f"<code>{escape(example.parent)}</code><br>{_key(colour)}computed: "
            f"<code>{escape(example.file)}</code>.{agreement_text}</p>{picture}</div>"
        )
    if not shown:
        return ""
    intro = '<p class="sub">One example of each kind, drawn over the measurement it was made from.</p>'
    return "<h2>What computed files look like</h2>" + intro + "".join(shown)


def _key(colour: str) -> str:
    return f'<span class="key" style="background:{colour}"></span>'


def _telling_example(
    members: tuple[FileVerdict, ...], recall: Callable[[str], Recording], tried: int = 30
) -> FileVerdict | None:
    """Of files whose parent is known, one whose parent moves much, so that the eye can compare."""
    tied = [verdict for verdict in members if verdict.parent is not None and verdict.copy_of is None]
    clear = [verdict for verdict in tied if (verdict.correlation or 1.0) >= 0.6] or tied
    return max(clear[:: max(len(clear) // tried, 1)], key=lambda verdict: _liveliness(verdict, recall), default=None)


def _liveliness(verdict: FileVerdict, recall: Callable[[str], Recording]) -> float:
    assert verdict.parent is not None
    return float(np.nanmin(np.nanstd(recall(verdict.parent).readings, axis=0)))


def _leak_section(report: AuditReport) -> str:
    groups: dict[tuple[str, str], list[Leak]] = defaultdict(list)
    for leak in report.leaks:
        groups[leak.channels, leak.test].append(leak)
    if not groups:
        return ""
    pictures = "".join(
        f'<div class="figure"><b>{escape(test)}</b>{draw_leaks(leaks)}</div>' for (_, test), leaks in groups.items()
    )
    return (
        "<h2>What gives the label away</h2>"
        '<p class="sub">A source with almost no odour signal should do no better than the dashed line. '
        "Orange: it does, the label leaks. Grey: the whole recording, for comparison. Measured recordings "
        "only, guessed by randomised decision trees.</p>" + pictures
    )


def _channels(report: AuditReport) -> str:
    count: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for verdict in report.verdicts:
        for what in verdict.unhealthy:
            channel, health = what.split(": ", 1)
            count[channel][health] += 1
    if not count:
        return ""
    verdicts = sorted({health for row in count.values() for health in row})
    head = "".join(f'<th class="n">{escape(health.replace("_", " "))}</th>' for health in verdicts)
    rows = "".join(
        f"<tr><td>{escape(channel)}</td>"
        + "".join(f'<td class="n">{row[health] or ""}</td>' for health in verdicts)
        + "</tr>"
        for channel, row in count.items()
    )
    return (
        "<h2>Channels that do not work</h2>"
        '<p class="sub">In how many recordings. Dead: the chip did not answer. Sentinel: the firmware wrote '
        "an error number. Stuck: one value from start to end.</p>"
        f"<table><tr><th>channel</th>{head}</tr>{rows}</table>"
    )


def _file_table(report: AuditReport) -> str:
    odd = [verdict for verdict in report.verdicts if not verdict.clean or verdict.conflicts]
    if not odd:
        return ""
    rows = "".join(
        f"<tr><td><code>{escape(verdict.file)}</code></td><td>{_what(verdict)}</td></tr>"
        for verdict in odd[:_MOST_ROWS]
    )
    more = f"<p>The first {_MOST_ROWS} of {len(odd):,}; all of them: <code>unmixnet audit … --json</code></p>"
    return (
        f"<h2>File by file</h2><details><summary>{len(odd):,} files that are not plain measurements</summary>"
        f"<table><tr><th>file</th><th>verdict</th></tr>{rows}</table>"
        f"{more if len(odd) > _MOST_ROWS else ''}</details>"
    )


def _what(verdict: FileVerdict) -> str:
    parts = []
    if verdict.copy_of:
        parts.append(f"exact copy of <code>{escape(verdict.copy_of)}</code>")
    if verdict.kind is not Kind.REAL:
        parts.append(escape(verdict.kind.replace("-", " ")))
        parts += [escape(sign) for sign in verdict.signs]
    if verdict.parent:
        parts.append(f"made from <code>{escape(verdict.parent)}</code>")
    parts += [escape(claim) for claim in verdict.conflicts]
    return "; ".join(parts)


def _method() -> str:
    kinds = "".join(f"<li><b>{kind.replace('-', ' ')}</b>: {escape(kind.meaning)}.</li>" for kind in Kind)
    return (
        '<h2>How this was found</h2><p class="sub">From the files alone. Exact copies: equal SHA-256. '
        "Altered copies: the small changes from sample to sample are noise, and noise does not repeat; where "
        "it does, one file was made from the other. White noise: a sensor responds slowly, so each "
        "sample resembles the one before; where no channel does, nothing was measured. Times: from ids or "
        f"dates in the file names.</p><ul>{kinds}</ul>"
    )
