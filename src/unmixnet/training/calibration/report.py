"""The fit report: what the simulator explains, beside laws that know no physics, and what no recording determines."""

from typing import Any

__all__ = ["report_text"]

_WAYS = {
    "none": "recipe alone",
    "session": "levels of known sessions",
    "references": "levels from 3 references",
    "all": "all nuisances as fitted",
}


def report_text(values: dict[str, Any]) -> str:
    """Markdown, from the values of report.json."""
    head = [
        f"# Calibration on {values['protocol']}",
        "",
        f"Frozen simulator `{values['sha256'][:16]}…`, calibrated on {values['recordings']} training recordings "
        f"({values['pure']} of one substance) of {values['sessions']} sessions, {values['seconds']:g} s of each, "
        f"which start {'in clean air' if values['start'] == 'clean air' else 'with the odour present'}.",
        "",
        "Of the variance, "
        + ", ".join(f"{100 * v:.1f} % ({name})" for v, name in zip(values["within"], values["channels"], strict=True))
        + " lies within recordings; the rest is between them.",
        "",
        "## Share of variance explained",
        "",
        "1 − Σ(Y − Ŷ)²/Σ(Y − Ȳ)² with the mean level Ȳ of the training recordings. *Recipe alone* is honest: "
        "no strength, gain or offset of the recording or its session was used. All laws have the same nuisances.",
        "",
    ]
    return "\n".join(
        [
            *head,
            *score_table(values),
            "",
            "![Variance explained](explained.png)",
            "",
            "## What the recordings determine",
            "",
            *group_table(values),
            "",
            "Directions of which the recordings took less than half of the prior's variance, by what they move most:",
            "",
            *(f"- {text}" for text in values["untold"]),
            "",
            "![Standard errors](determined.png)",
            "",
            "## Stages",
            "",
            "| stage | recordings | iterations | rms of what is left | in Ω |",
            "|---|---|---|---|---|",
            *(
                f"| {one['stage']} | {one['recordings']} | {one['iterations']} | {one['rms']:.3f} "
                f"| {'yes' if one['in omega'] else 'NO'} |"
                for one in values["stages"]
            ),
            "",
            f"L_phys {values['closure']['L_phys']:.1e}, flux residual {values['closure']['MS residual']:.1e}, "
            f"mass error {values['closure']['mass error']:.1e}: rounding, because the solver is the balance.",
            "",
            "![Traces](traces.png)",
            "",
        ]
    )


def score_table(values: dict[str, Any]) -> list[str]:
    """One row for each law, place and way to set levels."""
    sensors = values["channels"]
    rows = [
        f"| {one['where']} | {_WAYS[one['levels']]} | {one['law']} | {one['recordings']} "
        f"| {one['total']:.3f} [{one['lo']:.3f}, {one['hi']:.3f}] | "
        + " | ".join(f"{value:.3f}" for value in one["sensors"])
        + " |"
        for one in sorted(values["scores"], key=_order)
    ]
    return [
        "| where | levels | law | recordings | all sensors | " + " | ".join(sensors) + " |",
        "|---|---|---|---|---|" + "---|" * len(sensors),
        *rows,
    ]


def group_table(values: dict[str, Any]) -> list[str]:
    """Coefficients by group: how many are determined."""
    rows = [
        f"| {one['group']} | {one['entries']} | {one['determined']} | {one['weak']} | {one['not determined']} "
        f"| {one['se']:.2f} | {one['before']:.2f} |"
        for one in values["groups"]
    ]
    return [
        "| coefficient | entries | determined | weak | not determined | median se (log) | before |",
        "|---|---|---|---|---|---|---|",
        *rows,
    ]


def _order(score: dict[str, Any]) -> tuple[int, ...]:
    places = ("in sample", "test", "new sessions", "new sessions, rest")
    return places.index(score["where"]), list(_WAYS).index(score["levels"])
