"""What the evidence itself costs: how long the trainings behind the result files took."""

from collections.abc import Mapping

from studies.tables.markdown import table

__all__ = ["FILES", "cost_part"]

FILES = ("smellnet", "smellnet-paper", "ablation", "simulated")
"""Result files with trainings behind them."""


def cost_part(records: Mapping[str, dict]) -> list[str]:
    """Trainings and hours of every study of every file, and the model that took most of them."""
    facts = [{**fact, "of": (name, fact["study"])} for name in records for fact in _own(name, records)]
    lines = [_line(*of, [fact for fact in facts if fact["of"] == of]) for of in dict.fromkeys(f["of"] for f in facts)]
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
