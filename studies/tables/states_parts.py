"""Tables of `python -m studies states`: recipes, trajectories and residuals of every model, in every world."""

__all__ = ["states_part"]

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
    found = {key: row for key, row in rows.items() if key[0].startswith(f"states:{world}:")}
    wanted = {(f"states:{world}:{split}", level, metric) for split, level, metric in columns}
    models = list(dict.fromkeys(key[3] for key in found if key[:3] in wanted))
    if not models:
        return [f"{_TITLES[world]}: not in this run.", "", _source(record)]
    best = {column: _best(found, world, column, models) for column in columns}
    lines = ["| model | " + " | ".join(titles) + " |", "|" + "---|" * (1 + len(titles))]
    for model in models:
        bold = {column: None if model == _FLOOR else best[column] for column in columns}
        cells = [_cell(found.get(_key(world, column, model)), bold[column], i == 0) for i, column in enumerate(columns)]
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    return [*lines, "", _count(record, found, world), _source(record)]


def _key(world: str, column: tuple[str, str, str], model: str) -> tuple[str, str, str, str]:
    split, level, metric = column
    return (f"states:{world}:{split}", level, metric, model)


def _best(found: dict, world: str, column: tuple[str, str, str], models: list[str]) -> float | None:
    rows = [found.get(_key(world, column, model)) for model in models if model != _FLOOR]
    means = [row["mean"] for row in rows if row is not None]
    return (max if column[2] in _HIGH else min)(means, default=None)


def _cell(row: dict | None, best: float | None, interval: bool) -> str:
    if row is None:
        return ""
    mean = f"**{_number(row['mean'])}**" if row["mean"] == best else _number(row["mean"])
    spread = f" ± {_number(row['sd'])}" if row["seeds"] > 1 and row["sd"] > 0 else ""
    return mean + spread + (f" [{_number(row['lo'])}, {_number(row['hi'])}]" if interval else "")


def _number(value: float) -> str:
    """Three decimals; a residual at rounding by its power of ten."""
    return f"{value:.3f}" if value == 0 or value >= 5e-4 else f"{value:.0e}"


def _count(record: dict, found: dict, world: str) -> str:
    told = record["worlds"][world]
    tests = ", ".join(f"{n} {protocol.rpartition(':')[2]}" for protocol, n in told["recordings"].items())
    supports = next((r["n"] for key, r in found.items() if key[0].endswith(":unseen")), 0)
    seeds = {row["model"]: row["seeds"] for row in found.values() if row["model"] in _NETWORKS}
    told_seeds = ", ".join(f"{model} {count}" for model, count in seeds.items()) or "none"
    return (
        f"Test recordings: {tests} ({supports} supports); training: {told['training']}. Seeds: {told_seeds}. "
        f"Intervals: 95 %, over recordings (seen) or supports (unseen)."
    )


def _source(record: dict) -> str:
    missing = f" Not finished: {', '.join(record['missing'])}." if record.get("missing") else ""
    quick = " A quick run: it shows that everything works, not how well." if record.get("quick") else ""
    return f"`{record['command']}`, commit {record['commit']}, {record['date']}.{missing}{quick}"
