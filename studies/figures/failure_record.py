"""What `studies/results/failures.json` holds: confusions, drift and abstention, with a null beside each."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from studies.figures.confusion import confusion_record, fingerprint_record, session_mates
from studies.figures.drift import drift_record
from studies.figures.stored import table_of
from studies.harness.definitions import StudyFold, chosen, study_folds
from studies.harness.predictions import read_predictions
from unmixnet.inference.fingerprints import pure_fingerprints
from unmixnet.recordings.coherence import coherence
from unmixnet.recordings.pieces import Recall

__all__ = ["fingerprints_of", "gather_failures", "unknown_record"]

Progress = Callable[[str, int], Callable[[], None]]
_DATA = "smellnet-mixture"
CONFUSED = ("leave-support-out", "leave-session-out", "clean:unseen", "new-session")
DRIFTED = ("leave-session-out", "new-session")


def gather_failures(
    root: Path | None, predictions: Path, novelty: Path, progress: Progress, abstention: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """All parts; `abstention` computes the one that needs a bundle."""
    tick = progress("Failures", 4)
    answers = read_predictions(predictions)
    parts: dict[str, Any] = {"fingerprints": fingerprints_of(root)}
    tick()
    tables = {name: table_of(answers, f"{_DATA}:{name}") for name in CONFUSED}
    folds = {name: _folds(name, root) for name in DRIFTED}
    names = folds[DRIFTED[0]][0].data.components
    mates = session_mates(
        [piece for fold in folds[DRIFTED[0]] for side in fold.tests.values() for piece in side], names
    )
    parts["confusion"] = confusion_record(tables, names, parts["fingerprints"], mates)
    tick()
    parts["drift"] = {name: drift_record(tables[name], folds[name], Recall(root)) for name in DRIFTED}
    tick()
    parts["abstention"] = abstention()
    parts["unknown"] = unknown_record(novelty)
    tick()
    return parts


def fingerprints_of(root: Path | None) -> dict[str, Any]:
    """The record of the pure substances of SmellNet."""
    prints = pure_fingerprints(_DATA, root, response="log-conductance")
    return fingerprint_record(prints, coherence(prints))


def _folds(name: str, root: Path | None) -> tuple[StudyFold, ...]:
    study = chosen("smellnet", (name,))[0]
    return study_folds(study.protocols, root, groups=study.groups)


def unknown_record(path: Path) -> list[dict[str, Any]]:
    """Results of `python -m studies novelty` for substances that a model has never seen."""
    if not path.is_file():
        return []
    return [row for row in json.loads(path.read_text())["rows"] if row["data"] == _DATA and row["score"] == "novelty"]
