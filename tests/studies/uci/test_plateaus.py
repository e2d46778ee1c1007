"""The plateau law is recovered from tables that it made, and concentrations from readings."""

from dataclasses import replace

import numpy as np
import pytest

from studies.uci.least_squares import robust_fit, standard_errors
from studies.uci.plateau_fit import fit_plateaus
from studies.uci.plateau_inverse import FORMS, choose_form, infer_after
from studies.uci.steady_response import Exchange
from tests.studies.uci import rigs
from unmixnet.errors import UnmixError
from unmixnet.recordings.formats.uci_plateaus import Plateaus

LANGMUIR = next(form for form in FORMS if form.name == "Langmuir")
CLIFFORD = next(form for form in FORMS if form.name == "Clifford")


@pytest.fixture(scope="module")
def table():
    return rigs.table(170)


@pytest.fixture(scope="module")
def law(table):
    return fit_plateaus(table.part(0, 120), LANGMUIR)


def test_exchange_is_recovered(law):
    assert law.solution.converged
    np.testing.assert_allclose(law.exchange.tau_s, rigs.EXCHANGE.tau_s, rtol=0.1)
    np.testing.assert_allclose(law.exchange.slow, rigs.EXCHANGE.slow, rtol=0.2)


def test_parameters_of_the_sensors_are_recovered_within_their_errors(law):
    """Of the sensors that saturate: the others leave K to the prior, and say so."""
    errors = dict(zip(law.names, standard_errors(law.solution), strict=True))
    for type_, sensor in (("TGS2600", 2), ("TGS2610", 4), ("TGS2620", 6)):
        for column, j in (("log A1", 1), ("log A2", 2), ("log K1", 3)):
            off = abs(law.P[sensor, j] - rigs.parameters()[sensor, j])
            assert off < 4 * errors[f"{column} {type_}"] + 0.03, (type_, column)


def test_concentrations_are_inferred_forward_in_time(table, law):
    rest = table.part(120, 170)
    found, settled = infer_after(law, table.part(0, 120), rest), rest.duration_s >= 30
    error = np.abs(found.ppm - rest.exposure_ppm)[settled]
    assert np.all(error.mean(axis=0) < [4.0, 0.4])
    assert np.all((found.ppm > 0)[settled] == (rest.exposure_ppm > 0)[settled])


def test_inference_never_looks_at_the_set_points_of_its_rows(table, law):
    rest = table.part(120, 150)
    blind = Plateaus(
        rest.start_s, rest.duration_s, rest.gases, np.full_like(rest.exposure_ppm, np.nan), rest.sensors, rest.readings
    )
    fitted = table.part(0, 120)
    np.testing.assert_array_equal(infer_after(law, fitted, rest).ppm, infer_after(law, fitted, blind).ppm)


def test_twin_a_law_that_forgets_the_chamber_infers_gas_that_is_gone(table, law):
    rest, fitted = table.part(120, 170), table.part(0, 120)
    forgetful = replace(law, exchange=Exchange(0.0, np.array([1e-3, 1e-3]), law.exchange.slow))
    error, wrong = (
        np.abs(infer_after(one, fitted, rest).raw_ppm - rest.exposure_ppm).mean() for one in (law, forgetful)
    )
    assert wrong > 1.5 * error


def test_the_form_that_made_the_table_is_chosen(table):
    best, other = choose_form(table, (CLIFFORD, LANGMUIR))
    assert best.form is LANGMUIR
    assert best.error < other.error


def test_a_table_too_short_to_fit_is_refused(table):
    with pytest.raises(UnmixError, match="expected at least 20"):
        fit_plateaus(table.part(0, 12), LANGMUIR)


def test_errors_of_a_straight_line_are_the_textbook_ones():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(400), rng.normal(size=400)])
    y = X @ [1.0, 2.0] + 0.1 * rng.normal(size=400)
    solution = robust_fit(lambda z: X @ z - y, lambda z: X, np.zeros(2), width=np.ones(2), scale=1e6, steps=20)
    exact = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(solution.z, exact, atol=1e-6)
    s2 = np.sum((y - X @ exact) ** 2) / 398
    np.testing.assert_allclose(standard_errors(solution), np.sqrt(s2 * np.diag(np.linalg.inv(X.T @ X))), rtol=1e-3)


def test_an_outlier_moves_a_robust_fit_less():
    X, y = np.ones((50, 1)), np.zeros(50)
    y[0] = 100.0
    plain, robust = (
        robust_fit(lambda z: X @ z - y, lambda z: X, np.ones(1), width=np.ones(1), scale=s, steps=100).z[0]
        for s in (1e6, 0.1)
    )
    assert plain == pytest.approx(2.0)
    assert abs(robust) < 0.01
