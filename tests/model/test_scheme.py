"""Models and data sets name the scheme of their solver; those that name none are of the first order."""

import dataclasses
import json
from pathlib import Path

import jax
import numpy as np
import pytest

import unmixnet
from unmixnet.model.settings import Settings
from unmixnet.simulation.simulated_nose import FOODS, Setting, fine_chamber, solve

from .tiny import inference, model, ratios, windows

SECOND = Setting(world=dataclasses.replace(FOODS, scheme="second order"))


def test_a_model_without_a_name_is_of_the_first_order():
    assert Settings().scheme == "first order"
    assert model().policy().order == 1
    assert model(scheme="second order").policy().order == 2


@pytest.mark.parametrize("config", sorted(Path(unmixnet.__file__).parent.glob("bundles/*/config.json")), ids=str)
def test_shipped_models_are_of_the_first_order(config):
    assert (
        json.loads(config.read_text(encoding="utf-8"))["config"]["model"].get("scheme", "first order") == "first order"
    )


def test_the_schemes_give_nearly_the_same_trace_and_not_the_same():
    Y, a = windows(1)[0], ratios(1)[0]

    def trace(scheme):
        drawn = model(scheme=scheme, start="clean air", release="rise-decay")
        return np.asarray(jax.jit(lambda i, y: drawn.reconstruct(i, y[0], len(Y), shares=a).y)(inference(0), Y))

    first, second = trace("first order"), trace("second order")
    off = np.max(np.abs(first - second)) / np.ptp(first)
    assert np.ptp(first) > 0 and 1e-6 < off < 0.2


def test_a_simulated_recording_of_the_second_order_reads_the_middle_of_its_cells():
    assert all(sensor.beside is None for sensor in fine_chamber(Setting()).chamber.sensors)
    assert all(sensor.beside is not None for sensor in fine_chamber(SECOND).chamber.sensors)


@pytest.mark.soak
def test_recordings_of_both_schemes_are_near_each_other():
    share = np.eye(12)[:1]
    first, second = (solve(setting, share, every=100).y for setting in (Setting(), SECOND))
    assert 1e-4 < np.max(np.abs(first - second)) / np.ptp(first) < 0.2
