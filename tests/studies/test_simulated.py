"""The simulated study with UnMixNet in it, from end to end; and how close the model's own discretisation comes."""

from dataclasses import replace

import numpy as np
import pytest

from studies.harness.definitions import chosen
from studies.harness.jobs import Options
from studies.harness.results import gather
from studies.harness.work import Work
from studies.simulator.recovery import recover

pytestmark = pytest.mark.soak


def test_a_quick_study_has_bounds_states_coefficients_and_the_inverse(tmp_path, measured):
    (study,) = chosen("simulated", ("simulated",), ("chance", "mean", "unmixnet", "direct inverse"))
    found = gather("test", (study,), None, Work(tmp_path), Options(quick=True))
    result = found.result
    assert result["quick"] and result["missing"] == [] and result["failures"] == []
    mae = {
        row["model"]: row["mean"]
        for row in result["rows"]
        if (row["metric"], row["level"], row["protocol"]) == ("MAE", "recording", "simulated:seen")
    }
    assert (
        mae["Cramér–Rao bound, support known"]
        < mae["Cramér–Rao bound, all components"]
        < min(mae[name] for name in ("mean", "unmixnet", "direct inverse"))
    )
    about = result["studies"]["simulated"]
    assert 0 < about["coherence"]["mu_whitened"] < about["coherence"]["mu_raw"] < 1
    (seed,) = about["unmixnet"]
    assert len(seed["states R²"]) == 6 and all(score["scaled"] > -0.5 for score in seed["states R²"])
    assert {error["name"] for error in seed["coefficients"]} >= {"amount · k_ads", "k_des", "gain / bend"}
    measured(
        "seconds of unmixnet, three epochs", next(f["seconds"] for f in result["facts"] if f["model"] == "unmixnet")
    )
    again = gather("test", (replace(study),), None, Work(tmp_path), Options(quick=True))
    assert again.result["rows"] == result["rows"]


def test_all_identifiable_coefficients_of_the_benchmark_come_back_within_five_per_cent(measured):
    found = recover()
    measured("worst error of an identifiable coefficient", found.worst)
    assert found.worst < 0.05 and len(found.untold) == 12 + 4
    assert np.all(found.singular[-4:] < 1e-12)
