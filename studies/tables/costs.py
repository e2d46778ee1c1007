"""Tables of what models, trainings, the solver and the reader cost."""

from collections.abc import Mapping

from studies.tables.markdown import made_by, run_notes, run_notes_by_study, table
from studies.tables.states import PLACES

__all__ = ["FILES", "cost_part", "efficiency_part", "solver_part", "training_part"]

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


def efficiency_part(record: dict, part: str) -> list[str]:
    """`costs`, `ratios`, `inverse` or `paper`."""
    made = {"costs": _costs, "ratios": _ratios, "inverse": _inverse, "paper": _paper_costs}
    return [*made[part](record), "", *([] if part == "paper" else run_notes_by_study(record))]


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
    return table(["model", "throughput over the direct inverse", *(f"MAE, {PLACES[p]}" for p in protocols)], lines)


def _protocols(record: dict) -> list[str]:
    known = {protocol for errors in record["errors"].values() for protocol in errors}
    return [protocol for protocol in PLACES if protocol in known]


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


FILES = ("smellnet", "smellnet-paper", "ablation", "simulated")
"""Result files with trainings behind them."""


def cost_part(records: Mapping[str, dict]) -> list[str]:
    """Trainings and hours of every study of every file, and the model that took most of them."""
    facts = [{**fact, "of": (name, fact["study"])} for name in records for fact in _own(name, records)]
    studies = dict.fromkeys(fact["of"] for fact in facts)
    lines = [_line(of[0], of[1], [fact for fact in facts if fact["of"] == of]) for of in studies]
    columns = ["results", "study", "fits", "hours of one core", "most of them", "its hours", "slowest model, min a fit"]
    made = [f"`{name}.json` of {record['date']}, commit {record['commit']}" for name, record in records.items()]
    by_file = ", ".join(f"{name} {_hours([f for f in facts if f['of'][0] == name]) / 2:.1f}" for name in records)
    together = f"Two at a time: {_hours(facts) / 2:.1f} hours ({by_file})."
    return [*table(columns, [*lines, _line("all", "together", facts)]), "", f"{together} {'; '.join(made)}."]


def _own(name: str, records: Mapping[str, dict]) -> list[dict]:
    """Fits of a file; the ablation takes the models of SmellNet's studies that it does not change from there."""
    facts = records[name]["facts"]
    if name != "ablation" or "smellnet" not in records:
        return facts
    there = {(fact["study"], fact["model"]) for fact in records["smellnet"]["facts"]}
    return [fact for fact in facts if (fact["study"], fact["model"]) not in there]


def _line(file: str, study: str, facts: list[dict]) -> list[str]:
    models = {fact["model"] for fact in facts}
    hours = {model: _hours([fact for fact in facts if fact["model"] == model]) for model in sorted(models)}
    most = max(hours, key=lambda model: hours[model])
    slowest = max(fact["seconds"] for fact in facts) / 60
    fits = sum(fact["runs"] for fact in facts)
    return [file, study, f"{fits:,}", f"{_hours(facts):.2f}", most, f"{hours[most]:.2f}", f"{slowest:.1f}"]


def _hours(facts: list[dict]) -> float:
    return sum(fact["runs"] * fact["seconds"] for fact in facts) / 3600


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
        *run_notes(record),
    ]


def solver_part(record: dict, part: str) -> list[str]:
    """`speed`: ours beside before and plain; `kernels`: of a step; `end`, `trajectory`: at equal error; `bound`."""
    if part == "bound":
        best = max(record["gemm_fraction"], key=lambda line: line["fraction"])
        return [
            f"The matrix products reach at most {100 * best['fraction']:.1f} % of the "
            f"{record['gemm']['gflop_per_s']:.0f} GFLOP/s that a large matrix product reaches in the same run "
            f"({best['odorants']} odorants, batch {best['batch']}, {best['pass']}). {record['bound']}"
        ]
    if part in ("end", "trajectory"):
        return _equal_error(record, part)
    return {"speed": _speed, "kernels": _kernels}[part](record)


def _speed(record: dict) -> list[str]:
    """Time and memory at the same number of steps."""
    by_key = {(r["path"], r["odorants"], r["batch"], r["pass"]): r for r in record["rows"]}
    rows = []
    for ratio in record["ratios"]:
        key = ratio["odorants"], ratio["batch"], ratio["pass"]
        ours, before, plain = (by_key[path, *key] for path in ("ours", "before", "plain"))
        rows.append(
            [
                str(ratio["odorants"]),
                str(ratio["batch"]),
                ratio["pass"],
                f"{1e3 * ours['seconds_per_sample']:.3g}",
                f"{1e3 * before['seconds_per_sample']:.3g}",
                f"{1e3 * plain['seconds_per_sample']:.3g}" + (" (extrapolated)" if plain["extrapolated"] else ""),
                f"**{ratio['plain_over_ours']:.1f}×**",
                " / ".join(f"{row['memory_bytes'] / 1e6:.3g}" for row in (ours, before, plain)),
            ]
        )
    columns = ["odorants", "batch", "pass", "ours [ms/sample]", "first order", "plain", "plain / ours"]
    return [*table([*columns, "memory, ours / first order / plain [MB]"], rows), "", made_by(record, detail="jax")]


def _kernels(record: dict) -> list[str]:
    """Kernels per step of every path."""
    paths, names = ("ours", "before", "plain"), {"before": "first order"}
    counted = {(r["odorants"], r["batch"], r["pass"], r["path"]): r.get("kernels_per_step") for r in record["rows"]}
    keys = dict.fromkeys(key[:3] for key in counted if key[3] == "ours")
    rows = [[*map(str, key), *(f"{counted[*key, path]:,}" for path in paths)] for key in keys]
    return table(["odorants", "batch", "pass", *(names.get(path, path) for path in paths)], rows)


def _equal_error(record: dict, kind: str) -> list[str]:
    """Milliseconds per sample at equal error."""
    rows = []
    for entry in record["work_precision"]:
        for line in (each for each in entry["equal_error"] if each["kind"] == kind):
            others = [_against(line, other) for other in ("before", "radau", "diffrax")]
            by = f" ({line['diffrax_by']})" if line["diffrax"] else ""
            ours = f"{1e3 * line['ours']:.3g} ({line['ours_by']})"
            rows.append([str(entry["odorants"]), f"{line['error']:.0e}", ours, *others[:2], others[2] + by])
    columns = ["odorants", "error", "ours [ms/sample]", "first order", "SciPy Radau", "best of diffrax"]
    return table(columns, rows)


def _against(line: dict, other: str) -> str:
    """Time of another, and how many times ours; `~` where the first order was continued beyond its finest run."""
    if line[other] is None:
        return ""
    about = "~" if other == "before" and line["before_extrapolated"] else ""
    return f"{about}{_amount(1e3 * line[other], 3)}: **{about}{_amount(line[other] / line['ours'], 2)}×**"


def reader_part(record: dict) -> list[str]:
    results = record["results"]
    tasks = {
        'pandas.read_csv(sep=r"\\s+")': "pandas",
        "read_recording, with health verdicts": "ours",
        "reopening the 10 Hz view": "cache_10Hz",
        "reopening the 1 Hz view": "cache_1Hz",
    }
    rows = [
        f"| {what} | {results['seconds'][task]:.3g} | {results['processor_seconds'][task]:.3g} "
        f"| {_peak(results['peak_MB'].get(task))} |"
        for what, task in tasks.items()
    ]
    return [
        f"| {results['rows']:,} rows, {results['bytes'] / 1e6:,.0f} MB of text "
        "| seconds | processor seconds | peak memory, MB |",
        "|---|---|---|---|",
        *rows,
        "",
        "The best of several rounds in turn; the peak at the 10 Hz view is that of making both views.",
        made_by(record, detail="python"),
    ]


def _peak(megabytes: float | None) -> str:
    return "" if megabytes is None else f"{megabytes:,.0f}"
