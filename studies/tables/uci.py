"""Tables of the known gases: the parts of a page between `<!-- uci NAME -->` and `<!-- /uci -->`."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

__all__ = ["with_uci_tables"]

_PLACE = re.compile(r"(<!-- uci (.+?) -->\n).*?(<!-- /uci -->)", re.DOTALL)
Record = Mapping[str, Any]
_STATE = ("Pearson", "Spearman", "R²", "slope", "CCC", "transition residual", "R² with the chamber")
_SUPPORT = ("Gas ID Acc", "support F1", "Norm. MAE", "R²", "forecast RMSE")
_GASES = ("methane", "ethylene")


def with_uci_tables(page: str, record: Record) -> str:
    """The page with every table made anew; a name is a kind of table and what it is about."""

    def table(match: re.Match[str]) -> str:
        kind, _, about = match[2].partition(" ")
        return match[1] + "\n".join(_KINDS[kind](record, about)) + "\n" + match[3]

    return _PLACE.sub(table, page)


def _plateaus(record: Record, level: str) -> list[str]:
    rows = [row for row in record["rows"] if row["protocol"] == "uci-plateaus:forward" and row["level"] == level]
    columns = [(gas, metric) for metric in ("R²", "MAE [ppm]") for gas in _GASES] + [("both gases", "support accuracy")]
    names = [metric if gas == "both gases" else f"{gas} {metric}" for gas, metric in columns]
    return _grid(rows, names, lambda row: (row["split"], row["metric"]), columns)


def _choice(record: Record, _: str) -> list[str]:
    rows = [f"| {c['form']} | {100 * c['error']:.2f} % |" for c in record["beside"]["plateaus"]["choice"]]
    return ["| law | error inside the fitted part |", "|---|---|", *rows]


def _affinities(record: Record, name: str) -> list[str]:
    """One row for each type of sensor: affinity and slope for each gas, with standard errors of the logarithm."""
    fitted = {f["name"]: f for f in record["beside"]["plateaus"][name]["fitted"]}
    types = ("TGS2602", "TGS2600", "TGS2610", "TGS2620")
    columns = ("log K1", "log K2", "log A1", "log A2")
    head = "| type | K methane [1/100 ppm] | K ethylene [1/10 ppm] | slope methane | slope ethylene |"
    lines = [f"| {t} | " + " | ".join(_factor(fitted[f"{c} {t}"]) for c in columns) + " |" for t in types]
    return [head, "|---|---|---|---|---|", *lines]


def _exchange(record: Record, name: str) -> list[str]:
    fitted = {f["name"]: f for f in record["beside"]["plateaus"][name]["fitted"]}
    shares = [1 / (1 + math.exp(-fitted[f"logit slow {g}"]["value"])) for g in (1, 2)]
    return [
        f"Exchange of the chamber: τ_fast = {_factor(fitted['log tau fast'])} s, "
        f"τ_slow = {_factor(fitted['log tau slow'])} s, "
        f"of which {100 * shares[0]:.0f} % of methane and {100 * shares[1]:.0f} % of ethylene."
    ]


def _traces(record: Record, metric: str) -> list[str]:
    rows = [row for row in record["rows"] if row["protocol"] == "uci-traces:forward" and row["metric"] == metric]
    splits = list(dict.fromkeys(row["split"] for row in rows))
    return _grid(rows, splits, lambda row: row["split"], splits)


def _rates(record: Record, trace: str) -> list[str]:
    """Parameters of a trace with both intervals where there are two."""
    lines = []
    for f in record["beside"]["traces"][trace]["fitted"]:
        if "plain" in f:
            drawn = ""
            if "bootstrap_lo" in f:
                drawn = f"{_number(math.exp(f['bootstrap_lo']))} to {_number(math.exp(f['bootstrap_hi']))}"
            name = f["name"].removeprefix("log ")
            lines.append(f"| {name} | {_number(f['plain'])} | {_number(f['lo'])} to {_number(f['hi'])} | {drawn} |")
    return ["| parameter | value | 95 %, Fisher information | 95 %, block bootstrap |", "|---|---|---|---|", *lines]


def _dynamic(record: Record, about: str) -> list[str]:
    """`support` or `state`, the protocol, the split, separated by commas."""
    which, protocol, split = (part.strip() for part in about.split(","))
    metrics = _SUPPORT if which == "support" else _STATE
    rows = [
        row
        for row in record["rows"]
        if row["protocol"] == protocol and row["split"] == split and row["metric"] in metrics
    ]
    present = [metric for metric in metrics if any(row["metric"] == metric for row in rows)]
    return _grid(rows, present, lambda row: row["metric"], present)


def _source(record: Record, _: str) -> list[str]:
    machine = record["machine"]
    where = f"{machine['processor']}, {machine['cores']} cores, Python {machine['python']}"
    earlier = "".join(f" ({', '.join(e['tables'])}: commit {e['commit']})" for e in record["earlier"] if e["tables"])
    return [f"`{record['command']}`, commit {record['commit']}{earlier}, {record['date']}, {where}."]


_KINDS: dict[str, Callable[[Record, str], list[str]]] = {
    "plateaus": _plateaus,
    "choice": _choice,
    "affinities": _affinities,
    "exchange": _exchange,
    "traces": _traces,
    "rates": _rates,
    "dynamic": _dynamic,
    "source": _source,
}


def _grid(
    rows: Iterable[Mapping[str, Any]],
    names: Sequence[str],
    key: Callable[[Mapping[str, Any]], object],
    columns: Sequence[object],
) -> list[str]:
    """Models down, columns across; a cell is the mean with its 95 % interval."""
    cells: dict[str, dict[object, str]] = {}
    for row in rows:
        cells.setdefault(row["model"], {})[key(row)] = f"{row['mean']:.3f} [{row['lo']:.3f}, {row['hi']:.3f}]"
    lines = [f"| {model} | " + " | ".join(mine.get(c, "") for c in columns) + " |" for model, mine in cells.items()]
    return ["| model | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|", *lines]


def _factor(entry: Mapping[str, Any]) -> str:
    """A parameter from its logarithm, with the factor of one standard error."""
    if entry["se"] > 1.0:
        return f"under {_number(math.exp(entry['value'] + 2 * entry['se']))}"
    return f"{_number(math.exp(entry['value']))} (×/÷ {math.exp(entry['se']):.2f})"


def _number(value: float) -> str:
    return f"{value:.3g}"
