"""What abstention catches: the error of what is still answered, as more and more is withheld."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.figures.failures import error_of, gain_interval, risk_curve
from studies.figures.stored import Caption
from unmixnet.inference.bundle import load_model
from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.evaluate import scoring_set
from unmixnet.inference.evidence import Evidence, gather_evidence
from unmixnet.inference.report import Verdict
from unmixnet.inference.unmix import verdict_of
from unmixnet.recordings.recording import Mixture
from unmixnet.simulation.plot_style import INK, PALETTE, figure_style

__all__ = ["SPLITS", "abstention_caption", "abstention_record", "curves_of", "doubts", "draw_abstention", "judged"]

_SHOWN = {
    "novelty": (PALETTE[5], "-"),
    "residual alone": (PALETTE[2], (0, (5, 2))),
    "windows disagree": (PALETTE[3], (0, (3, 1, 1, 1))),
    "small largest share": (PALETTE[0], (0, (1, 1.2))),
}
"""Scores that are drawn; the table has all."""


def draw_abstention(record: Mapping[str, Any]) -> Figure:
    """One panel for each split."""
    splits = record["abstention"]["splits"]
    with figure_style():
        fig, axes = plt.subplots(1, len(splits), figsize=(5.6 * len(splits), 4.6), layout="constrained", squeeze=False)
        for ax, (name, split) in zip(axes[0], splits.items(), strict=True):
            _panel(ax, name, split)
        axes[0, -1].legend(fontsize=8.5, loc="lower center")
    return fig


def _panel(ax: Axes, name: str, split: Mapping[str, Any]) -> None:
    error = np.array(split["error"])
    drawn = [score for score in _SHOWN if score in split["scores"]] or list(split["scores"])
    first = risk_curve(np.array(split["scores"][drawn[0]]), error)
    ax.fill_between(first.coverage, first.lo, first.hi, color="#e6e6e6", lw=0, label="random abstention, 95 %")
    ax.plot(first.coverage, first.best, color=INK, lw=1.2, ls=(0, (4, 3)), label="if errors were known")
    for score in drawn:
        colour, style = _SHOWN.get(score, (PALETTE[7], "-"))
        curve = risk_curve(np.array(split["scores"][score]), error, draws=1)
        kept = curve.coverage >= 0.1
        ax.plot(curve.coverage[kept], curve.risk[kept], color=colour, ls=style, lw=2, label=score)
    withheld = int(np.sum(split["withheld"]))
    ax.axvline(1 - withheld / len(error), color=INK, lw=1, ls=":", label="where the bundle withholds")
    ax.set(xlabel="share of recordings answered", ylabel="error of what is answered: mean |â − a|")
    ax.set(xlim=(0.1, 1.005), title=f"{name}: {len(error)} recordings")
    ax.set_ylim(0, 1.25 * float(max(first.hi[first.coverage >= 0.1].max(), error.mean())))


def abstention_caption(record: Mapping[str, Any]) -> Caption:
    """The caption."""
    part = record["abstention"]
    sentences = []
    for verdict in part["verdicts"]:
        caught = "" if verdict["withheld_error"] is None else f" with an error of {verdict['withheld_error']:.3f}"
        answered = "none" if verdict["answered"] is None else f"{verdict['answered']:.3f}"
        sentences.append(
            f"{verdict['split']} ({verdict['recipes']} recipes): {verdict['withheld']} of {verdict['n']} "
            f"withheld{caught}, the answered ones {answered}."
        )
    areas = "; ".join(_best(part, verdict["split"]) for verdict in part["verdicts"])
    return Caption(
        "What abstention catches",
        f"Answers of the shipped bundle {part['bundle']} ({part['digest'][:12]}) to recordings that it has not seen, "
        "the least doubtful first. Below the grey band a score withholds wrong answers; inside it, it does no better "
        f"than dice; above it, the answers that look surest are the worst. At its own limits: {' '.join(sentences)} "
        "Mean height of a curve less that of chance, with intervals from resampling recipes, since the band takes "
        f"recordings for independent: {areas}.",
        "The lowest of many scores is flattered: it has to be confirmed on other recipes before it may decide "
        "anything. Substances that training does not have are another test; see the table.",
    )


def _best(part: Mapping[str, Any], split: str) -> str:
    """Novelty and the lowest curve of a split, beside chance."""
    rows = [row for row in part["rows"] if row["split"] == split]
    low = min(rows, key=lambda row: row["area"])
    shown = {row["score"]: row for row in rows if row["score"] == "novelty"} | {low["score"]: low}
    gains = ", ".join(
        f"{name} {row['area'] - row['random']:+.3f} [{row['gain_lo']:+.3f}, {row['gain_hi']:+.3f}]"
        for name, row in shown.items()
    )
    return f"{split} {gains}, the lowest of {len(rows)} scores being {low['score']}"


BUNDLE = "smellnet-mixture"
SPLITS = ("clean:seen", "clean:unseen")


def judged(root: Path | None, name: str = BUNDLE) -> dict[str, Any]:
    """Doubts, verdicts and errors of every recording of both clean tests."""
    bundle = load_model(name)
    result: dict[str, Any] = {"bundle": name, "digest": bundle.digest, "splits": {}}
    for split in SPLITS:
        test = scoring_set(bundle, f"smellnet-mixture:{split}", root)
        traces = [bundle.trace(recording).signal for recording in test.recordings]
        evidence = gather_evidence(bundle.model, traces, bundle.spec)
        truth = np.stack(
            [recording.label.vector(bundle.components) for recording in test.recordings if recording.label]
        )
        recipes = [_recipe(recording.label) for recording in test.recordings if recording.label]
        result["splits"][split] = doubts(bundle, evidence, truth) | {"recipes": recipes}
    return result


def _recipe(label: Mixture) -> str:
    return " ".join(f"{name}:{share:.2f}" for name, share in sorted(zip(label.names, label.ratios, strict=True)))


def doubts(bundle: Bundle, evidence: list[Evidence], truth: np.ndarray) -> dict[str, Any]:
    """Scores that are large where an answer should be withheld; the error; whether the bundle withholds it."""
    calibration, novelty = bundle.calibration, bundle.calibration.novelty
    shares = np.stack([calibration.shares(item.ratios) for item in evidence])
    low, high = calibration.intervals.of(shares)
    scores: dict[str, list[float]] = {}
    if novelty is not None:
        parts = np.stack([novelty.parts(item) for item in evidence])
        scores["novelty"] = parts.max(axis=1).tolist()
        names = ("embedding", "signal", "residual")[: parts.shape[1]]
        scores |= {f"{name} alone": parts[:, k].tolist() for k, name in enumerate(names)}
    scores["small largest share"] = (1 - shares.max(axis=1)).tolist()
    scores["windows disagree"] = [float(item.ratios.std(axis=0).mean()) for item in evidence]
    scores["wide intervals"] = (high - low).mean(axis=1).tolist()
    scores["weak signal"] = [-calibration.background.strength(item) for item in evidence]
    withheld = [verdict_of(bundle, item) is not Verdict.MIXTURE for item in evidence]
    return {"scores": scores, "withheld": withheld, "error": error_of(shares, truth).tolist()}


def curves_of(split: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for every score: the area under its curve of risk and coverage, that of chance, and two points of it."""
    rows = []
    for name, score in split["scores"].items():
        curve = risk_curve(np.array(score), np.array(split["error"]))
        half, most = (float(np.interp(share, curve.coverage, curve.risk)) for share in (0.5, 0.8))
        measures = {"area": curve.area, "random": curve.random, "best": float(curve.best.mean()), "p": curve.p}
        measures["gain_lo"], measures["gain_hi"] = gain_interval(
            np.array(score), np.array(split["error"]), split["recipes"]
        )
        rows.append({"score": name, **measures, "at_half": half, "at_four_fifths": most, "n": len(score)})
    return rows


def abstention_record(judgement: dict[str, Any]) -> dict[str, Any]:
    """The record with its curves' numbers, and the errors of what is answered and what is withheld."""
    made = {**judgement, "rows": [], "verdicts": []}
    for name, split in judgement["splits"].items():
        made["rows"] += [{"split": name, **row} for row in curves_of(split)]
        error, withheld = np.array(split["error"]), np.array(split["withheld"])
        answered = error[~withheld]
        summary = {
            "split": name,
            "n": len(error),
            "recipes": len(set(split["recipes"])),
            "withheld": int(withheld.sum()),
            "all": float(error.mean()),
        }
        summary["answered"] = float(answered.mean()) if len(answered) else None
        summary["withheld_error"] = float(error[withheld].mean()) if withheld.any() else None
        made["verdicts"].append(summary)
    return made
