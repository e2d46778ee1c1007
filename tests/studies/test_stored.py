"""The stored evidence is the whole of it: every network on SmellNet and in the ablation, as its study asks for it."""

import json
from pathlib import Path

import pytest

from studies.harness.definitions import STUDIES, Study
from studies.harness.jobs import Options, idle
from studies.harness.variants import Network

RESULTS = Path(__file__).parents[2] / "studies" / "results"
FILES = {"smellnet": ("smellnet", 10), "smellnet-paper": ("smellnet", 3), "ablation": ("ablation", 3)}
"""Command, and seeds that it is given."""


def asked(studies: tuple[Study, ...], seeds: int) -> dict[tuple[str, str], int]:
    """Seeds of every network on every protocol."""
    return {
        (protocol, variant.name): min(seeds, study.most_seeds, variant.most_seeds)
        for study in studies
        for variant in study.variants
        if isinstance(variant, Network) and variant.name not in idle(study, Options())
        for protocol in study.protocols
    }


def lacking(record: dict, wanted: dict[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """What is asked for and not stored, with the seeds that are."""
    there = {
        (row["protocol"], row["model"]): row["seeds"] for row in record["rows"] if row["metric"] in ("MAE", "Acc@1")
    }
    return {key: there.get(key, 0) for key, seeds in wanted.items() if there.get(key, 0) != seeds}


def of_file(file: str) -> tuple[dict, tuple[Study, ...], int]:
    """A result file, the studies that it is of, and its seeds."""
    command, seeds = FILES[file]
    studies = tuple(study for study in STUDIES[command] if file != "smellnet-paper" or study.name == "clean")
    return json.loads((RESULTS / f"{file}.json").read_text()), studies, seeds


@pytest.mark.parametrize("file", FILES)
def test_every_network_has_the_seeds_that_its_study_asks_for(file):
    record, studies, seeds = of_file(file)
    assert not lacking(record, asked(studies, seeds))
    assert not record["missing"] and not record["failures"] and not record["quick"]


@pytest.mark.parametrize("file", FILES)
def test_what_is_said_of_a_network_is_what_its_study_says_now(file):
    record, studies, _ = of_file(file)
    now = {(study.name, variant.name): variant.note for study in studies for variant in study.variants}
    said = {(fact["study"], fact["model"]): fact["note"] for fact in record["facts"]}
    assert said == {key: now[key] for key in said}


def test_twin_a_seed_too_few_is_noticed():
    wanted = asked(STUDIES["smellnet"], 10)
    rows = [{"protocol": p, "model": m, "metric": "MAE", "seeds": seeds} for (p, m), seeds in wanted.items()]
    rows[3] |= {"seeds": rows[3]["seeds"] - 1}
    assert [*lacking({"rows": rows[1:]}, wanted)] == [*wanted][0:4:3]
