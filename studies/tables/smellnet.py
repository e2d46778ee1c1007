"""Tables of SmellNet: every model on every protocol, pairs, sessions, novelty, shipped bundles."""

from studies.harness.predictions import OWN
from studies.tables.markdown import made_by, run_notes, scored, table

__all__ = ["bundles_part", "novelty_part", "overview_part", "session_part", "smellnet_part"]

_LEVELS = ("recording", "window")
_STUDIES = {"smellnet-base:official": "base", "smellnet-base:six-fold": "base-six-fold"}
_METRICS = {"MAE": ("MAE", "acc@0.1", "TopK hit", "support F1@0.1", "cosine"), "Acc@1": ("Acc@1", "Acc@5", "macro-F1")}


def smellnet_part(record: dict, part: str) -> list[str]:
    """One protocol: every model, per recording and per window; nulls and peers first. Or `pairs`, `overview:SPLIT`."""
    if part == "pairs":
        return [*_pairs(record), "", *run_notes({**record, "missing": []})]
    if part.startswith("overview:"):
        return [*overview_part(record, part.partition(":")[2]), "", *run_notes({**record, "missing": []})]
    rows = [row for row in record["rows"] if row["protocol"] == part]
    if not rows:
        return [f"{part}: not in this run.", "", *run_notes({**record, "missing": []})]
    study = _STUDIES.get(part) or part.split(":")[1]
    record = {**record, "missing": [m.split(": ")[1] for m in record.get("missing", ()) if m.split(": ")[0] == study]}
    by_key = {(r["model"], r["metric"], r["level"]): r for r in rows}
    metrics = next(names for first, names in _METRICS.items() if any(r["metric"] == first for r in rows))
    columns = [(metric, level) for metric in metrics for level in _LEVELS]
    lines = [
        [model, *(scored(by_key.get((model, *column)), interval=i == 0) for i, column in enumerate(columns))]
        for model in dict.fromkeys(r["model"] for r in rows)
    ]
    notes = [f"{'; '.join(models)}: {note}." for note, models in _notes(record.get("facts", []), study).items()]
    return [*table(["model", *(", ".join(column) for column in columns)], lines), "", *notes, *run_notes(record)]


def _pairs(record: dict) -> list[str]:
    """Ours beside the null and the best of the others on every protocol, per recording; for classes per window too."""
    compared = {(p["protocol"], p["level"], p["model"], p["other"]): p for p in record["pairs"]}
    tables: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in record["rows"]:
        if (row["metric"], row["level"]) in (("MAE", "recording"), ("Acc@1", "recording"), ("Acc@1", "window")):
            tables.setdefault((row["protocol"], row["metric"], row["level"]), {})[row["model"]] = row["mean"]
    lines = []
    for (protocol, metric, level), means in sorted(tables.items(), key=lambda item: _place(item[0][0], record)):
        others = {model: mean for model, mean in means.items() if model not in OWN}
        best = (min if metric == "MAE" else max)(others, key=lambda model: others[model])
        null = means.get("mean", means.get("chance"))
        for model in (model for model in OWN if model in means):
            about = [protocol, f"{metric}, {level}", "" if null is None else f"{null:.3f}"]
            names = [f"{model} {means[model]:.3f}", f"{best} {others[best]:.3f}"]
            lines.append([*about, *names, *_difference(compared.get((protocol, level, model, best)))])
    columns = [
        "protocol",
        "score",
        "mean of training, or chance",
        "ours",
        "best of the others",
        "difference",
        "p",
        "resampled",
    ]
    return table(columns, lines)


def _place(protocol: str, record: dict) -> int:
    """Protocols as they come in the rows."""
    return list(dict.fromkeys(row["protocol"] for row in record["rows"])).index(protocol)


def _difference(pair: dict | None) -> list[str]:
    if pair is None:
        return ["not run together", "", ""]
    return [f"{pair['mean']:+.3f} [{pair['lo']:+.3f}, {pair['hi']:+.3f}]", f"{pair['p']:.3f}", str(pair["n"])]


def _notes(facts: list[dict], study: str) -> dict[str, list[str]]:
    """Notes of a study, each with its models."""
    models: dict[str, list[str]] = {}
    for fact in facts:
        if fact["study"] == study and fact["note"]:
            models.setdefault(fact["note"], []).append(fact["model"])
    return models


def novelty_part(record: dict) -> list[str]:
    """Recordings of a substance that training never had, against known ones; nulls beside the score."""
    rows = []
    for row in record["rows"]:
        half = "" if row["auroc_half"] is None else f"{row['auroc_half']:.3f}"
        area = f"{row['auroc']:.3f} [{row['lo']:.3f}, {row['hi']:.3f}]"
        shares = [f"{100 * row[key]:.0f} %" for key in ("false_alarms", "found")]
        counts = f"{row['known']} / {row['unknown']}"
        rows.append([row["data"], row["substance"], row["score"], counts, area, half, *shares])
    columns = ["data", "left out", "score", "known / unknown", "AUROC", "of half or more", "false alarms", "found"]
    return [*table(columns, rows), "", *run_notes(record)]


def bundles_part(record: dict) -> list[str]:
    """Shipped bundles on unseen recordings: error beside the mean of training, coverage and width of the intervals."""
    rows = []
    for test in record["tests"]:
        scores = [row for row in test["rows"] if row["level"] == "recording"]
        metric = scores[0]["metric"]
        mine, mean = (
            next(r["mean"] for r in scores if r["metric"] == metric and (r["model"] == "mean of training") == null)
            for null in (False, True)
        )
        shares = [f"{100 * test[key]:.0f} %" for key in ("coverage", "covered_present")]
        error = f"{metric} {mine:.3f} ({mean:.3f})"
        rows.append([test["bundle"], test["split"], str(test["recordings"]), error, *shares, f"{test['width']:.2f}"])
    columns = ["bundle", "test", "recordings", "error (mean of training)", "covered", "of those there", "mean width"]
    return [*table(columns, rows), "", *run_notes(record)]


_COLUMNS = (
    "Base Acc@1",
    "seen MAE",
    "seen acc@0.1",
    "seen cosine",
    "unseen MAE",
    "unseen acc@0.1",
    "unseen cosine",
    "OOD drop",
)
_MODELS = (
    "chance",
    "mean",
    "1-NN",
    "extra-trees",
    "extra-trees (unmixnet's statistics)",
    "mlp",
    "cnn-lstm",
    "itransformer",
    "scentformer",
    "adr-gnn",
    "ldac",
    "unmixnet, steady state",
    "unmixnet",
    "unmixnet (committee)",
)
_REPORTED = """
paper: MLP                               | .273 ± .019 | .121 ± .004 | .202 ± .003 | | .153 ± .004 | .100 ± .029 | | .28
paper: 1DCNN-LSTM                        | .343 ± .097 | .137 ± .006 | .240 ± .008 | | .153 ± .004 | .110 ± .018 | | .12
paper: iTransformerLite                  | .553 ± .066 | .113 ± .006 | .330 ± .002 | | .133 ± .003 | .180 ± .012 | | .18
paper: ScentFormerStyle                  | .578 ± .028 | .123 ± .002 | .430 ± .002 | | .148 ± .004 | .160 ± .008 | | .20
paper: ADR-GNN                           | .510 ± .046 | .124 ± .005 | .380 ± .004 | | .143 ± .004 | .190 ± .012 | | .15
paper: UnMixNet                          | .633 ± .025 | .088 ± .001 | .635 ± .010 | | .101 ± .002 | .390 ± .007 | | .15
SmellNet: LSTM                           | .580        | .040        | .465        | | .115        | .119        | |
SmellNet: ScentFormer                    | .562        | .040        | .503        | | .111        | .160        | |
SmellNet: ScentFormer with GC-MS spectra | .633        |             |             | |             |             | |
LDAC-Net                                 | .682 ± .016 | .050 ± .001 | .505 ± .020 | |             |             | |
"""
"""What others report: table `exp1_smellnet` of the paper, arXiv 2506.00239, arXiv 2608.25646."""


def overview_part(record: dict, split: str) -> list[str]:
    """The table for `official` or `clean`, per window; per recording where a model has no windows."""
    by_key = {(r["protocol"], r["model"], r["metric"], r["level"]): r for r in record["rows"]}

    def row(protocol: str, model: str, metric: str) -> dict | None:
        return by_key.get((protocol, model, metric, "window")) or by_key.get((protocol, model, metric, "recording"))

    lines = []
    seen, unseen = (f"smellnet-mixture:{split}:{part}" for part in ("seen", "unseen"))
    for model in _MODELS:
        near, far = row(seen, model, "MAE"), row(unseen, model, "MAE")
        cells = [
            row("smellnet-base:official", model, "Acc@1"),
            *(row(place, model, metric) for place in (seen, unseen) for metric in ("MAE", "acc@0.1", "cosine")),
        ]
        lines.append([model, *map(scored, cells), f"{far['mean'] / near['mean'] - 1:.2f}" if near and far else ""])
    reported = [[cell.strip() for cell in line.split("|")] for line in _REPORTED.strip().splitlines()]
    return table(["model", *_COLUMNS], [*lines, *(reported if split == "official" else [])])


_WRONG = ", wrong labels"


def session_part(record: dict) -> list[str]:
    """Models in rows, numbers of references in columns."""
    by_key = {(r["model"], r["split"]): r for r in record["rows"] if r["metric"] == "MAE"}
    splits = [s for s in dict.fromkeys(split for _, split in by_key) if not s.endswith(_WRONG)]
    models = dict.fromkeys(model for model, _ in by_key)
    rows = [[model, *(_session_cell(by_key, model, split) for split in splits)] for model in models]
    return [*table(["model, and what it does with references", *splits], rows), "", made_by(record)]


def _session_cell(by_key: dict, model: str, split: str) -> str:
    row, wrong = by_key.get((model, split)), by_key.get((model, split + _WRONG))
    if row is None:
        return ""
    spread = f" ± {row['sd']:.3f}" if row["seeds"] > 1 else f" [{row['lo']:.3f}, {row['hi']:.3f}]"
    return f"{row['mean']:.3f}{spread}" + (f" ({wrong['mean']:.3f})" if wrong else "")
