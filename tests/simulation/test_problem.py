"""A problem carries how it is solved; its rollout can be compiled, batched and differentiated."""

import doctest
import math
import re
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import unmixnet as um
from unmixnet.errors import ConfigError
from unmixnet.physics.rollout import Policy, rollout
from unmixnet.physics.state import Status, with_samples
from unmixnet.simulation.output import columns, write_parquet
from unmixnet.simulation.plots import draw_simulation
from unmixnet.simulation.problem import Problem
from unmixnet.simulation.simulate import simulate

SHORT = um.example("enose").replace("duration_s = 180.0", "duration_s = 8.0")
BULBS = """
[chamber]
builder = "two_bulbs"
options = { n_capillary = 4 }
[conditions]
temperature_K = 308.35
[species]
gases = ["H2", "N2", "CO2"]
[[start]]
cells = ["bulb1", "capillary[0-1]"]
fractions = { H2 = 0.5388, N2 = 0.4612 }
[[start]]
cells = ["bulb2", "capillary[2-3]"]
fractions = { nitrogen = 0.5215, CO2 = 0.4785 }
[run]
duration_s = 3600.0
save_every_s = 1800.0
"""


@pytest.fixture(scope="module")
def problem():
    return um.build(um.parse_simulation(SHORT))


def released(problem, amount):
    """The coefficients with other amounts."""
    return eqx.tree_at(lambda p: p.source.amount, problem.process, amount)


# ---------------------------------------------------------------- rollout


def test_without_a_step_the_rows_are_those_of_simulate(problem):
    run = problem.rollout()
    assert run.saved.y.shape == (len(problem.times_s), 4) and int(run.steps) >= len(problem.times_s) - 1
    np.testing.assert_allclose(run.final.t, 8.0)


def test_fixed_steps_work_inside_jit_vmap_and_grad(problem):
    amount = problem.process.source.amount

    @jax.jit
    def last(amount):
        return problem.rollout(released(problem, amount), dt_s=1.0).saved.y[-1]

    batch = jax.vmap(last)(amount * jnp.array([[1.0], [2.0]]))
    np.testing.assert_allclose(batch[0], last(amount), rtol=1e-10)
    slope = jax.grad(lambda amount: last(amount)[1])(amount)
    step = 1e-4 * amount * jnp.array([1, 0, 0])
    difference = (last(amount + step) - last(amount - step))[1] / (2 * step[0])
    np.testing.assert_allclose(slope[0], difference, rtol=1e-5)


def test_steps_of_its_own_choice_work_inside_jit_and_agree_with_short_fixed_steps(problem):
    free = jax.jit(lambda amount: problem.rollout(released(problem, amount)).final.y)(problem.process.source.amount)
    fixed = problem.rollout(dt_s=0.1).final.y
    np.testing.assert_allclose(free, fixed, atol=1e-3 * np.abs(fixed).max())


def test_a_batch_with_its_own_axis_is_what_each_sample_is(problem):
    amounts = problem.process.source.amount[:, None] * jnp.array([1.0, 3.0])
    process = eqx.tree_at(lambda p: p.source.amount, with_samples(problem.process), amounts)
    both = problem.rollout(process, start=with_samples(problem.start), dt_s=1.0).saved.y
    alone = problem.rollout(released(problem, amounts[:, 1]), dt_s=1.0).saved.y
    np.testing.assert_allclose(both[..., 1], alone, rtol=1e-9, atol=1e-14)


def test_a_step_has_as_many_stages_as_keep_the_limiter_idle():
    tube = um.parse_simulation(
        {
            "species": {"gases": ["CH4", "Ar", "H2"]},
            "start": [{"cells": ["c[0-7]"], "fractions": {"Ar": 0.5, "H2": 0.5}}],
            "run": {"duration_s": 40, "dt_s": 10},
        }
    )
    problem = um.build(tube, chamber=um.chain(16, sensors=0))
    assert problem.policy().stages > 10
    assert problem.rollout(save=()).status == Status.OK
    # twin: what anybody got who called the rollout without a policy
    dt = jnp.asarray(10.0)
    bare = rollout(problem.process, problem.geometry, problem.start, dt, 4, save=(), policy=Policy(order=2, stages=2))
    assert bare.status == Status.LIMITED


def test_the_first_order_scheme_is_the_papers_with_its_substeps():
    text = SHORT.replace("tolerance = 1e-4", 'dt_s = 4.0\nscheme = "first order"')
    problem = um.build(um.parse_simulation(text))
    policy = problem.policy()
    assert policy.order == 1 and policy.substeps_advection == math.ceil(problem.chamber.cfl(4.0))
    assert simulate(problem).status == "ok"


def test_float32_is_carried_into_the_rollout():
    problem = um.build(um.parse_simulation(SHORT + '\ndtype = "float32"'))
    with jax.enable_x64(False):
        assert problem.rollout(dt_s=1.0).saved.y.dtype == np.float32


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"save": ("z",)}, "cannot be saved"),
        ({"dt_s": -1.0}, "dt_s"),
        ({"dt_s": "fast"}, "dt_s"),
        ({"dt_s": True}, "dt_s"),
        ({"dt_s": float("nan")}, "dt_s"),
        ({"dt_s": 1e9}, "stages"),
    ],
)
def test_what_a_rollout_cannot_do_is_refused(problem, options, says):
    with pytest.raises(um.UnmixError, match=says) as refused:
        problem.rollout(**options)
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("duration", "rows", "first"), [(180.0, 360, 0.5), (43200.0, 432, 100.0), (1.0, 500, 0.002), (7.0, 350, 0.02)]
)
def test_the_times_that_come_back_are_round_and_near_five_hundred(problem, duration, rows, first):
    times = replace(problem, duration_s=duration).times_s
    assert len(times) == rows and times[0] == pytest.approx(first) and times[-1] == duration


# ---------------------------------------------------------------- compositions, mixtures of equals


@pytest.fixture(scope="module")
def bulbs():
    return simulate(um.parse_simulation(BULBS))


def test_duncan_and_toors_bulbs_run_as_a_file_without_source_and_sensors(bulbs):
    result = bulbs
    assert result.species == ("H2", "N2", "CO2") and result.readout.shape == (2, 0)
    # after one hour, with a quasi-steady capillary
    np.testing.assert_allclose(result.mole_fraction[-1, 0], (0.4744, 0.4927, 0.0329), atol=2e-3)
    assert result.ledger.max() < 1e-12 and result.moles.min() >= 0


def test_a_gas_that_half_the_chamber_lacks_stops_no_other(bulbs):
    """Index 0 is missing from bulb 2: what rounding asks of it there must not limit the rest, nor shorten the steps."""
    assert bulbs.status == "ok" and bulbs.steps < 100


def test_the_order_of_the_gases_changes_nothing(bulbs):
    other = simulate(um.parse_simulation(BULBS.replace('"H2", "N2", "CO2"', '"CO2", "H2", "N2"')))
    np.testing.assert_allclose(other.mole_fraction[-1], bulbs.mole_fraction[-1][:, [2, 0, 1]], atol=1e-5)


def test_tables_and_figures_cope_without_sensors(bulbs, tmp_path):
    assert not [name for name in columns(bulbs) if name.startswith(("readout", "coverage"))]
    assert write_parquet(bulbs, tmp_path / "o.parquet").stat().st_size > 1000
    assert draw_simulation(bulbs, tmp_path / "o.png").stat().st_size > 1000


def test_one_well_mixed_cell_is_rinsed_exponentially(tmp_path):
    cell = {"name": "tank", "volume_m3": 1e-4, "inlet_m3_s": 1e-6, "outlet_m3_s": 1e-6}
    tables = {"chamber": {"cells": [cell]}, "species": {"odorants": ["Ar"]}, "inlet": {"fractions": [[0.01]]}}
    result = simulate(um.parse_simulation(tables | {"run": {"duration_s": 200, "save_every_s": 50}}))
    np.testing.assert_allclose(result.mole_fraction[:, 0, 1], 0.01 * (1 - np.exp(-result.time_s / 100)), rtol=1e-3)
    assert draw_simulation(result, tmp_path / "o.png").stat().st_size > 1000


def test_a_composition_in_python_is_that_of_the_file():
    tables = {"species": {"gases": ["H2", "N2", "CO2"]}, "conditions": {"temperature_K": 308.35}}
    run = {"run": {"duration_s": 3600.0}}
    bulbs = um.build(um.parse_simulation(tables | run), chamber=um.two_bulbs(4)).with_composition(
        {
            "bulb1": {"hydrogen": 0.5388, "N2": 0.4612},
            "capillary[0-1]": {"N2": 0.4612},
            "bulb2": {"N2": 0.5215, "CO2": 0.4785},
            "capillary[2-3]": {"N2": 0.5215, "CO2": 0.4785},
        }
    )
    np.testing.assert_allclose(bulbs.start.N, um.build(um.parse_simulation(BULBS)).start.N, rtol=1e-12)


@pytest.mark.parametrize(
    ("composition", "says"),
    [
        ({"bulb3": {"N2": 0.1}}, "not a cell"),
        ({"bulb1": {"N2": 0.7, "CO2": 0.4}}, "sum to 1.1"),
        ({"bulb1": {"H2": 0.7, "CO2": 0.2}}, "sum to 0.9"),
        ({"bulb1": {"Xe": 0.7}}, "not a species of this mixture"),
        ({"bulb1": {"N2": -0.1}}, "from 0 to 1"),
        ({"bulb1": {"N2": float("nan")}}, "from 0 to 1"),
        ({"bulb1": {"N2": True}}, "from 0 to 1"),
        ({"bulb1": 0.5}, "expected fractions by species"),
        (["bulb1"], "expected a composition by cell"),
    ],
)
def test_a_composition_that_cannot_be_is_refused(composition, says):
    problem = um.build(um.parse_simulation(BULBS))
    with pytest.raises(ConfigError, match=re.escape(says)) as refused:
        problem.with_composition(composition)
    assert refused.value.where and refused.value.remedy


def test_parts_divide_every_cell_and_names_mean_all_of_them():
    text = SHORT.replace('builder = "portable_enose"', 'builder = "portable_enose"\nparts = 3')
    fine, coarse = (um.build(um.parse_simulation(each)) for each in (text, SHORT))
    assert len(fine.chamber.cells) == 24 and len(fine.chamber.sensors) == 4
    lid = [i for i, cell in enumerate(fine.chamber.cells) if cell.name.startswith("lid.")]
    assert np.all(np.asarray(fine.process.wall)[1:, lid] == 0.004)
    np.testing.assert_allclose(fine.chamber.volume_m3.sum(), coarse.chamber.volume_m3.sum())
    np.testing.assert_allclose(fine.process.source.p_src.sum(), 1)


def test_fixed_cells_hold_the_first_gas_unless_told_otherwise():
    tables = {
        "chamber": {"builder": "chain", "options": {"n_cells": 4, "fixed_ends": True}},
        "species": {"odorants": ["acetone"]},
        "fixed": {"c0": {"fractions": [[0.1]]}},
        "run": {"duration_s": 4000, "until_steady": 1e-4},
    }
    result = simulate(um.parse_simulation(tables))
    np.testing.assert_allclose(result.mole_fraction[-1, :, 1], np.linspace(0.1, 0, 4), atol=4e-3)
    assert result.settled_s is not None and result.time_s[-1] < 4000
    assert result.time_s[-2] < result.settled_s <= result.time_s[-1]


@pytest.mark.parametrize("name", ["rollout", "with_composition"])
def test_the_example_of_a_method_runs(name):
    (found,) = doctest.DocTestFinder(recurse=False).find(getattr(Problem, name), name, module=False)
    assert found.examples and doctest.DocTestRunner().run(found).failed == 0
