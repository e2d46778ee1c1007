"""Tables of the simulated recordings and of the calibrated simulator."""

from collections.abc import Iterable
from typing import Any

from studies.tables.markdown import run_notes, table

__all__ = ["calibrate_part", "simulated_part"]

_PLACES = [(f"{data}:{split}", title) for data, title in (("simulated", "4 sensors"), ("simulated-8", "8 sensors"))
           for split in ("seen", "unseen")]  # fmt: skip
_BOUND = "Cramér–Rao"


def simulated_part(record: dict, part: str) -> list[str]:
    """`scores`, `coherence`, `states` or `coefficients`."""
    made = {"scores": _scores, "coherence": _coherence, "states": _states, "coefficients": _coefficients}
    return [*made[part](record), "", *run_notes(record)]


def _scores(record: dict) -> list[str]:
    """MAE per recording on every split, best of a column in bold; bounds below."""
    by_key = {
        (r["model"], r["protocol"]): r for r in record["rows"] if (r["metric"], r["level"]) == ("MAE", "recording")
    }
    models = list(dict.fromkeys(model for model, _ in by_key))
    best = {
        place: min((r["mean"] for (m, p), r in by_key.items() if p == place and _BOUND not in m), default=None)
        for place, _ in _PLACES
    }
    rows = [
        [model, *(_score(by_key.get((model, place)), best[place]) for place, _ in _PLACES)]
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
    clean = {entry["name"]: entry for entry in record.get("recovery from clean data", {}).get("combinations", ())}
    rows = []
    for name in dict.fromkeys([*clean, *trained]):
        rows.append([name, *_recovered(clean.get(name)), *_learned(trained.get(name))])
    if not rows:
        return ["Coefficients were not compared in this run."]
    columns = ["coefficient", "determined by clean recordings", "largest error there"]
    lines = table([*columns, "trained: median error", "largest"], rows)
    untold = record.get("recovery from clean data", {}).get("untold directions")
    return lines if untold is None else [*lines, "", f"Directions that no recording determines: {untold}."]


def _recovered(entry: dict | None) -> list[str]:
    if entry is None:
        return ["", ""]
    worst = entry["worst identifiable error"]
    return [f"{entry['identifiable']} of {entry['entries']}", "–" if worst is None else f"{100 * worst:.2g} %"]


def _learned(error: dict | None) -> list[str]:
    return ["", ""] if error is None else [f"{100 * error[key]:.2g} %" for key in ("median", "largest")]


_WAYS = {
    "none": "recipe alone",
    "session": "levels of the session, from training",
    "references": "levels from 3 references",
    "all": "all nuisances, as fitted",
}


def calibrate_part(record: dict, part: str) -> list[str]:
    """`known`, `explained`, `substances`, `determined` or `stages`."""
    made = {
        "known": _known,
        "explained": _explained,
        "substances": _substances,
        "determined": _determined,
        "stages": _stages,
    }
    if ("known" if part == "known" else "smellnet") not in record:
        return [f"Not measured yet; it is made by {record['command']}."]
    return [*made[part](record), "", _made_by(record, record["known"][-1] if part == "known" else record["smellnet"])]


def _known(record: dict) -> list[str]:
    """Errors of what is identifiable, the levels of noise side by side."""
    runs = record["known"]
    rows = []
    for groups in zip(*(entry["groups"] for entry in runs), strict=True):
        cells = [cell for group in groups for cell in _cells(group)]
        rows.append([groups[0]["group"], str(groups[0]["entries"]), *cells])
    columns = [f"{what}, noise {entry['noise']:g}" for entry in runs for what in ("se (log)", "identifiable", "error")]
    notes = [
        f"Noise {entry['noise']:g}: {entry['identifiable']} identifiable, largest error "
        f"{100 * entry['worst identifiable error']:.1f} %; {100 * entry['within three se']:.0f} % of all errors lie "
        "within three standard errors."
        for entry in runs
    ]
    return [*table(["coefficient", "entries", *columns], rows), "", " ".join(notes)]


def _cells(group: dict) -> list[str]:
    worst = group["worst identifiable error"]
    return [
        f"{group['median se']:.3f}",
        str(group["identifiable"]),
        "" if worst is None else f"{100 * worst:.1f} %",
    ]


def _explained(record: dict) -> list[str]:
    """Variance explained by every law."""
    calibration = record["smellnet"]
    rows = [
        [
            entry["where"],
            _WAYS[entry["levels"]],
            f"**{entry['law']}**" if entry["law"] == "physics" else entry["law"],
            str(entry["recordings"]),
            f"{entry['total']:.3f} [{entry['lo']:.3f}, {entry['hi']:.3f}]",
            *(f"{value:.3f}" for value in entry["sensors"]),
        ]
        for entry in sorted(calibration["scores"], key=_order)
    ]
    return table(["where", "levels", "law", "recordings", "all sensors", *calibration["channels"]], rows)


def _substances(record: dict) -> list[str]:
    """Variance explained by the recipe alone, by the most plentiful substance."""
    calibration = record["smellnet"]
    kept = {(s["law"], s["where"]): s for s in calibration["scores"] if s["levels"] == "none"}
    columns = [(law, where) for where in ("in sample", "test") for law in ("physics", "linear") if (law, where) in kept]
    rows = [
        [food, *(_number(kept[column]["substances"][i]) for column in columns)]
        for i, food in enumerate(calibration["components"])
    ]
    return table(["most plentiful", *(f"{law}, {where}" for law, where in columns)], rows)


def _determined(record: dict) -> list[str]:
    """What SmellNet determines."""
    rows = [
        [
            entry["group"],
            *(str(entry[key]) for key in ("entries", "determined", "weak", "not determined")),
            f"{entry['se']:.2f}",
            f"{entry['before']:.2f}",
        ]
        for entry in record["smellnet"]["groups"]
    ]
    columns = ["coefficient", "entries", "determined", "weak", "not determined", "median se (log)", "before"]
    untold = [f"- {text}" for text in record["smellnet"]["untold"][:6]]
    return [
        *table(columns, rows),
        "",
        "Directions that the recordings hardly narrow, the least determined first:",
        "",
        *untold,
    ]


def _stages(record: dict) -> list[str]:
    rows = [
        [entry["stage"], str(entry["recordings"]), str(entry["iterations"]), f"{entry['rms']:.3f}"]
        for entry in record["smellnet"]["stages"]
    ]
    calibration = record["smellnet"]
    inside = zip(calibration["channels"], calibration["within"], strict=True)
    notes = ", ".join(f"{100 * value:.1f} % of {name}" for name, value in inside)
    return [
        *table(["stage", "recordings", "steps", "rms of what is left [sd]"], rows),
        "",
        f"Of the variance of these {calibration['recordings']} recordings {notes} lies within a recording.",
    ]


def _order(score: dict[str, Any]) -> tuple[int, ...]:
    places = ("in sample", "test", "new sessions", "new sessions, rest")
    laws = ("physics", "linear", "pure mean", "constant")
    return places.index(score["where"]), list(_WAYS).index(score["levels"]), laws.index(score["law"])


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _made_by(record: dict, part: dict) -> str:
    """The parts of the file may be of different days."""
    return f"Made by {record['command']}, commit {part['commit']}, {record['date']}, {record['machine']['processor']}."
