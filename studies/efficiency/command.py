"""`python -m studies efficiency`: what every model costs."""

import json

from studies.options import RESULTS, AsJson, Data, Out, Quick, store

__all__ = ["efficiency"]


def efficiency(data: Data = None, quick: Quick = False, as_json: AsJson = False, out: Out = None) -> None:
    """Parameters, training time, latency, throughput and memory of all models in one run; ten quiet minutes."""
    from studies.efficiency.efficiency import run_efficiency
    from unmixnet.cli.output import progress

    with progress() as display:
        result = run_efficiency(data, RESULTS / "smellnet.json", quick=quick, progress=display)
    store(result, out or (None if quick else RESULTS / "efficiency.json"))
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        _print(result)


def _print(result: dict) -> None:
    from unmixnet.cli.output import print_table

    rows = [
        [
            f"{row['name']} ({row['size']})" if row["size"] else row["name"],
            _number(row["parameters"], "{:,}"),
            _number(row["epoch_s"], "{:.3g}"),
            f"{row['latency_ms']:.3g}",
            f"{row['throughput']:.4g}",
            _number(row["buffers_MB"], "{:.3g}"),
            f"{row['resident_MB']:.3g}",
            _number(row["over_adr_gnn"]["latency_ms"], "{:.2f}"),
        ]
        for row in result["rows"]
    ]
    columns = ["model", "parameters", "s/epoch", "ms, batch 1", "windows/s", "buffers MB", "resident MB", "× ADR-GNN"]
    print_table("What a model costs: windows of 30 s, 4 sensors, 12 components", columns, rows)


def _number(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)
