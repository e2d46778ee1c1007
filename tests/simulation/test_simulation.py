"""Simulations at the public edge: NumPy out, names kept, failures named."""

from dataclasses import replace

import equinox as eqx
import numpy as np
import pyarrow.parquet as pq
import pytest

from unmixnet.errors import ConfigError, SolveError
from unmixnet.examples import example
from unmixnet.simulation.config import parse_simulation
from unmixnet.simulation.output import columns, summary, write_parquet
from unmixnet.simulation.problem import build
from unmixnet.simulation.simulate import simulate
from unmixnet.simulation.state_file import load_state, save_state

FREE = example("enose").replace("duration_s = 180.0", "duration_s = 10.0")
SHORT = FREE.replace("tolerance = 1e-4", "dt_s = 0.25")
"""With fixed steps."""


@pytest.fixture(scope="module")
def result():
    return simulate(parse_simulation(SHORT))


@pytest.fixture(scope="module")
def free():
    return simulate(parse_simulation(FREE))


def test_steps_of_its_own_choice_come_back_at_regular_times_and_agree_with_fixed_ones(free, result):
    np.testing.assert_allclose(free.time_s, np.arange(1, 501) * 0.02)
    assert free.steps >= 500 and free.settled_s is None and free.status == "ok"
    every = free.readout[np.searchsorted(free.time_s, result.time_s - 1e-9)]
    assert np.abs(every[1::2] - result.readout[1::2]).max() < 2e-3 * np.ptp(free.readout)


def test_rejected_steps_are_counted_and_told(free):
    told = summary(free)
    assert told["steps"] == free.steps and told["rejected_steps"] == free.rejected and told["rows"] == 500


def test_the_closure_of_adaptive_steps_is_at_rounding_too(free):
    worst = summary(free)["closure"]
    assert max(worst[k] for k in ("ms_residual", "mass_error", "ledger_error", "net_flux", "simplex_error")) < 1e-12


def test_trajectories_are_numpy_and_have_the_shape_of_the_chamber(result):
    T, V, E, M, S = 40, 8, 14, 4, 4
    assert result.mole_fraction.shape == result.moles.shape == (T, V, S)
    assert result.flux_mol_m2_s.shape == (T, E, S)
    assert result.coverage.shape == (T, M, S)
    assert result.readout.shape == (T, M)
    assert all(isinstance(a, np.ndarray) for a in (result.readout, result.ledger, result.time_s))


def test_the_closure_is_at_rounding_and_something_happened(result):
    worst = summary(result)["closure"]
    assert max(worst[k] for k in ("ms_residual", "mass_error", "ledger_error", "net_flux", "simplex_error")) < 1e-12
    assert result.moles[-1, :, 1:].sum() > 1e-8
    assert np.abs(result.readout[-1]).max() > 0.1


def test_float32_agrees_with_float64(result):
    single = simulate(parse_simulation(SHORT + '\ndtype = "float32"'))
    assert single.readout.dtype == np.float32
    np.testing.assert_allclose(single.readout, result.readout, atol=2e-4)


def test_a_table_round_trips_through_parquet(result, tmp_path):
    stored = pq.read_table(write_parquet(result, tmp_path / "deep" / "out.parquet"))
    assert stored.column_names == list(columns(result))
    np.testing.assert_array_equal(stored["readout/VOC"].to_numpy(), result.readout[:, 2])
    assert b"ms_residual" in stored.schema.metadata[b"unmixnet"]


def test_a_failed_solve_names_the_operator_and_the_step():
    problem = build(parse_simulation(SHORT))
    process = eqx.tree_at(lambda p: p.diffusion.D, problem.process, -problem.process.diffusion.D)
    broken = replace(problem, process=process)
    with pytest.raises(SolveError, match=r"diffusion, step 0.*D is not symmetric, positive and finite"):
        simulate(broken)
    held = simulate(broken, throw=False)
    assert held.status == "bad_diffusion"
    assert np.isfinite(held.readout).all()


def test_a_chamber_without_an_exit_has_no_steady_state():
    closed = SHORT.replace("flow_m3_s = 1.2e-6", "flow_m3_s = 0.0").replace("lid = 0.004, headspace = 0.0005", "")
    with pytest.raises(SolveError, match="no steady state"):
        build(parse_simulation(closed + '\nstart = "steady state"'))


def test_a_constant_source_starts_at_its_steady_state_and_stays():
    steady = SHORT.replace('profile = "rise-decay"', 'profile = "constant"').replace("e-7", "e-9")
    result = simulate(parse_simulation(steady + '\nstart = "steady state"'))
    drift = np.ptp(result.readout, axis=0) / np.abs(result.readout[0])
    assert drift.max() < 0.02
    assert result.mole_fraction[0, :, 1].min() > 1e-7


def test_a_saved_state_continues_as_if_nothing_had_happened(tmp_path, result):
    half = SHORT.replace("duration_s = 10.0", "duration_s = 5.0")
    whole_profile = parse_simulation(SHORT)
    first = build(parse_simulation(half))
    first = replace(first, process=build(whole_profile).process)
    middle = simulate(first)
    saved = load_state(save_state(middle.final, tmp_path / "mid.npz"), like=first.start)
    second = simulate(first, start=saved)
    np.testing.assert_allclose(np.concatenate([middle.readout, second.readout]), result.readout, rtol=1e-12)
    np.testing.assert_allclose(second.time_s[-1], 10.0)


def test_a_state_of_another_chamber_or_no_state_is_refused(tmp_path):
    problem = build(parse_simulation(SHORT))
    (tmp_path / "junk.npz").write_bytes(b"PK junk")
    with pytest.raises(ConfigError, match="not a saved state"):
        load_state(tmp_path / "junk.npz", like=problem.start)
    other = eqx.tree_at(lambda s: s.y, problem.start, problem.start.y[:2])
    with pytest.raises(ConfigError, match=r"y has shape \(4,\), this chamber needs \(2,\)"):
        load_state(save_state(problem.start, tmp_path / "s.npz"), like=other)
