"""Calibration of the simulator: known coefficients found again, then SmellNet, beside laws without physics.

    python -m studies.simulator.calibrate [--data DIR] [--known] [--report SIM/report.json]

stores studies/results/calibrate.json; a part that is not run is kept as it was.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unmixnet.files.provenance import provenance
from unmixnet.model.predict import single_precision

__all__ = ["known_part", "smellnet_part"]

RESULTS = Path(__file__).parents[1] / "results" / "calibrate.json"
FOODS, SENSORS = ("banana", "orange", "pear"), ("m1", "m2")
NOISES = (3e-4, 3e-3)


def known_part(noises: tuple[float, ...] = NOISES, *, iterations: int = 16) -> Iterator[dict[str, Any]]:
    """Recordings of three substances on two sensors with known coefficients, calibrated, at some levels of noise."""
    from studies.simulator.known import SURE, find_again, known

    for noise in noises:
        with single_precision():
            truth = known(FOODS, SENSORS, noise=noise, seconds=48.0, sessions=2)
            again = find_again(truth, iterations=iterations, watch=lambda *told: print(*told, flush=True))
        told = again.told.estimates
        sure = again.identifiable
        yield {
            "commit": provenance("")["commit"],
            "noise": noise,
            "signal sd": [float(value) for value in truth.setup.train.Y.std(axis=(0, 1))],
            "recordings": len(truth.setup.train),
            "identifiable up to se": SURE,
            "identifiable": int(sure.sum()),
            "worst identifiable error": again.worst,
            "within three se": float((abs(again.error) < [3 * one.se for one in told]).mean()),
            "groups": again.summary(),
            "verdicts": again.told.summary(),
            "untold": list(again.told.untold),
            "not determined": sorted({one.group for one in told if one.verdict == "not determined"}),
        }


def smellnet_part(report: Path) -> dict[str, Any]:
    """What `unmixnet calibrate smellnet-mixture -o SIM` found, without the single estimates."""
    values = json.loads(report.read_text(encoding="utf-8"))
    values["determined"] = [one["name"] for one in values["estimates"] if one["verdict"] == "determined"]
    values["verdicts"] = {
        verdict: sum(one["verdict"] == verdict for one in values["estimates"] if not one["combined"])
        for verdict in ("determined", "weak", "not determined")
    }
    del values["estimates"]
    return {"commit": provenance("")["commit"], **values}


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--known", action="store_true", help="calibrate on recordings of known coefficients")
    parser.add_argument("--report", type=Path, help="report.json of `unmixnet calibrate smellnet-mixture -o SIM`")
    told = parser.parse_args()
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    parts = {name: kept[name] for name in ("known", "smellnet") if name in kept}
    if told.report:
        parts["smellnet"] = smellnet_part(told.report)
        _store(parts)
    if told.known:
        parts["known"] = []
        for one in known_part():
            parts["known"].append(one)
            _store(parts)


def _store(parts: dict[str, Any]) -> None:
    result = provenance("python -m studies.simulator.calibrate --known --report SIM/report.json", **parts)
    RESULTS.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
