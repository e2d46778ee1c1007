"""The physics agrees with every oracle, and stops agreeing when a defect is put in."""

import pytest

from unmixnet.simulation.validation import ORACLES, run
from unmixnet.simulation.validation.check import at_most, close
from unmixnet.simulation.validation.diffusion import cantera_flux, krishna_wesselingh, mpmath_flux
from unmixnet.simulation.validation.duncan_toor import PAIRS, duncan_toor, fick_bulbs, misses
from unmixnet.simulation.validation.langmuir import langmuir
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
        pytest.param(lambda: langmuir(halve_desorption=True), id="O6 desorption halved"),
        pytest.param(lambda: langmuir(affinity=(0.3, 0.17, 0.05)), id="O6 dropped decade"),
        pytest.param(lambda: radau(frozen_wall=True), id="O7 wall loss forgotten"),
        pytest.param(lambda: danckwerts(dropped_decade=True), id="cell size, dropped decade"),
    ],
)
def test_an_injected_defect_fails(defect):
    assert not all(check.passed for check in defect())


def test_fick_never_lets_nitrogen_cross_and_is_three_mole_percent_off():
    fick = fick_bulbs(pairs=PAIRS)
    assert fick.crossing_h() != fick.crossing_h(), "NaN: it never crosses"
    assert abs(misses(fick) - 0.031) < 0.001


def test_the_danckwerts_formula_has_its_known_limits():
    assert abs(danckwerts_outlet(1e-4, 1.0) - 0.5) < 1e-3, "well mixed: 1/(1 + Da)"
    assert abs(danckwerts_outlet(200.0, 1.0) - 0.3679) < 5e-3, "plug flow: e^-Da"


def test_a_check_of_nan_never_passes():
    assert not at_most("o", "n", float("nan"), 1.0).passed
    assert not close("o", "n", float("nan"), 0.0, 1.0).passed
    assert at_most("o", "n", float("nan"), 1.0).row()["value"] is None
