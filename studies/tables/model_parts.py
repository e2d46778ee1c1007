"""Tables of the studies: every model on simulated recordings and on SmellNet, a training step, and novelty."""

from collections.abc import Iterable

from studies.harness.pairs import OWN
from studies.tables.markdown import made_by, scored, table
from studies.tables.overview_parts import overview_part

__all__ = ["bundles_part", "novelty_part", "simulated_part", "smellnet_part", "training_part"]

_PLACES = [(f"{data}:{split}", title) for data, title in (("simulated", "4 sensors"), ("simulated-8", "8 sensors"))
           for split in ("seen", "unseen")]  # fmt: skip
_BOUND = "Cramér–Rao"
_LEVELS = ("recording", "window")
_STUDIES = {"smellnet-base:official": "base", "smellnet-base:six-fold": "base-six-fold"}
_METRICS = {"MAE": ("MAE", "acc@0.1", "TopK hit", "support F1@0.1", "cosine"), "Acc@1": ("Acc@1", "Acc@5", "macro-F1")}


def simulated_part(record: dict, part: str) -> list[str]:
    """`scores`, `coherence`, `states` or `coefficients`."""
    made = {"scores": _scores, "coherence": _coherence, "states": _states, "coefficients": _coefficients}
    return [*made[part](record), "", *_source(record)]


def _scores(record: dict) -> list[str]:
    """MAE per recording on every split, best of a column in bold; bounds below."""
    found = {
        (r["model"], r["protocol"]): r for r in record["rows"] if (r["metric"], r["level"]) == ("MAE", "recording")
    }
    models = list(dict.fromkeys(model for model, _ in found))
    best = {
        place: min((r["mean"] for (m, p), r in found.items() if p == place and _BOUND not in m), default=None)
        for place, _ in _PLACES
    }
    rows = [
        [model, *(_score(found.get((model, place)), best[place]) for place, _ in _PLACES)]
        for model in sorted(models, key=lambda name: _BOUND in name)
    ]
    columns = [f"{title}, {place.rpartition(':')[2]}" for place, title in _PLACES]
    return table(["model", *columns], rows)


def _score(row: dict | None, best: float | None = None) -> str:
    if row is None:
        return ""
    spread = f" ± {row['sd']:.4f}" if row["seeds"] > 1 else ""
    mean = f"**{row['mean']:.4f}**" if row["mean"] == best else f"{row['mean']:.4f}"
    return f"{mean}{spread} [{row['lo']:.4f}, {row['hi']:.4f}]"


def _coherence(record: dict) -> list[str]:
    rows = []
    for name, study in record["studies"].items():
        c = study["coherence"]
        worst = ", ".join(f"{first}–{second} ({mu:.2f})" for first, second, mu in c["confusable"][:3])
        values = [f"{c['mu_raw']:.4f}", f"{c['mu_whitened']:.4f}", f"{c['guaranteed']} component(s)", worst]
        rows.append([name, *values])
    return table(["data", "coherence, raw", "whitened", "Theorem 1 guarantees", "most alike"], rows)


def _states(record: dict) -> list[str]:
    """R², the mean over seeds, as inferred and with one factor per substance."""
    rows = []
    for study in record["studies"].values():
        scores = [score for seed in study["unmixnet"] for score in seed["states R²"]]
        for protocol in dict.fromkeys(score["protocol"] for score in scores):
            mine = [score for score in scores if score["protocol"] == protocol]
            cells = [_r2(s for s in mine if s["quantity"] == q) for q in ("concentration", "flux", "coverage")]
            rows.append([protocol, *cells])
    if not rows:
        return ["States were not inferred in this run."]
    columns = ["protocol", *(f"R² of {q}, as inferred (one factor per substance)" for q in ("c", "J", "θ"))]
    return table(columns, rows)


def _r2(scores: Iterable[dict]) -> str:
    scores = list(scores)
    raw, scaled = (sum(score[key] for score in scores) / len(scores) for key in ("raw", "scaled"))
    return f"{raw:.3f} ({scaled:.3f})"


def _coefficients(record: dict) -> list[str]:
    """What a fit to clean data recovers, beside what training found on noisy data with coarser cells."""
    trained: dict[str, dict] = {}
    for study in record["studies"].values():
        for seed in study["unmixnet"][:1]:
            trained = trained or {error["name"]: error for error in seed["coefficients"]}
    clean = {one["name"]: one for one in record.get("recovery from clean data", {}).get("combinations", ())}
    rows = []
    for name in dict.fromkeys([*clean, *trained]):
        rows.append([name, *_recovered(clean.get(name)), *_learned(trained.get(name))])
    if not rows:
        return ["Coefficients were not compared in this run."]
    columns = ["coefficient", "told by clean recordings", "largest error there"]
    lines = table([*columns, "trained: median error", "largest"], rows)
    untold = record.get("recovery from clean data", {}).get("untold directions")
    return lines if untold is None else [*lines, "", f"Directions that no recording tells: {untold}."]


def _recovered(one: dict | None) -> list[str]:
    if one is None:
        return ["", ""]
    worst = one["worst identifiable error"]
    return [f"{one['identifiable']} of {one['entries']}", "–" if worst is None else f"{100 * worst:.2g} %"]


def _learned(error: dict | None) -> list[str]:
    return ["", ""] if error is None else [f"{100 * error[key]:.2g} %" for key in ("median", "largest")]


def smellnet_part(record: dict, part: str) -> list[str]:
    """One protocol: every model, per recording and per window; nulls and peers first. Or `pairs`, `overview:SPLIT`."""
    if part == "pairs":
        return [*_pairs(record), "", *_source({**record, "missing": []})]
    if part.startswith("overview:"):
        return [*overview_part(record, part.partition(":")[2]), "", *_source({**record, "missing": []})]
    rows = [row for row in record["rows"] if row["protocol"] == part]
    if not rows:
        return [f"{part}: not in this run.", "", *_source({**record, "missing": []})]
    study = _STUDIES.get(part) or part.split(":")[1]
    record = {**record, "missing": [m.split(": ")[1] for m in record.get("missing", ()) if m.split(": ")[0] == study]}
    found = {(r["model"], r["metric"], r["level"]): r for r in rows}
    metrics = next(names for first, names in _METRICS.items() if any(r["metric"] == first for r in rows))
    columns = [(metric, level) for metric in metrics for level in _LEVELS]
    lines = [
        [model, *(scored(found.get((model, *column)), interval=i == 0) for i, column in enumerate(columns))]
        for model in dict.fromkeys(r["model"] for r in rows)
    ]
    notes = [f"{'; '.join(models)}: {note}." for note, models in _notes(record.get("facts", []), study).items()]
    return [*table(["model", *(", ".join(column) for column in columns)], lines), "", *notes, *_source(record)]


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
            lines.append([*about, *names, *_told(compared.get((protocol, level, model, best)))])
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


def _told(pair: dict | None) -> list[str]:
    if pair is None:
        return ["not run together", "", ""]
    return [f"{pair['mean']:+.3f} [{pair['lo']:+.3f}, {pair['hi']:+.3f}]", f"{pair['p']:.3f}", str(pair["n"])]


def _notes(facts: list[dict], study: str) -> dict[str, list[str]]:
    """What is to be known of models, and of which."""
    found: dict[str, list[str]] = {}
    for fact in facts:
        if fact["study"] == study and fact["note"]:
            found.setdefault(fact["note"], []).append(fact["model"])
    return found


def training_part(record: dict) -> list[str]:
    """Where the time of a training step goes."""
    problem, seconds, memory = record["problem"], record["seconds"], record["memory_bytes"]
    rows = [[name, f"{1e3 * seconds[name]:.3g}", f"{memory[name] / 1e6:.3g}"] for name in seconds]
    shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in record["shares"].items())
    what = f"batch {problem['batch']}, {problem['odorants']} odorants, {problem['window_s']:g} s, `{problem['size']}`"
    return [
        *table([what, "ms", "MB"], rows),
        "",
        f"Shares of a step: {shares}. The closed loop costs {record['closed_loop_over_encoder']:.2f} times the same "
        "step without the solver.",
        *_source(record),
    ]


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
    return [*table(columns, rows), "", *_source(record)]


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
    return [*table(columns, rows), "", *_source(record)]


def _source(record: dict) -> list[str]:
    """Where it comes from, and what is to be known before it is believed."""
    lines = [made_by(record)]
    if record.get("quick"):
        lines.append("A quick run of few epochs: it shows that everything works, not how well.")
    if record.get("missing"):
        lines.append(f"Not finished: {', '.join(record['missing'])}.")
    lines += [
        f"Failed: {f['study']}, {f['model']}, seed {f['seed']}: {f['problem']}" for f in record.get("failures", ())
    ]
    return lines
