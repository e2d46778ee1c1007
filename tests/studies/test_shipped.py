"""The shipped bundles are the ones that the tables describe."""

import json
from pathlib import Path

import pytest

from studies.smellnet import bundles as shipped
from unmixnet.inference.bundle import load_model

STORED = json.loads((Path(__file__).parents[2] / "studies/results/bundles.json").read_text())["tests"]


def test_every_shipped_bundle_is_in_the_table_by_its_digest():
    told = {(test["bundle"], test["digest"]) for test in STORED}
    assert told == {(name, load_model(name).digest) for name in shipped.SHIPPED}


def test_no_test_recording_was_seen_by_its_bundle():
    assert all(test["seen"] == [] and test["recordings"] > 0 for test in STORED)


def test_the_simulated_bundle_scores_again_what_the_table_says(monkeypatch):
    monkeypatch.setattr(shipped, "SHIPPED", {"simulated": ("simulated:unseen",)})
    (again,) = shipped.shipped_scores(None, lambda name, steps: lambda: None)
    told = next(test for test in STORED if test["split"] == "simulated:unseen")
    for key in ("coverage", "covered_present", "width"):
        assert again[key] == pytest.approx(told[key], abs=0.005)
    assert [row["mean"] for row in again["rows"]] == pytest.approx([row["mean"] for row in told["rows"]], abs=1e-3)
