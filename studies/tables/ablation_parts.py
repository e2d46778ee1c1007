"""Tables of the ablation and of the efficiency, with the paper's numbers beside them."""

from studies.harness.pairs import committee
from studies.harness.variants import ABLATIONS, UNMIXNET
from studies.tables.markdown import made_by, table

__all__ = ["ablation_part", "efficiency_part"]

_PLACES = {
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
_PAPER_COSTS = (
    ("MLP", ".42", "9.8", "22.3", "533.3", ".28"),
    ("1DCNN-LSTM", "1.18", "25.4", "78.6", "179.8", ".62"),
    ("iTransformerLite", "2.05", "28.6", "103.2", "125.5", "1.23"),
    ("ScentFormerStyle", "2.80", "30.9", "132.5", "101.6", "1.42"),
    ("ADR-GNN", "2.65", "51.8", "232.5", "54.7", "1.84"),
    ("direct PDE inverse", "–", "–", "920.0", "1.1", "2.80"),
    ("UnMixNet", "2.95", "52.5", "187.7", "67.4", "1.46"),
)
"""Table `efficiency` of the paper; one RTX 2080 Ti."""


def ablation_part(record: dict, part: str) -> list[str]:
    """`scores`, `closure`, `coupling`, or `paper`."""
    made = {"scores": _scores, "closure": _closure, "coupling": _coupling, "paper": _paper}
    about = {**record, "missing": []} if part == "coupling" else record
    return [*made[part](record), "", *([] if part == "paper" else _source(about))]


def _scores(record: dict) -> list[str]:
    """MAE and TopK hit per recording on every place, trainings one by one; best MAE among UnMixNet and its ablations in
    bold."""
    found = {(r["model"], r["protocol"], r["metric"]): r for r in record["rows"] if r["level"] == "recording"}
    ours = [variant.name for variant in (UNMIXNET, *ABLATIONS)]
    together = {committee(name) for name in ours}
    models = [
        m for m in dict.fromkeys(m for m, p, metric in found if metric == "MAE" and p in _PLACES) if m not in together
    ]
    places = [place for place in _PLACES if any(p == place and m == "MAE" for _, p, m in found)]
    best = {
        place: min((found[m, place, "MAE"]["mean"] for m in ours if (m, place, "MAE") in found), default=None)
        for place in places
    }
    lines = [
        [
            model,
            *(
                _number(found.get((model, place, metric)), best[place] if metric == "MAE" else None)
                for place in places
                for metric in ("MAE", "TopK hit")
            ),
        ]
        for model in models
    ]
    columns = [f"{_PLACES[place]}: {metric}" for place in places for metric in ("MAE", "TopK hit")]
    lacking = [title for place, title in _PLACES.items() if place not in places]
    said = [f"Not run yet: {', '.join(lacking)}."] if lacking else []
    for study, names in record.get("idle", {}).items():
        said += [f"{', '.join(names)}: what the recipe of {study} does anyway, so not run there."] if names else []
    return [*table(["model", *columns], lines), "", *said]


def _closure(record: dict) -> list[str]:
    """Diagnostics of rollouts; on real recordings of UnMixNet alone."""
    found = {(r["protocol"], r["model"], r["metric"]): r for r in record["rows"] if r["metric"] in _CLOSURE}
    lines = []
    for protocol, model in dict.fromkeys((p, m) for p, m, _ in found):
        if protocol in _PLACES and protocol != "high-coupling:seen":
            cells = [_small(found.get((protocol, model, metric))) for metric in _CLOSURE]
            lines.append([_PLACES[protocol], model, *cells])
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


def efficiency_part(record: dict, part: str) -> list[str]:
    """`costs`, `ratios`, `inverse` or `paper`."""
    made = {"costs": _costs, "ratios": _ratios, "inverse": _inverse, "paper": _paper_costs}
    return [*made[part](record), "", *([] if part == "paper" else _source(record))]


def _costs(record: dict) -> list[str]:
    lines = [
        [
            _name(row),
            _plain(row["parameters"], "{:,}"),
            _plain(row["epoch_s"], "{:.3g}"),
            _amount(row["latency_ms"], 3),
            _amount(row["throughput"], 2),
            _plain(row["buffers_MB"], "{:.3g}"),
            f"{row['resident_MB']:.0f}",
        ]
        for row in record["rows"]
    ]
    columns = ["model", "parameters", "s per epoch", "ms, batch 1", "windows/s, batch 32", "buffers, MB"]
    return table([*columns, "resident, MB"], lines)


def _ratios(record: dict) -> list[str]:
    keys = {"epoch_s": "time per epoch", "latency_ms": "latency", "throughput": "throughput", "buffers_MB": "buffers"}
    lines = [
        [_name(row), *(_amount(row[to][key], 2) for to in ("over_unmixnet", "over_adr_gnn") for key in keys)]
        for row in record["rows"]
    ]
    first, second = "over unmixnet (small), answer", "over ADR-GNN of its size"
    return table(["model", *(f"{title}, {to}" for to in (first, second) for title in keys.values())], lines)


def _inverse(record: dict) -> list[str]:
    """The direct inverse beside UnMixNet: throughput and error."""
    rows = {(row["name"], row["size"]): row for row in record["rows"]}
    direct, lines = rows["direct inverse", "small"], []
    for name in ("unmixnet, answer", "unmixnet, answer and states"):
        ratio = rows[name, "small"]["throughput"] / direct["throughput"]
        lines.append([name, f"{ratio:,.0f}×", *_errors(record, "unmixnet")])
    lines.append([f"direct inverse ({direct['detail']})", "1×", *_errors(record, "direct inverse")])
    protocols = _protocols(record)
    return table(["model", "throughput over the direct inverse", *(f"MAE, {_PLACES[p]}" for p in protocols)], lines)


def _protocols(record: dict) -> list[str]:
    known = {protocol for errors in record["errors"].values() for protocol in errors}
    return [protocol for protocol in _PLACES if protocol in known]


def _errors(record: dict, model: str) -> list[str]:
    return [_plain(record["errors"].get(model, {}).get(p), "{:.3f}") for p in _protocols(record)]


def _paper_costs(_: dict) -> list[str]:
    columns = ["model", "parameters, M", "s per epoch", "ms, batch 1", "samples/s, batch 32", "memory, GB"]
    return table(columns, [list(row) for row in _PAPER_COSTS])


def _name(row: dict) -> str:
    return f"{row['name']} (`{row['size']}`)" if row["size"] and row["kind"] != "inverse" else row["name"]


def _plain(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)


def _amount(value: float | None, digits: int) -> str:
    """Whole from 100 on, where fewer digits would be written as a power of ten."""
    return _plain(value, "{:,.0f}" if value and value >= 100 else f"{{:.{digits}g}}")


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


def _source(record: dict) -> list[str]:
    """Where it comes from, and what is to be known before it is believed."""
    lines = [made_by(record)]
    if record.get("quick"):
        lines.append("A quick run: it shows that everything works, not how well.")
    for study in dict.fromkeys(name.split(": ")[0] for name in record.get("missing", ())):
        models = [name.split(": ")[1] for name in record["missing"] if name.split(": ")[0] == study]
        lines.append(f"Not finished on {study}: {', '.join(models)}.")
    load = record.get("load_before", 0.0)
    if load > record["machine"]["cores"] / 2:
        lines.append(f"The machine was busy (load {load:g}): believe ratios, not times.")
    return lines
