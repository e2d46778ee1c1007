"""What a bundle would withhold: every score of doubt of its answers to labelled recordings, beside their errors."""

from pathlib import Path
from typing import Any

import numpy as np

from studies.figures.failures import error_of, gain_interval, risk_curve
from unmixnet.inference.bundle import find_bundle, load_bundle
from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.evaluate import scoring_set
from unmixnet.inference.evidence import Evidence, gather_evidence
from unmixnet.inference.report import Verdict
from unmixnet.inference.unmix import verdict_of
from unmixnet.recordings.recording import Mixture
from unmixnet.recordings.trace import trace_of

__all__ = ["SPLITS", "abstention_record", "curves_of", "doubts", "judged"]

BUNDLE = "smellnet-mixture"
SPLITS = ("clean:seen", "clean:unseen")


def judged(root: Path | None, name: str = BUNDLE) -> dict[str, Any]:
    """Doubts, verdicts and errors of every recording of both clean tests."""
    bundle = load_bundle(find_bundle(name))
    found: dict[str, Any] = {"bundle": name, "digest": bundle.digest, "splits": {}}
    for split in SPLITS:
        test = scoring_set(bundle, f"smellnet-mixture:{split}", root)
        traces = [trace_of(recording, bundle.ready, bundle.config).signal for recording in test.recordings]
        kept = {"window": bundle.config.window, "stride": bundle.config.stride}
        evidence = gather_evidence(bundle.model, traces, air=bundle.air, sign=bundle.sign, **kept)
        truth = np.stack([one.label.vector(bundle.components) for one in test.recordings if one.label])
        recipes = [_recipe(one.label) for one in test.recordings if one.label]
        found["splits"][split] = doubts(bundle, evidence, truth) | {"recipes": recipes}
    return found


def _recipe(label: Mixture) -> str:
    return " ".join(f"{name}:{share:.2f}" for name, share in sorted(zip(label.names, label.ratios, strict=True)))


def doubts(bundle: Bundle, evidence: list[Evidence], truth: np.ndarray) -> dict[str, Any]:
    """Scores that are large where an answer should be withheld; the error; whether the bundle withholds it."""
    calibration, novelty = bundle.calibration, bundle.calibration.novelty
    shares = np.stack([calibration.shares(one.ratios) for one in evidence])
    low, high = calibration.intervals.of(shares)
    scores: dict[str, list[float]] = {}
    if novelty is not None:
        parts = np.stack([novelty.parts(one) for one in evidence])
        scores["novelty"] = parts.max(axis=1).tolist()
        names = ("embedding", "signal", "residual")[: parts.shape[1]]
        scores |= {f"{name} alone": parts[:, k].tolist() for k, name in enumerate(names)}
    scores["small largest share"] = (1 - shares.max(axis=1)).tolist()
    scores["windows disagree"] = [float(one.ratios.std(axis=0).mean()) for one in evidence]
    scores["wide intervals"] = (high - low).mean(axis=1).tolist()
    scores["weak signal"] = [-calibration.background.strength(one) for one in evidence]
    withheld = [verdict_of(bundle, one) is not Verdict.MIXTURE for one in evidence]
    return {"scores": scores, "withheld": withheld, "error": error_of(shares, truth).tolist()}


def curves_of(split: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for every score: the area under its curve of risk and coverage, that of chance, and two points of it."""
    rows = []
    for name, score in split["scores"].items():
        curve = risk_curve(np.array(score), np.array(split["error"]))
        half, most = (float(np.interp(share, curve.coverage, curve.risk)) for share in (0.5, 0.8))
        told = {"area": curve.area, "random": curve.random, "best": float(curve.best.mean()), "p": curve.p}
        told["gain_lo"], told["gain_hi"] = gain_interval(np.array(score), np.array(split["error"]), split["recipes"])
        rows.append({"score": name, **told, "at_half": half, "at_four_fifths": most, "n": len(score)})
    return rows


def abstention_record(found: dict[str, Any]) -> dict[str, Any]:
    """The record with its curves' numbers, and the errors of what is answered and what is withheld."""
    made = {**found, "rows": [], "verdicts": []}
    for name, split in found["splits"].items():
        made["rows"] += [{"split": name, **row} for row in curves_of(split)]
        error, withheld = np.array(split["error"]), np.array(split["withheld"])
        answered = error[~withheld]
        told = {
            "split": name,
            "n": len(error),
            "recipes": len(set(split["recipes"])),
            "withheld": int(withheld.sum()),
            "all": float(error.mean()),
        }
        told["answered"] = float(answered.mean()) if len(answered) else None
        told["withheld_error"] = float(error[withheld].mean()) if withheld.any() else None
        made["verdicts"].append(told)
    return made
