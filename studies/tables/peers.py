"""Tables of the peers and of the audit, one part of a result file each."""

import statistics

__all__ = ["audit_part", "peers_part"]

_COLUMNS = {
    "MAE": (("MAE", "window"), ("MAE", "recording"), ("acc@0.1", "window"), ("TopK hit", "window")),
    "Acc@1": (("Acc@1", "window"), ("Acc@1", "recording"), ("Acc@5", "window"), ("macro-F1", "window")),
    "R²": (("R²", "any plateau"), ("R²", "settled plateau"), ("MAE [ppm]", "settled plateau")),
}


def peers_part(record: dict, part: str) -> list[str]:
    """The list of `models`, or one protocol (one split of it after a slash), controls last."""
    if part == "models":
        return _models(record)
    protocol, _, split = part.partition("/")
    rows = [r for r in record["rows"] if r["protocol"] == protocol and (r["split"] == split or not split)]
    turns = [r for r in rows if r["split"].startswith("turn ")]
    rows = [r for r in rows if r not in turns]
    by_key = {(r["model"], r["metric"], r["level"]): r for r in rows}
    columns = next(_COLUMNS[r["metric"]] for r in rows if r["metric"] in _COLUMNS)
    lines = [
        "| model | " + " | ".join(f"{metric}, {level}" for metric, level in columns) + " |",
        "|---|" + "---|" * len(columns),
    ]
    for model in sorted(dict.fromkeys(r["model"] for r in rows), key=lambda name: name.startswith("control")):
        cells = [_cell(by_key.get((model, *column)), first=i == 0) for i, column in enumerate(columns)]
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    return [*lines, *_over_turns(turns), "", _source(record)]


def _models(record: dict) -> list[str]:
    """Every peer with its features."""
    lines = [f"| {name} | {what} |" for name, what in record["models"].items()]
    return ["| peer | features; model |", "|---|---|", *lines]


def audit_part(record: dict, part: str) -> list[str]:
    """One aspect of a data set: `splits/smellnet-mixture`, `leaks/smellnet-base`, `coherence/…`."""
    what, _, name = part.partition("/")
    audit = record["datasets"][name]
    lines = {"splits": _splits, "leaks": _leaks, "coherence": _coherence}[what](audit)
    return [*lines, "", _source(record)]


def _cell(row: dict | None, *, first: bool) -> str:
    if row is None:
        return ""
    spread = f" ± {row['sd']:.3f}" if row["seeds"] > 1 else ""
    interval = f" [{row['lo']:.3f}, {row['hi']:.3f}]" if first else ""
    return f"{row['mean']:.3f}{spread}{interval}"


def _over_turns(turns: list[dict]) -> list[str]:
    """Mean and spread over folds, for the first metric per window."""
    trees = [r for r in turns if (r["model"], r["metric"], r["level"]) == ("extra-trees", "Acc@1", "window")]
    if not trees:
        return []
    values = [r["mean"] for r in trees]
    each = ", ".join(f"{value:.3f}" for value in values)
    mean, sd = statistics.mean(values), statistics.stdev(values)
    return ["", f"extra-trees, Acc@1 per window in each turn: {each}; mean {mean:.3f} ± {sd:.3f} over turns."]


def _splits(audit: dict) -> list[str]:
    lines = [
        "| part | files | copies | measured | white noise | altered copies | computed, unknown origin |",
        "|---|---|---|---|---|---|---|",
    ]
    for s in audit["splits"]:
        cells = (s["files"], s["copies_within"], s["real"], s["white_noise"], s["altered"], s["suspect"])
        lines.append(f"| {s['name']} | " + " | ".join(str(cell) for cell in cells) + " |")
    return lines


def _leaks(audit: dict) -> list[str]:
    lines = ["| tested on | source | metric | score | knowing nothing |", "|---|---|---|---|---|"]
    for leak in audit["leaks"]:
        score, null = f"{leak['score']:.3f}", f"{leak['null']:.3f}"
        lines.append(f"| {leak['test']} ({leak['n']}) | {leak['source']} | {leak['metric']} | {score} | {null} |")
    return lines


def _coherence(audit: dict) -> list[str]:
    c = audit["coherence"]
    worst = ", ".join(f"{first}–{second} ({mu:.2f})" for first, second, mu in c["confusable"][:6])
    return [
        "| components | coherence, raw | whitened | Theorem 1 guarantees | pairs above 0.9 | the worst |",
        "|---|---|---|---|---|---|",
        f"| {c['components']} | {c['mu_raw']:.4f} | {c['mu_whitened']:.4f} | {c['guaranteed']} component(s) "
        f"| {len(c['confusable'])} | {worst} |",
    ]


def _source(record: dict) -> str:
    begun = "".join(f"begun at commit {run['commit']}, resumed at " for run in record.get("earlier", ()))
    return f"`{record['command']}`, {begun}commit {record['commit']}, {record['date']}."
