"""The physics agrees with every oracle, and stops agreeing when a defect is put in."""

import numpy as np
import pytest

from unmixnet.simulation.validation import ORACLES, run
from unmixnet.simulation.validation.check import at_most, close
from unmixnet.simulation.validation.diffusion import cantera_flux, krishna_wesselingh, mpmath_flux
from unmixnet.simulation.validation.duncan_toor import PAIRS, duncan_toor, fick_bulbs, misses
from unmixnet.simulation.validation.langmuir import langmuir
from unmixnet.simulation.validation.loschmidt import NAMES, loschmidt, loschmidt_cell
from unmixnet.simulation.validation.splitting import danckwerts, danckwerts_outlet, radau
from unmixnet.simulation.validation.stefan_tube import stefan_tube


@pytest.mark.parametrize("name", ORACLES)
def test_the_physics_agrees_with(name):
    checks = run(name)
    assert checks, "an oracle that compares nothing proves nothing"
    failed = [f"{c.name}: {c.value} instead of {c.expected} ± {c.tolerance}" for c in checks if not c.passed]
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize(
    "defect",
    [
        pytest.param(lambda: cantera_flux(swap=True), id="O1 two diffusivities exchanged"),
        pytest.param(lambda: mpmath_flux(form="ideal"), id="O2 bordered system instead of the trace-exact one"),
        pytest.param(lambda: krishna_wesselingh(pairs=(8.33e-5, 6.08e-5, 1.68e-5)), id="O3 two digits swapped"),
        pytest.param(
            lambda: duncan_toor(pairs=(0.833e-4, 0.608e-4, 0.168e-4), cells=(1, 2, 4)), id="O4 digits swapped"
        ),
        pytest.param(lambda: duncan_toor(fick=True), id="O4 Fick instead of Maxwell–Stefan"),
        pytest.param(lambda: stefan_tube(frozen_drift=True), id="O5 air drifts"),
        pytest.param(
            lambda: loschmidt(pairs=(25.17e-6, 77.16e-6, 83.35e-6), cells=(8, 16)), id="O8 digits of CH4–Ar swapped"
        ),
        pytest.param(
            lambda: loschmidt(pairs=(21.57e-6, 71.76e-6, 83.35e-6), cells=(8, 16)), id="O8 digits of CH4–H2 swapped"
        ),
        pytest.param(lambda: loschmidt(fick=True, cells=(8, 16)), id="O8 Fick instead of Maxwell–Stefan"),
        pytest.param(lambda: langmuir(halve_desorption=True), id="O6 desorption halved"),
        pytest.param(lambda: langmuir(affinity=(0.3, 0.17, 0.05)), id="O6 dropped decade"),
        pytest.param(lambda: radau(frozen_wall=True), id="O7 wall loss forgotten"),
        pytest.param(lambda: radau(split=True), id="O7 first-order splitting instead of the symmetric step"),
        pytest.param(lambda: danckwerts(dropped_decade=True), id="cell size, dropped decade"),
        pytest.param(lambda: danckwerts(upwind=True), id="cell size, upwind instead of limited slopes"),
    ],
)
def test_an_injected_defect_fails(defect):
    assert not all(check.passed for check in defect())


def test_fick_never_lets_nitrogen_cross_and_is_three_mole_percent_off():
    fick = fick_bulbs(pairs=PAIRS)
    assert fick.crossing_h() != fick.crossing_h(), "NaN: it never crosses"
    assert abs(misses(fick) - 0.031) < 0.001


def test_argon_climbs_its_gradient_and_comes_back_whichever_gas_is_the_carrier():
    cells = [loschmidt_cell(8, carrier=carrier) for carrier in NAMES]
    for cell in cells:
        argon = cell.bottom[:, 1]
        assert argon[1] > argon[0] + 0.04 > cell.top[0, 1] + 0.04, "uphill: into the chamber that has more of it"
        assert np.all(np.diff(argon[1:]) < 0), "and back"
        assert np.max(np.abs(cell.bottom - cells[0].bottom)) < 1e-12
        assert np.max(np.abs(cell.bottom + cell.top - cell.bottom[0] - cell.top[0])) < 1e-12, "nothing is lost"


def test_fick_never_lets_argon_climb_and_is_five_mole_percent_off():
    fick = loschmidt_cell(8, form="fick", carrier="methane")
    exact = loschmidt_cell(8)
    assert np.all(np.diff(fick.bottom[:, 1]) < 0)
    assert abs(np.max(np.abs(fick.bottom - exact.bottom)) - 0.05) < 0.005


def test_fick_closed_through_argon_climbs_but_misses_too():
    fick = loschmidt_cell(8, form="fick", carrier="argon")
    assert fick.bottom[1, 1] > fick.bottom[0, 1]
    assert np.max(np.abs(fick.bottom - loschmidt_cell(8).bottom)) > 0.03


def test_the_danckwerts_formula_has_its_known_limits():
    assert abs(danckwerts_outlet(1e-4, 1.0) - 0.5) < 1e-3, "well mixed: 1/(1 + Da)"
    assert abs(danckwerts_outlet(200.0, 1.0) - 0.3679) < 5e-3, "plug flow: e^-Da"


def test_a_check_of_nan_never_passes():
    assert not at_most("o", "n", float("nan"), 1.0).passed
    assert not close("o", "n", float("nan"), 0.0, 1.0).passed
    assert at_most("o", "n", float("nan"), 1.0).row()["value"] is None
