"""Coefficients come back from clean data where they are identifiable, and the others are named."""

import numpy as np
import pytest

from studies.simulator.recovery import Recovery, recover
from unmixnet.simulation.simulated_nose import Setting


@pytest.fixture(scope="module")
def found() -> Recovery:
    return recover(Setting(sensors=2), substances=2)


def test_identifiable_coefficients_come_back_within_five_per_cent(found):
    told = {one.name: one for one in found.combinations if one.identifiable.all()}
    assert {"amount · k_ads", "k_des", "beta · bend", "gain / bend", "lag rise", "release decay"} <= set(told)
    assert found.worst < 0.05
    assert found.misfit[0] > 0.05 > 1e-6 > found.misfit[1]


def test_what_no_recording_tells_is_one_exchange_per_substance_and_one_per_sensor(found):
    assert len(found.untold) == 2 + 2
    told = {one.name: one.identifiable for one in found.combinations}
    for name in ("amount", "k_ads", "beta", "gain", "bend"):
        assert not told[name].any()
    about = " ".join(found.untold)
    assert all(word in about for word in ("amount 1", "amount 2", "k_ads", "beta", "bend"))


def test_twin_coefficients_that_nothing_tells_do_not_come_back(found):
    error = {one.name: one.error for one in found.combinations}
    assert np.max(error["beta"]) > 0.05 and np.max(error["gain"]) > 0.05


def test_the_summary_is_plain(found):
    import json

    assert json.loads(json.dumps(found.summary()))["untold directions"] == 4
