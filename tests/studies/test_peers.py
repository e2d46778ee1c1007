"""The peers, run anew, agree with what was measured independently; so do the stored tables."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from studies.peers.peers import names, run_control, run_table
from studies.peers.tables import TABLES
from studies.uci.plateau_table import run_plateaus
from unmixnet.recordings.pieces import Recall

STORED = Path(__file__).parents[2] / "studies" / "results" / "peers.json"
TABLE = {table.name: table for table in TABLES}


def _silent(name, steps):
    return lambda: None


@pytest.fixture(scope="module")
def recall(data_folder) -> Recall:
    return Recall(data_folder)


def _value(rows, model, metric, level="window"):
    (row,) = [row for row in rows if (row.model, row.metric, row.level) == (model, metric, level)]
    return row.mean


def test_base_extra_trees_and_its_controls_agree_with_the_measured_rows(recall):
    rows = run_table(replace(TABLE["base"], peers=("chance", "extra-trees")), recall, 1, _silent)
    assert _value(rows, "extra-trees", "Acc@1") == pytest.approx(0.64, abs=0.04)
    assert _value(rows, "extra-trees", "Acc@1", "recording") == pytest.approx(0.767, abs=0.06)
    assert _value(rows, "chance", "Acc@1") == pytest.approx(0.02, abs=0.02)
    (first,) = {row.mean for row in run_control("base first row", recall, 1) if row.metric == "Acc@1"}
    (surroundings,) = {row.mean for row in run_control("base environment", recall, 1) if row.metric == "Acc@1"}
    assert first == pytest.approx(0.788, abs=0.05)
    assert surroundings == pytest.approx(0.664, abs=0.05)


def test_mixture_peers_agree_with_the_measured_rows(recall):
    table = replace(
        TABLE["official"],
        protocols=("smellnet-mixture:official:seen",),
        peers=("mean", "1-NN log", "extra-trees"),
    )
    rows = run_table(table, recall, 1, _silent)
    assert _value(rows, "mean", "MAE") == pytest.approx(0.133, abs=0.003)
    assert _value(rows, "1-NN log", "MAE") == pytest.approx(0.024, abs=0.004)
    assert _value(rows, "extra-trees", "MAE") == pytest.approx(0.034, abs=0.006)
    assert all(row.n == 247 and row.lo <= row.mean <= row.hi for row in rows if row.metric == "MAE")


def test_the_nearest_training_recording_in_time_knows_the_label(recall):
    (row,) = [row for row in run_control("clean nearest in time", recall, 1) if row.metric == "MAE"]
    assert row.mean == pytest.approx(0.006, abs=0.0005)
    assert row.n == 66


def test_plateau_peers_agree_with_the_measured_rows(data_folder):
    rows = run_plateaus(data_folder, 1)
    r2 = {(row.split, row.model, row.level): row.mean for row in rows if row.metric == "R²"}
    assert r2["methane", "extra-trees log", "any plateau"] == pytest.approx(0.983, abs=0.005)
    assert r2["ethylene", "extra-trees log", "any plateau"] == pytest.approx(0.969, abs=0.005)
    assert abs(r2["methane", "mean", "any plateau"]) < 0.1


@pytest.fixture(scope="module")
def stored() -> dict:
    return json.loads(STORED.read_text())


def test_the_stored_file_says_where_it_comes_from_and_holds_every_table(stored):
    assert {"commit", "date", "machine", "command", "seeds", "models", "rows"} <= set(stored)
    fields = {"protocol", "split", "level", "model", "metric", "mean", "sd", "lo", "hi", "n", "seeds"}
    assert all(set(row) == fields for row in stored["rows"])
    protocols = {row["protocol"] for row in stored["rows"]}
    assert {name for table in TABLES for name in table.protocols} <= protocols
    assert len([row for row in stored["rows"] if row["model"].startswith("control")]) >= 6
    assert len(names()) == len(set(names()))


@pytest.mark.parametrize(
    ("protocol", "model", "metric", "level", "value", "within"),
    [
        ("smellnet-base:official", "extra-trees", "Acc@1", "window", 0.64, 0.04),
        ("smellnet-mixture:official:seen", "mean", "MAE", "window", 0.133, 0.003),
        ("smellnet-mixture:official:seen", "extra-trees", "MAE", "window", 0.034, 0.006),
        ("smellnet-mixture:official:seen", "1-NN log", "MAE", "window", 0.024, 0.004),
        ("smellnet-mixture:official:seen", "1-NN (whole recording)", "MAE", "recording", 0.019, 0.002),
        (
            "smellnet-mixture:clean:unseen",
            "15-NN log weighted (whole recording)",
            "MAE",
            "recording",
            0.104,
            0.01,
        ),
        (
            "smellnet-mixture:clean:seen",
            "15-NN log weighted (whole recording)",
            "MAE",
            "recording",
            0.069,
            0.01,
        ),
    ],
)
def test_stored_rows_agree_with_the_measured_ones(stored, protocol, model, metric, level, value, within):
    key = (protocol, model, metric, level)
    (row,) = [r for r in stored["rows"] if (r["protocol"], r["model"], r["metric"], r["level"]) == key]
    assert row["mean"] == pytest.approx(value, abs=within)
