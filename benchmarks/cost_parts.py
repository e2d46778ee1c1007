"""What the evidence itself costs: how long the trainings behind a result file took."""

from benchmarks.markdown import made_by, table

__all__ = ["cost_part"]


def cost_part(record: dict) -> list[str]:
    """Trainings and hours of every study, and the model that took most of them."""
    studies = dict.fromkeys(fact["study"] for fact in record["facts"])
    lines = [_line(study, [fact for fact in record["facts"] if fact["study"] == study]) for study in studies]
    whole = _line("together", record["facts"]) if len(lines) > 1 else None
    columns = ["study", "fits", "hours of one core", "most of them", "its hours", "slowest model, min a fit"]
    return [*table(columns, [*lines, *([whole] if whole else [])]), "", made_by(record)]


def _line(name: str, facts: list[dict]) -> list[str]:
    hours: dict[str, float] = {}
    for fact in facts:
        hours[fact["model"]] = hours.get(fact["model"], 0.0) + fact["runs"] * fact["seconds"] / 3600
    most = max(hours, key=lambda model: hours[model])
    slowest = max(fact["seconds"] for fact in facts) / 60
    fits = sum(fact["runs"] for fact in facts)
    return [name, f"{fits:,}", f"{sum(hours.values()):.2f}", most, f"{hours[most]:.2f}", f"{slowest:.1f}"]
