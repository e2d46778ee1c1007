"""Figures with their captions, and the tables of the failure analysis."""

from studies.tables.markdown import made_by, table

__all__ = ["failures_part", "figures_part"]

_FORETOLD = {
    "whitened": "whitened coherence",
    "cosine": "the same, with its sign",
    "raw": "raw coherence",
    "nearness": "nearness in noise",
    "nearness, given same sessions": "nearness beyond same sessions",
    "same sessions": "recorded in the same sessions",
    "the best peer's confusions": "the best peer's confusions",
}


def figures_part(record: dict, name: str) -> list[str]:
    """The picture of this name, and its caption."""
    if name == "source":
        return [made_by(record, detail="python")]
    caption = record["captions"][name]
    return [
        f"![{caption['title']}](img/fig_{name}.png)",
        "",
        f"**{_ended(caption['title'])}** {caption['shows']}",
        "",
        f"*What would change this:* {caption['change']}",
    ]


def failures_part(record: dict, part: str) -> list[str]:
    """`pairs`, `foretold`, `sessions`, `distance`, `verdicts`, `scores` or `unknown`."""
    made = {
        "pairs": _pairs,
        "foretold": _foretold,
        "sessions": _sessions,
        "distance": _distance,
        "verdicts": _verdicts,
        "scores": _scores,
        "unknown": _unknown,
    }
    return [*made[part](record), "", made_by(record, detail="python")]


def _pairs(record: dict) -> list[str]:
    from studies.figures.confusion import worst_pairs

    main = record["confusion"]["matrices"][0]
    rows = [
        [pair["pair"], f"{100 * pair['share']:.0f} %", f"{pair['beyond']:.1f} ×", f"{pair['whitened']:.2f}",
         f"{pair['distance']:.1f}"]
        for pair in worst_pairs(record, 10)
    ]  # fmt: skip
    head = ["pair", "share moved", "against popularity", "whitened coherence", "distance [noise]"]
    return [f"{main['protocol']}, {main['model']}:", "", *_table(head, rows)]


def _foretold(record: dict) -> list[str]:
    by_key = {(r["protocol"], r["model"], r["by"], r["what"]): r for r in record["confusion"]["rows"]}
    places = list(dict.fromkeys((protocol, model) for protocol, model, _, _ in by_key))
    rows = []
    for protocol, model in places:
        for what in ("share", "mixtures only"):
            cells = [_rho(by_key.get((protocol, model, by, what))) for by in _FORETOLD]
            if any(cells):
                rows.append([protocol, model, what, *cells])
    return _table(["protocol", "model", "confusion", *_FORETOLD.values()], rows)


def _rho(row: dict | None) -> str:
    if row is None or row["rho"] is None:
        return ""
    text = f"{row['rho']:.2f} (p {_chance(row['p'])})"
    return f"**{text}**" if row["p"] < 0.05 else text


def _sessions(record: dict) -> list[str]:
    sessions = record["drift"]["leave-session-out"]["sessions"]
    models = list(sessions[0]["errors"])
    rows = []
    for session in sessions:
        best = min(session["errors"].values())
        cells = [f"**{e:.3f}**" if e == best else f"{e:.3f}" for e in session["errors"].values()]
        counts = [str(session["session"]), str(session["recordings"]), str(session["supports"])]
        rows.append([*counts, _number(session["drift"]), _number(session["nearest"]), *cells])
    head = ["session", "recordings", "combinations", "median drift [sd]", "median distance [sd]", *models]
    return _table(head, rows)


def _distance(record: dict) -> list[str]:
    rows = []
    for protocol, part in record["drift"].items():
        for r in part["rows"]:
            what = "same recipe in training" if r["by"] == "drift" else "nearest training recording"
            interval = f"{r['rho']:.2f} [{r['lo']:.2f}, {r['hi']:.2f}]"
            cells = [interval, f"{r['near_third']:.3f}", f"{r['far_third']:.3f}", str(r["n"])]
            rows.append([protocol, r["model"], what, *cells])
    head = ["protocol", "model", "distance from", "ρ with the error", "nearest third", "furthest third", "recordings"]
    return _table(head, rows)


def _verdicts(record: dict) -> list[str]:
    rows = [
        [r["split"], str(r["n"]), str(r["withheld"]), _number(r["all"]), _number(r["answered"]),
         _number(r["withheld_error"])]
        for r in record["abstention"]["verdicts"]
    ]  # fmt: skip
    head = ["split", "recordings", "withheld", "error of all", "error of the answered", "error of the withheld"]
    return _table(head, rows)


def _scores(record: dict) -> list[str]:
    rows = []
    for r in record["abstention"]["rows"]:
        gain = f"{r['area'] - r['random']:+.3f} [{r['gain_lo']:+.3f}, {r['gain_hi']:+.3f}]"
        sure = r["gain_hi"] < 0 or r["gain_lo"] > 0
        cells = [_chance(r["p"]), f"{r['at_half']:.3f}", f"{r['at_four_fifths']:.3f}", f"{r['random']:.3f}"]
        rows.append([r["split"], r["score"], f"**{gain}**" if sure else gain, *cells])
    head = [
        "split",
        "withheld first",
        "height less chance",
        "p",
        "half answered",
        "four fifths answered",
        "all answered",
    ]
    return _table(head, rows)


def _unknown(record: dict) -> list[str]:
    rows = [
        [r["substance"], f"{r['unknown']} of {r['unknown'] + r['known']}",
         f"{r['auroc']:.2f} [{r['lo']:.2f}, {r['hi']:.2f}]", f"{100 * r['found']:.0f} %",
         f"{100 * r['false_alarms']:.0f} %"]
        for r in record["unknown"]
    ]  # fmt: skip
    head = ["left out of training", "recordings with it", "AUROC of novelty", "withheld of those", "of the others"]
    return _table(head, rows)


def _chance(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _ended(title: str) -> str:
    return title if title.endswith(("?", ".")) else f"{title}."


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    return table([_escaped(text) for text in head], [[_escaped(text) for text in row] for row in rows])


def _escaped(text: str) -> str:
    """A bar would end a cell of a table."""
    return text.replace("|", "\\|")
