"""Write the tables of README and docs from the committed results; `--check` only says whether they are in step.

A block between `<!-- table: NAME -->` and `<!-- end -->` is replaced by what NAME's function returns.
"""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
BLOCK = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def load(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def markdown(columns: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def source_line(data: dict[str, Any]) -> str:
    machine = data["machine"]
    return (
        f"\n`{data['command']}`, commit {data['commit']}, {data['date']}, {machine['cpu']}, {machine['cores']} cores.\n"
    )


def validation() -> str:
    data = load("validate")
    rows = [
        [c["oracle"], c["name"], f"{c['value']:.6g}", f"{c['expected']:.6g}", f"{c['tolerance']:.1e}"]
        for c in data["checks"]
    ]
    assert all(c["passed"] for c in data["checks"]), "a failed oracle is not a table, it is a bug"
    return markdown(["oracle", "check", "value", "expected", "tolerance"], rows) + source_line(data)


def oracles() -> str:
    """One line per oracle: how much of its tolerance it uses at worst."""
    data = load("validate")
    rows: dict[str, list[dict[str, Any]]] = {}
    for check in data["checks"]:
        rows.setdefault(check["oracle"], []).append(check)
    table = []
    for oracle, checks in rows.items():
        worst = max(checks, key=lambda c: abs(c["value"] - c["expected"]) / c["tolerance"])
        table.append(
            [
                oracle,
                str(len(checks)),
                worst["name"],
                f"{worst['value']:.6g}",
                f"{worst['expected']:.6g} ± {worst['tolerance']:.1g}",
            ]
        )
    return markdown(["oracle", "checks", "tightest of them", "value", "expected"], table) + source_line(data)


def simulation_keys() -> str:
    """The key reference of simulation files, from the models that check them."""
    from unmixnet import config

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
        for key, field in section.model_fields.items():
            default = "required" if field.is_required() else json.dumps(field.default)
            rows.append([f"`{title}`" if key == next(iter(section.model_fields)) else "", f"`{key}`", default])
            rows[-1].append((field.description or "").replace("\n", " "))
    return markdown(["section", "key", "default", "meaning"], rows)


TABLES: dict[str, Callable[[], str]] = {
    "validation": validation,
    "oracles": oracles,
    "simulation-keys": simulation_keys,
}


def written(text: str) -> str:
    return BLOCK.sub(lambda block: block[1] + TABLES[block[2]]() + block[3], text)


def main() -> int:
    stale = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        if written(text) != text:
            stale.append(path.relative_to(ROOT))
            if "--check" not in sys.argv:
                path.write_text(written(text), encoding="utf-8")
    print("\n".join(f"{'stale' if '--check' in sys.argv else 'written'}: {path}" for path in stale) or "all in step")
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
