"""Tables of the calibrated simulator: known coefficients found again, and what it explains of SmellNet."""

from typing import Any

from studies.tables.markdown import table

__all__ = ["calibrate_part"]

_WAYS = {
    "none": "recipe alone",
    "session": "levels of the session, from training",
    "references": "levels from 3 references",
    "all": "all nuisances, as fitted",
}


def calibrate_part(record: dict, part: str) -> list[str]:
    """`known`, `explained`, `substances`, `determined` or `stages`."""
    made = {
        "known": _known,
        "explained": _explained,
        "substances": _substances,
        "determined": _determined,
        "stages": _stages,
    }
    if ("known" if part == "known" else "smellnet") not in record:
        return [f"Not measured yet; it is made by {record['command']}."]
    return [*made[part](record), "", _source(record, record["known"][-1] if part == "known" else record["smellnet"])]


def _known(record: dict) -> list[str]:
    """Errors of what is identifiable, the levels of noise side by side."""
    runs = record["known"]
    rows = []
    for groups in zip(*(one["groups"] for one in runs), strict=True):
        cells = [cell for group in groups for cell in _found(group)]
        rows.append([groups[0]["group"], str(groups[0]["entries"]), *cells])
    columns = [f"{what}, noise {one['noise']:g}" for one in runs for what in ("se (log)", "identifiable", "error")]
    said = [
        f"Noise {one['noise']:g}: {one['identifiable']} identifiable, largest error "
        f"{100 * one['worst identifiable error']:.1f} %; {100 * one['within three se']:.0f} % of all errors lie within "
        "three standard errors."
        for one in runs
    ]
    return [*table(["coefficient", "entries", *columns], rows), "", " ".join(said)]


def _found(group: dict) -> list[str]:
    worst = group["worst identifiable error"]
    return [
        f"{group['median se']:.3f}",
        str(group["identifiable"]),
        "" if worst is None else f"{100 * worst:.1f} %",
    ]


def _explained(record: dict) -> list[str]:
    """Variance explained by every law."""
    found = record["smellnet"]
    rows = [
        [
            one["where"],
            _WAYS[one["levels"]],
            f"**{one['law']}**" if one["law"] == "physics" else one["law"],
            str(one["recordings"]),
            f"{one['total']:.3f} [{one['lo']:.3f}, {one['hi']:.3f}]",
            *(f"{value:.3f}" for value in one["sensors"]),
        ]
        for one in sorted(found["scores"], key=_order)
    ]
    return table(["where", "levels", "law", "recordings", "all sensors", *found["channels"]], rows)


def _substances(record: dict) -> list[str]:
    """Variance explained by the recipe alone, by the most plentiful substance."""
    found = record["smellnet"]
    kept = {(s["law"], s["where"]): s for s in found["scores"] if s["levels"] == "none"}
    columns = [(law, where) for where in ("in sample", "test") for law in ("physics", "linear") if (law, where) in kept]
    rows = [
        [food, *(_number(kept[column]["substances"][i]) for column in columns)]
        for i, food in enumerate(found["components"])
    ]
    return table(["most plentiful", *(f"{law}, {where}" for law, where in columns)], rows)


def _determined(record: dict) -> list[str]:
    """What SmellNet determines."""
    rows = [
        [
            one["group"],
            *(str(one[key]) for key in ("entries", "determined", "weak", "not determined")),
            f"{one['se']:.2f}",
            f"{one['before']:.2f}",
        ]
        for one in record["smellnet"]["groups"]
    ]
    columns = ["coefficient", "entries", "determined", "weak", "not determined", "median se (log)", "before"]
    untold = [f"- {text}" for text in record["smellnet"]["untold"][:6]]
    return [
        *table(columns, rows),
        "",
        "Directions that the recordings hardly narrow, first the least told:",
        "",
        *untold,
    ]


def _stages(record: dict) -> list[str]:
    rows = [
        [one["stage"], str(one["recordings"]), str(one["iterations"]), f"{one['rms']:.3f}"]
        for one in record["smellnet"]["stages"]
    ]
    found = record["smellnet"]
    inside = zip(found["channels"], found["within"], strict=True)
    said = ", ".join(f"{100 * value:.1f} % of {name}" for name, value in inside)
    return [
        *table(["stage", "recordings", "steps", "rms of what is left [sd]"], rows),
        "",
        f"Of the variance of these {found['recordings']} recordings {said} lies within a recording.",
    ]


def _order(score: dict[str, Any]) -> tuple[int, ...]:
    places = ("in sample", "test", "new sessions", "new sessions, rest")
    laws = ("physics", "linear", "pure mean", "constant")
    return places.index(score["where"]), list(_WAYS).index(score["levels"]), laws.index(score["law"])


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _source(record: dict, part: dict) -> str:
    """The parts of the file may be of different days."""
    return f"Made by {record['command']}, commit {part['commit']}, {record['date']}, {record['machine']['processor']}."
