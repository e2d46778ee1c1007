"""A study that was run in parts is the study: nothing is lost, doubled, or compared with what it was not run with."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from studies.harness.definitions import STUDIES
from studies.harness.merge import merged
from studies.harness.predictions import TRUTH, ModelAnswers, committee, paired, read_predictions, scored_answers
from studies.harness.results import StudyResult
from studies.options import keep
from unmixnet.errors import ConfigError, UnmixError
from unmixnet.recordings.samples import Task

WHERE = {"clean": ("smellnet-mixture:clean:seen", "smellnet-mixture:clean:unseen"),
         "new-session": ("smellnet-mixture:new-session",)}  # fmt: skip
MODELS = ("chance", "mean", "mlp", "ldac", "unmixnet")
NAMES = tuple(f"r{i}" for i in range(12))
SUPPORTS = tuple(f"s{i % 4}" for i in range(12))


def told(study: str, protocol: str, model: str, seed: int, draw: int = 0) -> ModelAnswers:
    rng = np.random.default_rng([*protocol.encode(), *model.encode(), seed, draw])
    values = rng.dirichlet(np.ones(3), len(NAMES)).astype(np.float32)
    return ModelAnswers(study, protocol, "test", Task.RATIOS, model, seed, NAMES, SUPPORTS, values)


def run(units: set[tuple[str, str]], *, draw: int = 0, missing: tuple[str, ...] = ()) -> StudyResult:
    """What a run of these models finds; networks have two seeds and a committee."""
    answers, window_rows, facts = [], [], []
    for study, protocols in WHERE.items():
        mine = [model for model in MODELS if (study, model) in units]
        answers += [told(study, protocol, TRUTH, 0) for protocol in protocols if mine]
        for model in mine:
            facts.append({"study": study, "model": model, "runs": 2, "draw": draw})
            for protocol in protocols:
                named = (model, committee(model)) if model not in ("chance", "mean") else (model,)
                answers += [told(study, protocol, one, seed, draw) for one in named for seed in (0, 1)]
                window_rows += [{"protocol": protocol, "model": one, "level": "window", "mean": draw} for one in named]
    pairs = [asdict(pair) for pair in paired(scored_answers(answers))]
    pairs += [{**pair, "level": "window", "draw": draw} for pair in pairs]
    rows = [{**row, "level": "recording", "metric": "MAE"} for row in window_rows] + window_rows
    head = {"command": "it", "commit": f"c{draw}", "date": "today", "machine": {}, "seeds": 2}
    head |= {"quick": False, "size": "small"}
    failures = [{"study": "clean", "turn": "all", "model": "cnn-lstm", "seed": 0, "problem": f"{draw}"}]
    lists = {"facts": facts, "failures": failures, "missing": list(missing), "pairs": pairs, "rows": rows}
    states = {study: {"unmixnet": [draw] if (study, "unmixnet") in units else []} for study, _ in units}
    return StudyResult({**head, "models": {}, "idle": {}, "studies": states, **lists}, answers)


EVERY = {(study, model) for study in WHERE for model in MODELS}


def together(found: StudyResult, before: StudyResult) -> StudyResult:
    return merged(found, before.result, before.answers, STUDIES["smellnet"])


def shown(evidence: StudyResult) -> dict:
    """All but who ran it and when, and the window pairs."""
    result = {key: evidence.result[key] for key in ("facts", "missing", "rows", "seeds")}
    pairs = {tuple(p.values()) for p in evidence.result["pairs"] if p["level"] == "recording"}
    answers = [(a.study, a.protocol, a.model, a.seed, a.values.tobytes()) for a in evidence.answers]
    return {**result, "pairs": pairs, "answers": answers}


@pytest.mark.parametrize(
    "part",
    [
        {("clean", model) for model in MODELS},
        {("clean", "ldac"), ("new-session", "mlp")},
        {("new-session", "chance"), ("clean", "unmixnet")},
        EVERY,
        set(),
    ],
)
def test_parts_in_either_order_make_the_whole(part):
    whole, first, second = run(EVERY), run(part), run(EVERY - part)
    assert shown(together(first, second)) == shown(together(second, first)) == shown(whole)


def test_a_model_that_was_run_again_takes_the_place_of_the_old_one():
    again = together(run({("clean", "ldac")}, draw=1), run(EVERY))
    rows = [row for row in again.result["rows"] if row["level"] == "window"]
    new = {(row["protocol"], row["model"]) for row in rows if row["mean"] == 1}
    assert new == {(protocol, model) for protocol in WHERE["clean"] for model in ("ldac", "ldac (committee)")}
    keys = [(row["protocol"], row["level"], row["model"], row.get("metric")) for row in again.result["rows"]]
    assert len(keys) == len(set(keys)), "nothing stands twice"
    assert [fact["draw"] for fact in again.result["facts"]] == [f["model"] == "ldac" and f["study"] == "clean" for f in
                                                                run(EVERY).result["facts"]]  # fmt: skip
    assert again.result["commit"] == "c1" and again.result["earlier"][0]["commit"] == "c0"


def test_windows_are_compared_only_within_one_run_and_recordings_always():
    again = together(run({("clean", "ldac")}, draw=1), run(EVERY)).result["pairs"]
    of_clean = [p for p in again if p["protocol"] in WHERE["clean"] and p["other"].startswith("ldac")]
    assert {p["level"] for p in of_clean} == {"recording"}
    others = [p for p in again if p["protocol"] in WHERE["clean"] and p["other"] == "mlp"]
    assert {p["level"] for p in others} == {"recording", "window"}
    both = together(run({("clean", "ldac"), ("clean", "unmixnet")}, draw=1), run(EVERY)).result["pairs"]
    seen = [p for p in both if p["level"] == "window" and p["protocol"] in WHERE["clean"]]
    assert {p["other"] for p in seen} == {"ldac", "ldac (committee)"} and {p["draw"] for p in seen} == {1}


def test_what_is_finished_now_is_no_longer_missing_and_what_was_finished_before_stays():
    before = run(EVERY - {("clean", "ldac"), ("new-session", "mlp")}, missing=("clean: ldac", "new-session: mlp"))
    again = together(run({("clean", "ldac")}, missing=("clean: unmixnet",)), before)
    assert again.result["missing"] == ["new-session: mlp"]


def test_what_stands_beside_the_rows_stays_unless_its_model_was_run():
    beside = together(run({("clean", "ldac")}, draw=1), run(EVERY)).result
    assert beside["studies"] == {"clean": {"unmixnet": [0]}, "new-session": {"unmixnet": [0]}}
    again = together(run({("clean", "unmixnet")}, draw=1), run(EVERY)).result
    assert again["studies"] == {"clean": {"unmixnet": [1]}, "new-session": {"unmixnet": [0]}}
    whole = {variant.name for study in STUDIES["smellnet"] for variant in study.variants}
    assert set(beside["models"]) == whole and set(beside["idle"]) == {study.name for study in STUDIES["smellnet"]}


def test_a_failure_is_told_once_as_it_was_last():
    (one,) = together(run({("clean", "ldac")}, draw=1), run(EVERY)).result["failures"]
    assert one["problem"] == "1"


def test_fewer_fits_do_not_take_the_place_of_more():
    few = run({("clean", "ldac")})
    few.result["facts"][0]["runs"] = 1
    with pytest.raises(ConfigError, match="ldac has 1 fits"):
        together(few, run(EVERY))


def test_the_command_line_stores_a_part_only_where_it_is_added(tmp_path):
    part, whole, target = run({("clean", "ldac")}, draw=1), run(EVERY), tmp_path / "smellnet.json"
    keep(part, target, "smellnet", add=False, part=True)
    assert not target.exists()
    quick = replace(part, result={**part.result, "quick": True})
    keep(quick, target, "smellnet", add=True, part=True)
    assert not target.exists(), "a quick run is no result"
    keep(whole, target, "smellnet", add=False, part=False)
    keep(part, target, "smellnet", add=True, part=True)
    stored = json.loads(target.read_text())
    assert stored["commit"] == "c1" and stored["earlier"][0]["commit"] == "c0"
    assert len(read_predictions(tmp_path / "predictions/smellnet.parquet")) == len(whole.answers)
    (tmp_path / "predictions/smellnet.parquet").unlink()
    with pytest.raises(UnmixError, match="no predictions are stored"):
        keep(part, target, "smellnet", add=True, part=True)


def test_a_quick_run_is_not_put_among_slow_ones():
    quick = run({("clean", "ldac")})
    quick = replace(quick, result={**quick.result, "quick": True})
    with pytest.raises(ConfigError, match="quick"):
        together(quick, run(EVERY))
