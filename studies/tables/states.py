"""Tables of the ablation and of the states beside simulators, with the paper's numbers beside them."""

from studies.harness.predictions import committee
from studies.harness.variants import ABLATIONS, UNMIXNET
from studies.tables.markdown import run_notes_by_study, table

__all__ = ["ablation_part", "states_part"]

PLACES = {
    "smellnet-mixture:leave-support-out": "leave-support-out",
    "smellnet-mixture:clean:unseen": "clean unseen",
    "high-coupling:seen": "high coupling, seen",
    "high-coupling:unseen": "high coupling, unseen",
}
_CLOSURE = ("flux RMSE", "concentration RMSE", "MS residual", "MS residual, true D", "mass error", "net flux")
_PAPER = (
    ("full UnMixNet", ".101", ".390", ".083", ".054", ".017", ".006"),
    ("fick", ".124", ".270", ".121", ".112", ".096", ".009"),
    ("unconstrained flux", ".129", ".245", ".116", ".128", ".118", ".027"),
    ("linear readout", ".119", ".290", ".106", ".061", ".020", ".008"),
    ("no fingerprint loss", ".132", ".230", ".112", ".059", ".018", ".007"),
)
"""Table `ablation_compact` of the paper; means over ten seeds."""


def ablation_part(record: dict, part: str) -> list[str]:
    """`scores`, `closure`, `coupling`, or `paper`."""
    made = {"scores": _scores, "closure": _closure, "coupling": _coupling, "paper": _paper}
    about = {**record, "missing": []} if part == "coupling" else record
    return [*made[part](record), "", *([] if part == "paper" else run_notes_by_study(about))]


def _scores(record: dict) -> list[str]:
    """MAE and TopK hit per recording on every place, trainings one by one; best MAE among UnMixNet and its ablations in
    bold."""
    by_key = {(r["model"], r["protocol"], r["metric"]): r for r in record["rows"] if r["level"] == "recording"}
    ours = [variant.name for variant in (UNMIXNET, *ABLATIONS)]
    together = {committee(name) for name in ours}
    models = [
        m for m in dict.fromkeys(m for m, p, metric in by_key if metric == "MAE" and p in PLACES) if m not in together
    ]
    places = [place for place in PLACES if any(p == place and m == "MAE" for _, p, m in by_key)]
    best = {
        place: min((by_key[m, place, "MAE"]["mean"] for m in ours if (m, place, "MAE") in by_key), default=None)
        for place in places
    }
    lines = [
        [
            model,
            *(
                _number(by_key.get((model, place, metric)), best[place] if metric == "MAE" else None)
                for place in places
                for metric in ("MAE", "TopK hit")
            ),
        ]
        for model in models
    ]
    columns = [f"{PLACES[place]}: {metric}" for place in places for metric in ("MAE", "TopK hit")]
    lacking = [title for place, title in PLACES.items() if place not in places]
    notes = [f"Not run yet: {', '.join(lacking)}."] if lacking else []
    for study, names in record.get("idle", {}).items():
        notes += [f"{', '.join(names)}: what the recipe of {study} does anyway, so not run there."] if names else []
    return [*table(["model", *columns], lines), "", *notes]


def _closure(record: dict) -> list[str]:
    """Diagnostics of rollouts; on real recordings of UnMixNet alone."""
    by_key = {(r["protocol"], r["model"], r["metric"]): r for r in record["rows"] if r["metric"] in _CLOSURE}
    lines = []
    for protocol, model in dict.fromkeys((p, m) for p, m, _ in by_key):
        if protocol in PLACES and protocol != "high-coupling:seen":
            cells = [_small(by_key.get((protocol, model, metric))) for metric in _CLOSURE]
            lines.append([PLACES[protocol], model, *cells])
    return table(["recordings", "model", *_CLOSURE], lines)


def _coupling(record: dict) -> list[str]:
    """Departures of the laws from Maxwell–Stefan at chosen fractions."""
    rows = record["coupling"]
    fractions = [f for f in dict.fromkeys(row["fraction"] for row in rows) if f in (1e-6, 1e-4, 1e-2, 0.1, 0.3, 0.5)]
    lines = []
    for case, law in dict.fromkeys((row["case"], row["law"]) for row in rows):
        if law == "maxwell–stefan":
            continue
        mine = {row["fraction"]: row for row in rows if (row["case"], row["law"]) == (case, law)}
        lines.append([case, law, *(f"{_power(mine[f]['signal'])} / {_power(mine[f]['flux'])}" for f in fractions)])
    return table(["case", "in place of Maxwell–Stefan", *(f"{f:g}" for f in fractions)], lines)


def _power(value: float) -> str:
    return f"{value:.0e}" if value else "0"


def _paper(_: dict) -> list[str]:
    columns = ["variant", "SmellNet unseen MAE", "TopK@0.1", "high-coupling MAE", "flux RMSE", "MS residual"]
    return table([*columns, "mass error"], [list(row) for row in _PAPER])


def _number(row: dict | None, best: float | None) -> str:
    if row is None:
        return ""
    spread = f" ± {row['sd']:.3f}" if row["seeds"] > 1 else ""
    mean = f"**{row['mean']:.3f}**" if row["mean"] == best else f"{row['mean']:.3f}"
    return f"{mean}{spread}"


def _small(row: dict | None) -> str:
    """A number that may be rounding."""
    if row is None:
        return ""
    spread = f" ± {row['sd']:.3f}" if row["seeds"] > 1 else ""
    return f"{row['mean']:.0e}" if row["mean"] < 1e-3 else f"{row['mean']:.3f}{spread}"


_RECIPE = ("MAE", "support F1@0.1", "TopK hit", "cosine")
_STATES = ("RMSE C", "RMSE J", "RMSE θ", "RMSE M", "MS residual", "mass error")
_HIGH = ("support F1@0.1", "TopK hit", "cosine", "acc@0.1")
_NETWORKS = ("unmixnet", "adr-gnn", "mlp", "cnn-lstm", "itransformer", "scentformer")
_FLOOR = "reference"
_TITLES = {"real": "measured traces", "frozen": "the frozen simulator's traces", "sips": "the Sips simulator's traces"}


def states_part(record: dict, part: str) -> list[str]:
    """`WORLD/recipes` (seen and unseen beside each other), `WORLD/seen` or `WORLD/unseen` for the trajectories."""
    world, _, kind = part.partition("/")
    if kind == "recipes":
        columns = [(split, "recording", metric) for split in ("seen", "unseen") for metric in _RECIPE]
        titles = [f"{split}: {metric}" for split, _, metric in columns]
    else:
        columns = [(kind, "trajectory", metric) for metric in _STATES]
        titles = [*_STATES]
    rows = {(r["protocol"], r["level"], r["metric"], r["model"]): r for r in record["rows"]}
    by_key = {key: row for key, row in rows.items() if key[0].startswith(f"states:{world}:")}
    wanted = {(f"states:{world}:{split}", level, metric) for split, level, metric in columns}
    models = list(dict.fromkeys(key[3] for key in by_key if key[:3] in wanted))
    if not models:
        return [f"{_TITLES[world]}: not in this run.", "", _source(record)]
    best = {column: _best(by_key, world, column, models) for column in columns}
    lines = ["| model | " + " | ".join(titles) + " |", "|" + "---|" * (1 + len(titles))]
    for model in models:
        bold = {column: None if model == _FLOOR else best[column] for column in columns}
        cells = [
            _cell(by_key.get(_key(world, column, model)), bold[column], i == 0) for i, column in enumerate(columns)
        ]
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    return [*lines, "", _count(record, by_key, world), _source(record)]


def _key(world: str, column: tuple[str, str, str], model: str) -> tuple[str, str, str, str]:
    split, level, metric = column
    return (f"states:{world}:{split}", level, metric, model)


def _best(by_key: dict, world: str, column: tuple[str, str, str], models: list[str]) -> float | None:
    rows = [by_key.get(_key(world, column, model)) for model in models if model != _FLOOR]
    means = [row["mean"] for row in rows if row is not None]
    return (max if column[2] in _HIGH else min)(means, default=None)


def _cell(row: dict | None, best: float | None, interval: bool) -> str:
    if row is None:
        return ""
    mean = f"**{_digits(row['mean'])}**" if row["mean"] == best else _digits(row["mean"])
    spread = f" ± {_digits(row['sd'])}" if row["seeds"] > 1 and row["sd"] > 0 else ""
    return mean + spread + (f" [{_digits(row['lo'])}, {_digits(row['hi'])}]" if interval else "")


def _digits(value: float) -> str:
    """Three decimals; a residual at rounding by its power of ten."""
    return f"{value:.3f}" if value == 0 or value >= 5e-4 else f"{value:.0e}"


def _count(record: dict, by_key: dict, world: str) -> str:
    facts = record["worlds"][world]
    tests = ", ".join(f"{n} {protocol.rpartition(':')[2]}" for protocol, n in facts["recordings"].items())
    supports = next((r["n"] for key, r in by_key.items() if key[0].endswith(":unseen")), 0)
    seeds = {row["model"]: row["seeds"] for row in by_key.values() if row["model"] in _NETWORKS}
    told_seeds = ", ".join(f"{model} {count}" for model, count in seeds.items()) or "none"
    return (
        f"Test recordings: {tests} ({supports} supports); training: {facts['training']}. Seeds: {told_seeds}. "
        f"Intervals: 95 %, over recordings (seen) or supports (unseen)."
    )


def _source(record: dict) -> str:
    missing = f" Not finished: {', '.join(record['missing'])}." if record.get("missing") else ""
    quick = " A quick run: it shows that everything works, not how well." if record.get("quick") else ""
    return f"`{record['command']}`, commit {record['commit']}, {record['date']}.{missing}{quick}"
