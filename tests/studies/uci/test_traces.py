"""The dynamic response against an independent solver, and its recovery from traces at uneven times."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from studies.uci.dynamic_response import SENSOR_COLUMNS, SHARED_COLUMNS, Programme, changes_of, simulate
from studies.uci.trace_fit import NULLS, Prior, SensorTrace, bootstrap_trace, fit_trace, linear_lag, thinned
from tests.studies.uci import rigs
from unmixnet.errors import UnmixError

CUT_S = 600.0


def by_scipy(programme: Programme, time_s: np.ndarray, shared: np.ndarray, sensor: np.ndarray) -> np.ndarray:
    """The equations of the docstring, written again."""
    tau_c, delay, *v = np.exp(shared[:4])
    b, _, S, K, k, tau = (
        sensor[0],
        0,
        np.exp(sensor[2:4]),
        np.exp(sensor[4:6]),
        np.exp(sensor[6:8]),
        np.exp(sensor[8]),
    )

    def inlet(t, i):
        value = programme.c[0, i]
        for j in range(1, len(programme.c)):
            old, new = programme.c[j - 1, i], programme.c[j, i]
            late = delay + (v[i] / new if old == 0 and new > 0 else 0)
            value = value + (new - old) * (t >= programme.start_s[j] + late)
        return value

    def rate(t, s):
        x, theta, y = s[:2], s[2:4], s[4]
        goal = b + np.log1p(S @ theta)
        dx = [(inlet(t, i) - x[i]) / tau_c for i in range(2)]
        return [*dx, *(k * (K * x * (1 - theta.sum()) - theta)), (goal - y) / tau]

    begin = [*programme.c[0], 0.0, 0.0, b]
    return solve_ivp(rate, (0, time_s[-1]), begin, t_eval=time_s, max_step=0.5, rtol=1e-7).y[4]


@pytest.fixture(scope="module")
def trace():
    return rigs.trace()


@pytest.fixture(scope="module")
def law(trace):
    return fit_trace(thinned(trace.between(0, CUT_S), 2.0), Prior.wide(1), dt_s=1.0, steps=40)


def test_the_response_is_the_solution_of_its_equations(trace):
    time_s = np.linspace(0, 850, 300)
    ours = simulate(rigs.SHARED[None], rigs.SENSOR[None, None], trace.programme, time_s, dt_s=0.1)[0, :, 0]
    theirs = by_scipy(trace.programme, time_s, rigs.SHARED, rigs.SENSOR)
    np.testing.assert_allclose(ours, theirs, atol=2e-3)
    assert np.ptp(ours) > 0.5, "something happened"


def test_twin_another_delay_is_another_solution(trace):
    time_s = np.linspace(0, 850, 300)
    late = rigs.SHARED + np.array([0, 0.5, 0, 0, 0])
    ours = simulate(late[None], rigs.SENSOR[None, None], trace.programme, time_s, dt_s=0.1)[0, :, 0]
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(ours, by_scipy(trace.programme, time_s, rigs.SHARED, rigs.SENSOR), atol=0.05)


def test_the_step_hardly_matters(trace):
    time_s = np.linspace(0, 850, 200)
    coarse, fine = (
        simulate(rigs.SHARED[None], rigs.SENSOR[None, None], trace.programme, time_s, dt_s=dt) for dt in (1.0, 0.05)
    )
    np.testing.assert_allclose(coarse, fine, atol=0.02)


def test_a_recording_that_starts_in_gas_starts_steady():
    programme = Programme(np.array([0.0]), np.array([[1.0, 0.5]]))
    y = simulate(rigs.SHARED[None], rigs.SENSOR[None, None], programme, np.linspace(0, 500, 50))
    np.testing.assert_allclose(y, y[0, 0, 0], atol=1e-9)


def test_only_a_gas_that_was_shut_off_purges_its_line():
    shared = rigs.SHARED.copy()
    shared[3] = np.log(60.0)
    base = simulate(
        shared[None],
        rigs.SENSOR[None, None],
        Programme(np.array([0.0, 50.0]), np.array([[0, 1.0], [0, 2.0]])),
        np.array([0.0, 70.0]),
    )
    onset = simulate(
        shared[None],
        rigs.SENSOR[None, None],
        Programme(np.array([0.0, 50.0]), np.array([[0, 0.0], [0, 2.0]])),
        np.array([0.0, 70.0]),
    )
    assert base[0, 1, 0] > base[0, 0, 0] + 1e-3
    assert onset[0, 1, 0] == pytest.approx(onset[0, 0, 0], abs=1e-9)


def test_the_programme_is_read_off_the_set_points():
    programme = changes_of(np.arange(5.0), np.array([[0, 0], [0, 0], [1, 0], [1, 2], [1, 2]]))
    np.testing.assert_array_equal(programme.start_s, [0, 2, 3])
    np.testing.assert_array_equal(programme.c, [[0, 0], [1, 0], [1, 2]])


def test_unseen_transitions_are_forecast_from_set_points_alone(trace, law):
    rest = trace.between(CUT_S, np.inf)
    error = law.forecast(rest.programme, rest.time_s) - rest.readings
    rmse = np.sqrt(np.mean(error**2)) / np.ptp(rest.readings)
    nulls = {
        name: np.sqrt(np.mean((null(trace.between(0, CUT_S), rest.time_s) - rest.readings) ** 2))
        / np.ptp(rest.readings)
        for name, null in NULLS.items()
    }
    assert rmse < 0.05
    assert rmse < 0.5 * min(nulls.values()), nulls


def test_time_constants_are_recovered_within_their_errors(law):
    for name in ("log tau_c", "log delay", "log v2"):
        i = SHARED_COLUMNS.index(name)
        assert abs(law.shared[i] - rigs.SHARED[i]) < 4 * law.shared_se[i] + 0.1, name
    for name in ("b", "log k1", "log k2"):
        j = SENSOR_COLUMNS.index(name)
        assert abs(law.sensors[0, j] - rigs.SENSOR[j]) < 4 * law.sensors_se[0, j] + 0.1, name


def test_a_parameter_held_fixed_has_no_error(law):
    assert law.sensors_se[0, SENSOR_COLUMNS.index("w")] == 0
    assert law.shared[SHARED_COLUMNS.index("log tau_w")] == Prior.wide(1).shared[4]


def test_thinning_keeps_means_and_true_times(trace):
    thin = thinned(trace, 5.0)
    first = trace.time_s < 5
    assert thin.time_s[0] == pytest.approx(trace.time_s[first].mean())
    assert thin.readings[0, 0] == pytest.approx(trace.readings[first, 0].mean())


def test_bad_readings_are_passed_over(trace):
    spoilt = replace(trace, readings=trace.readings.copy())
    spoilt.readings[::7] = -50.0
    assert np.nanmin(thinned(spoilt, 5.0).readings) > 0


def test_a_bootstrap_refits_around_the_fit(trace, law):
    drawn = bootstrap_trace(thinned(trace.between(0, CUT_S), 4.0), law, Prior.wide(1), resamples=3, dt_s=2.0)
    assert drawn.shape == (3, 5 + len(SENSOR_COLUMNS))
    assert np.all(np.abs(drawn[:, 5] - law.sensors[0, 0]) < 0.05)
    assert np.ptp(drawn[:, 5]) > 0


def test_too_few_readings_are_refused(trace):
    with pytest.raises(UnmixError, match="readings for"):
        fit_trace(trace.between(0, 1.0), Prior.wide(1))


def test_the_linear_null_is_exact_on_a_linear_trace():
    time_s = np.arange(0, 400, 1.0)
    programme = Programme(np.array([0.0, 100.0, 200.0]), np.array([[0, 0], [1.0, 0], [0, 2.0]]))
    u1 = np.where(time_s > 105, -np.expm1(-(time_s - 105) / 20), 0) + np.where(
        time_s > 205, np.expm1(-(time_s - 205) / 20), 0
    )
    u2 = np.where(time_s > 205, -2 * np.expm1(-(time_s - 205) / 20), 0)
    y = (100 + 30 * u1 + 10 * u2)[:, None]
    made = SensorTrace(time_s, y, programme, ("s01",), ("CO", "ethylene"))
    np.testing.assert_allclose(linear_lag(made, time_s), y, rtol=1e-6)
