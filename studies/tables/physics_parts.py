"""Tables of the validation, the solver benchmark, and the keys of simulation files."""

import json

from studies.tables.markdown import made_by, table

__all__ = ["simulation_keys", "solver_part", "validate_part"]


def validate_part(record: dict, part: str) -> list[str]:
    """`all`: every check; `oracles`: one line per oracle with the check that uses most of its tolerance."""
    checks = record["checks"]
    assert all(check["passed"] for check in checks), "a failed oracle is a bug, not a table"
    if part == "all":
        rows = [[c["oracle"], c["name"], f"{c['value']:.6g}", _expected(c)] for c in checks]
        return [*table(["oracle", "check", "value", "expected"], rows), "", made_by(record, detail="jax")]
    by_oracle: dict[str, list[dict]] = {}
    for check in checks:
        by_oracle.setdefault(check["oracle"], []).append(check)
    rows = []
    for oracle, members in by_oracle.items():
        worst = max(members, key=lambda c: abs(c["value"] - c["expected"]) / c["tolerance"])
        rows.append([oracle, str(len(members)), worst["name"], f"{worst['value']:.5g}", _expected(worst)])
    columns = ["oracle", "checks", "the one that uses most of its tolerance", "value", "expected"]
    return [*table(columns, rows), "", made_by(record, detail="jax")]


def _expected(check: dict) -> str:
    return f"{check['expected']:.6g} ± {check['tolerance']:.2g}"


def solver_part(record: dict, part: str) -> list[str]:
    """`speed`: default beside plain; `radau`: samples per second at equal error; `bound`: what limits it."""
    if part == "speed":
        return _speed(record)
    if part == "radau":
        return _radau(record)
    best = max(record["gemm_fraction"], key=lambda line: line["fraction"])
    return [
        f"The flux products reach at most {100 * best['fraction']:.1f} % of the {record['gemm']['gflop_per_s']:.0f} "
        f"GFLOP/s that a large matrix product reaches in the same run ({best['odorants']} odorants, batch "
        f"{best['batch']}, {best['pass']}). {record['bound']}"
    ]


def _speed(record: dict) -> list[str]:
    found = {(r["path"], r["odorants"], r["batch"], r["pass"]): r for r in record["rows"]}
    rows = []
    for ratio in record["ratios"]:
        key = ratio["odorants"], ratio["batch"], ratio["pass"]
        ours, plain = found["default", *key], found["plain", *key]
        rows.append(
            [
                str(ratio["odorants"]),
                str(ratio["batch"]),
                ratio["pass"],
                f"{1e3 * ours['seconds_per_sample']:.3g}",
                f"{1e3 * plain['seconds_per_sample']:.3g}" + (" (extrapolated)" if plain["extrapolated"] else ""),
                f"**{ratio['plain_over_default']:.1f}×**",
                f"{ours['memory_bytes'] / 1e6:.3g} / {plain['memory_bytes'] / 1e6:.3g}",
            ]
        )
    columns = [
        "odorants",
        "batch",
        "pass",
        "ours [ms/sample]",
        "plain [ms/sample]",
        "ratio",
        "memory, ours / plain [MB]",
    ]
    return [*table(columns, rows), "", made_by(record, detail="jax")]


def _radau(record: dict) -> list[str]:
    rows = [
        [
            str(entry["odorants"]),
            f"{line['error']:.0e}",
            f"{line['default_samples_per_second']:.4g}",
            f"{line['radau_samples_per_second']:.3g}",
            f"**{line['default_over_radau']:.0f}×**",
        ]
        for entry in record["work_precision"]
        for line in entry["equal_error"]
    ]
    return table(["odorants", "relative error", "ours [samples/s]", "SciPy Radau [samples/s]", "ratio"], rows)


def simulation_keys() -> list[str]:
    """The key reference of simulation files, from the models that check them."""
    from unmixnet.simulation import config

    sections = {
        "[chamber]": config.ChamberSection,
        "[[chamber.cells]]": config.CellSection,
        "[[chamber.edges]]": config.EdgeSection,
        "[conditions]": config.ConditionsSection,
        "[species]": config.SpeciesSection,
        "[source]": config.SourceSection,
        "[inlet], [fixed.CELL]": config.CompositionSection,
        "[transduction]": config.TransductionSection,
        "[[sensors]]": config.SensorSection,
        "[run]": config.RunSection,
    }
    rows = []
    for title, section in sections.items():
        for i, (key, field) in enumerate(section.model_fields.items()):
            default = "required" if field.is_required() else json.dumps(field.default)
            meaning = (field.description or "").replace("\n", " ")
            rows.append([f"`{title}`" if i == 0 else "", f"`{key}`", default, meaning])
    return table(["section", "key", "default", "meaning"], rows)
