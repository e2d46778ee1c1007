"""Tables of the validation and of the long counts, and the keys of simulation files."""

import json

from studies.tables.markdown import made_by, table

__all__ = ["simulation_keys", "validate_part"]


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


def simulation_keys() -> list[str]:
    """The key reference of simulation files, from the models that check them."""
    from unmixnet.simulation import config

    sections = {
        "[chamber]": config.ChamberSection,
        "[[chamber.cells]]": config.CellSection,
        "[[chamber.edges]]": config.EdgeSection,
        "[conditions]": config.ConditionsSection,
        "[conditions.cells.NAME]": config.CellConditionsSection,
        "[species]": config.SpeciesSection,
        "[source]": config.SourceSection,
        "[inlet], [fixed.CELL]": config.CompositionSection,
        "[transduction]": config.TransductionSection,
        "[[sensors]]": config.SensorSection,
        "[[start]]": config.StartSection,
        "[run]": config.RunSection,
    }
    rows = []
    for title, section in sections.items():
        for i, (key, field) in enumerate(section.model_fields.items()):
            default = "required" if field.is_required() else json.dumps(field.default)
            meaning = (field.description or "").replace("\n", " ")
            rows.append([f"`{title}`" if i == 0 else "", f"`{key}`", default, meaning])
    return table(["section", "key", "default", "meaning"], rows)


def malformed_part(record: dict) -> list[str]:
    results = record["results"]
    refused = sum(results["refused"].values())
    return [
        "| damaged copies of real files | read | refused with a code | any other error | slowest, ms |",
        "|---|---|---|---|---|",
        f"| {results['files']:,} | {results['read']:,} | {refused:,} | {results['other_errors']} "
        f"| {results['slowest_ms']:.0f} |",
        "",
        made_by(record, detail="python"),
    ]


def soak_part(record: dict, about: str) -> list[str]:
    """What the long counts measured about one thing, largest value first."""
    tests = [test for test in record["tests"] if any(about in each["what"] for each in test["measured"])]
    measured = {each["what"]: each["value"] for test in tests for each in test["measured"]}
    mine = sorted(((value, what) for what, value in measured.items() if about in what), reverse=True)
    rows = [f"| {what} | {value:.3g} |" for value, what in mine] or ["| not measured yet | |"]
    newest = max(tests, key=lambda test: test.get("date", ""), default={})
    source = record | {key: newest[key] for key in ("commit", "date") if key in newest}
    return ["| what | largest |", "|---|---|", *rows, "", made_by(source, detail="python")]
