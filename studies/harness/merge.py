"""Merge the results of a run into an earlier result file: each model of each study replaces its stored rows."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from studies.harness.definitions import Study
from studies.harness.jobs import Options, idle
from studies.harness.predictions import TRUTH, ModelAnswers, committee, paired, scored_answers
from studies.harness.results import StudyResult, statements
from unmixnet.errors import ConfigError

__all__ = ["merged"]

_HEAD = ("command", "commit", "date", "machine")


def merged(
    run: StudyResult, before: dict[str, Any], stored: Sequence[ModelAnswers], studies: Sequence[Study]
) -> StudyResult:
    """The new results, and everything else from the stored ones.

    Pairs of recordings are compared anew. Those of windows are kept if neither model was run now; where only one was,
    they cannot be computed, since windows are not stored.

    Arguments:
        before, stored: the result file and its predictions.
        studies: all of the command, with all their models; they give the order.
    """
    new, place = run.result, _Order(studies)
    done = {place.unit(row) for row in new["rows"]}
    _refuse(new, before, done)

    def joined(key: str, unit: Callable[[dict[str, Any]], tuple[str, str]]) -> list[dict[str, Any]]:
        kept = [entry for entry in before.get(key, ()) if unit(entry) not in done]
        return sorted([*kept, *new.get(key, ())], key=lambda entry: place.rank(*unit(entry)))

    answers = [entry for entry in stored if entry.model == TRUTH or (entry.study, place.base(entry.model)) not in done]
    truths = {entry.protocol for entry in run.answers if entry.model == TRUTH}
    answers = [entry for entry in answers if entry.model != TRUTH or entry.protocol not in truths]
    answers = sorted([*answers, *run.answers], key=lambda entry: place.rank(entry.study, entry.model))
    rows = sorted(joined("rows", place.unit), key=lambda row: row["level"] == "window")
    pairs = [pair for pair in before.get("pairs", ()) if not place.sides(pair) & done] + new.get("pairs", [])
    pairs = [asdict(pair) for pair in paired(scored_answers(answers))] + [p for p in pairs if p["level"] == "window"]
    there = {place.unit(row) for row in rows}
    missing = [name for name in dict.fromkeys([*before["missing"], *new["missing"]]) if _named(name) not in there]
    failed = {_which(entry): entry for entry in joined("failures", _model_of)}
    extras = {**before.get("studies", {}), **new.get("studies", {})}
    result = {
        **before,
        **new,
        "seeds": max(before["seeds"], new["seeds"]),
        "earlier": [*before.get("earlier", ()), {key: before[key] for key in _HEAD}],
        "models": statements(studies),
        "facts": joined("facts", _model_of),
        "failures": [*failed.values()],
        "missing": sorted(missing, key=lambda name: place.rank(*_named(name))),
        "idle": {study.name: idle(study, Options(size=new["size"], quick=new["quick"])) for study in studies},
        "pairs": pairs,
        "rows": rows,
    }
    if extras:
        result["studies"] = {
            name: extra if (name, "unmixnet") in done else before.get("studies", {}).get(name, extra)
            for name, extra in extras.items()
        }
    return StudyResult(result, answers)


def _refuse(new: dict[str, Any], before: dict[str, Any], done: set[tuple[str, str]]) -> None:
    """Results of another kind, or fewer of them than there were."""
    for key in ("quick", "size"):
        if before[key] != new[key]:
            raise ConfigError(
                f"{key} is {new[key]}, in the stored results {before[key]}", remedy="Store this run elsewhere, by --out"
            )
    runs = {_model_of(fact): fact["runs"] for fact in before["facts"]}
    for fact in new["facts"]:
        if _model_of(fact) in done and fact["runs"] < runs.get(_model_of(fact), 0):
            raise ConfigError(
                f"{fact['model']} has {fact['runs']} fits, in the stored results {runs[_model_of(fact)]}",
                where=fact["study"],
                remedy="Run as many seeds, or store this run elsewhere, by --out",
            )


def _model_of(entry: dict[str, Any]) -> tuple[str, str]:
    return entry["study"], entry["model"]


def _which(failure: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(failure[key]) for key in ("study", "turn", "model", "seed"))


def _named(missing: str) -> tuple[str, str]:
    study, model = missing.split(": ", 1)
    return study, model


class _Order:
    """Studies and models in the order of the tables; a committee stands behind its network."""

    def __init__(self, studies: Sequence[Study]) -> None:
        self.study = {protocol: study.name for study in studies for protocol in study.protocols}
        self.networks = {committee(v.name): v.name for study in studies for v in study.variants}
        self.studies = [study.name for study in studies]
        self.models = {study.name: [TRUTH, *(v.name for v in study.variants)] for study in studies}

    def base(self, model: str) -> str:
        """The model that was run."""
        return self.networks.get(model, model)

    def unit(self, row: dict[str, Any]) -> tuple[str, str]:
        """Study and model that a row comes from."""
        return self.study[row["protocol"]], self.base(row["model"])

    def sides(self, pair: dict[str, Any]) -> set[tuple[str, str]]:
        """Both models of a pair."""
        return {self.unit(pair), self.unit({**pair, "model": pair["other"]})}

    def rank(self, study: str, model: str) -> tuple[int, int]:
        """Rows that belong to no model, such as bounds, come last."""
        models = self.models[study]
        return self.studies.index(study), models.index(self.base(model)) if self.base(model) in models else len(models)
