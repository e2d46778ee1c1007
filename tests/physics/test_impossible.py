"""A hundred impossible problems: each ends with a status, at once, and never with NaN, in values or derivatives."""

import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.cases import DT, GEOMETRY, has_nan, normwise, problem
from tests.physics.batch import side_by_side
from unmixnet.physics.adaptive import rollout_adaptive
from unmixnet.physics.rollout import SAVEABLE, Policy, rollout
from unmixnet.physics.state import Status, with_samples, without_samples

NAN, INF = np.nan, np.inf
HUGE, TINY = 1e200, 1e-200
PROCESS, START = problem(0, odorant_fraction=1e-2)
OPERATORS = {
    Status.BAD_DIFFUSION: {
        "diffusion.D": [0.0, -1e-5, NAN, INF, -INF, HUGE, TINY],
        "diffusion.scale": [0.0, -1.0, NAN, INF, TINY],
        "wall": [-1.0, NAN, INF, HUGE],
    },
    Status.BAD_ADSORPTION: {
        "surface.k_ads": [-1.0, NAN, INF, HUGE],
        "surface.k_des": [-1.0, NAN, INF, HUGE],
        "surface.sites": [-1.0, NAN, INF],
    },
    Status.BAD_READOUT: {
        "readout.tau_rise": [0.0, -1.0, NAN, INF, TINY],
        "readout.tau_recovery": [0.0, -1.0, NAN, INF],
        "readout.beta": [-1.0, NAN, INF],
        "readout.gain": [-1.0, NAN, INF],
        "readout.baseline": [NAN, INF, HUGE],
        "readout.g.k": [-1.0, NAN],
    },
    Status.BAD_SOURCE: {
        "source.amount": [-1.0, NAN, INF, HUGE],
        "source.p_src": [-1.0, NAN, INF, 2.0],
        "source.profile.tau_rise": [0.0, -1.0, NAN, INF],
        "source.profile.tau_decay": [0.0, -1.0, NAN],
        "source.profile.t_max": [0.0, -1.0, NAN],
        "source.vaporisation": [NAN, INF],
    },
    Status.BAD_ADVECTION: {
        "flow.velocity": [NAN, INF, -INF, HUGE],
        "flow.outlet_flow": [-1.0, NAN, INF],
        "flow.inlet_flow": [-1.0, NAN, INF],
    },
    Status.BAD_OPENING: {"inlet.values": [-1.0, NAN, INF]},
    Status.BAD_CONDITIONS: {
        "conditions.temperature": [0.0, -300.0, NAN, INF],
        "conditions.pressure": [0.0, -1.0, NAN],
        "conditions.humidity": [-1.0, NAN],
    },
    Status.BAD_STATE: {"N": [-1.0, NAN, INF], "theta": [-1.0, NAN, INF, 0.7], "y": [NAN, INF]},
}
CASES = [
    (f"{path}={value}", path, value, status)
    for status, paths in OPERATORS.items()
    for path in paths
    for value in paths[path]
]
OWN = [(path, OPERATORS[status][path][0], status) for status in OPERATORS for path in OPERATORS[status]]
OWN = [case for case in OWN if case[0] != "diffusion.D"]
"""Leaves that each sample of a batch has of its own; a matrix D it shares."""


def leaf_at(tree, path: str):
    for name in path.split("."):
        tree = getattr(tree, name)
    return tree


def spoil(tree, path: str, value: float, everywhere: bool):
    """The tree with one entry, or all entries, of the leaf at `path` replaced."""

    old = leaf_at(tree, path)
    new = (
        jnp.full_like(old, value)
        if everywhere
        else old.ravel().at[-2 if old.size > 1 else 0].set(value).reshape(old.shape)
    )
    return eqx.tree_at(lambda tree: leaf_at(tree, path), tree, new)


def geometry_of(start):
    """The chamber for one sample or for a batch."""
    return GEOMETRY if start.N.ndim == 2 else with_samples(GEOMETRY)


FIRST, SECOND, ADAPTIVE = Policy(order=1), Policy(order=2, stages=2), None
for_every_order = pytest.mark.parametrize("policy", [FIRST, SECOND], ids=["first order", "second order"])
for_every_solver = pytest.mark.parametrize("policy", [FIRST, SECOND, ADAPTIVE], ids=["first", "second", "adaptive"])


@jax.jit
def forward(process, start, dt, policy=FIRST):
    if policy is ADAPTIVE:
        return rollout_adaptive(process, geometry_of(start), start, jnp.linspace(DT, 8 * DT, 8), save=SAVEABLE)
    return rollout(process, geometry_of(start), start, dt, 8, save=SAVEABLE, policy=policy)


@jax.jit
def slope(process, start, dt, policy=FIRST):
    def signal(D):
        changed = eqx.tree_at(lambda p: p.diffusion.D, process, D)
        return jnp.sum(rollout(changed, geometry_of(start), start, dt, 8, save=("y",), policy=policy).saved.y)

    return jax.grad(signal)(process.diffusion.D)


def outcome(process, start, dt=DT, policy=FIRST) -> Status:
    began = time.perf_counter()
    run = jax.block_until_ready(forward(process, start, dt, policy))
    # a loop whose length is not known has no reverse mode
    by_D = jnp.zeros(()) if policy is ADAPTIVE else jax.block_until_ready(slope(process, start, dt, policy))
    assert time.perf_counter() - began < 5
    assert not has_nan(run)
    assert not has_nan(by_D)
    return Status(int(run.status))


@pytest.fixture(autouse=True, scope="module")
def compiled():
    assert all(outcome_of_a_good_problem(policy) == Status.OK for policy in (FIRST, SECOND))
    assert forward(PROCESS, START, DT, ADAPTIVE).status == Status.OK


def outcome_of_a_good_problem(policy) -> Status:
    run, by_D = forward(PROCESS, START, DT, policy), slope(PROCESS, START, DT, policy)
    assert not has_nan((run, by_D)) and np.any(by_D != 0)
    return Status(int(run.status))


@for_every_solver
@pytest.mark.parametrize("everywhere", [False, True], ids=["one", "all"])
@pytest.mark.parametrize(("path", "value", "status"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_an_impossible_coefficient_is_named_and_returns_no_nan(path, value, status, everywhere, policy):
    process, start = PROCESS, START
    if path in ("N", "theta", "y"):
        start = spoil(start, path, value, everywhere)
    else:
        process = spoil(process, path, value, everywhere)
    assert outcome(process, start, policy=policy) == status


@pytest.mark.parametrize(("path", "value", "status"), OWN, ids=[case[0] for case in OWN])
def test_an_impossible_sample_leaves_the_others_of_its_batch_alone(path, value, status):
    process, start = side_by_side(*[PROCESS] * 3), side_by_side(*[START] * 3)
    if path in ("N", "theta", "y"):
        start = spoil_one(start, path, value)
    else:
        process = spoil_one(process, path, value)
    check_the_others(process, start, status)


@pytest.mark.parametrize(
    ("path", "value", "status"), [case for case in OWN if case[0] in ("readout.beta", "flow.velocity")]
)
def test_what_an_impossible_sample_shares_with_the_others_stays_as_it_is(path, value, status):
    """Zeros among it too. A few leaves only, since each is a program of its own."""
    shared = with_samples(PROCESS)
    process = eqx.tree_at(lambda p: leaf_at(p, path), shared, jnp.repeat(leaf_at(shared, path), 3, axis=-1))
    check_the_others(spoil_one(process, path, value), with_samples(START), status)


def check_the_others(process, start, status) -> None:
    run, by_D = forward(process, start, DT), slope(process, start, DT)
    assert list(run.status) == [Status.OK, status, Status.OK] and list(run.failed_at) == [-1, 0, -1]
    assert not has_nan((run, by_D)) and np.any(by_D != 0)
    alone = forward(PROCESS, START, DT)
    for k in (0, 2):
        own = without_samples(jax.tree.map(lambda leaf, k=k: leaf[..., k : k + 1] if leaf.ndim else leaf, run.final))
        for found, expected in zip(jax.tree.leaves(own), jax.tree.leaves(alone.final), strict=True):
            assert np.all(np.abs(found - expected) <= 1e-13 * np.max(np.abs(expected)))
    assert normwise(run.saved.y[..., 2], alone.saved.y) <= 1e-13


def spoil_one(tree, path: str, value: float):
    """A batch of three whose second sample has an impossible leaf."""
    return eqx.tree_at(lambda tree: leaf_at(tree, path), tree, leaf_at(tree, path).at[..., 1].set(value))


def test_there_are_a_hundred_of_them():
    assert 2 * len(CASES) >= 100


@for_every_order
@pytest.mark.parametrize("dt", [0.0, -0.0, -0.1, NAN, INF, -INF, HUGE, TINY])
def test_a_step_that_is_no_step_is_refused(dt, policy):
    assert outcome(PROCESS, START, jnp.asarray(dt), policy) == Status.BAD_STEP


@pytest.mark.parametrize(
    ("dt", "policy"),
    [(dt, FIRST) for dt in (10.0, 1e2, 1e3, 1e4, 1e6, 1e9, 1e12, 1e30, 1e100)]
    + [(dt, SECOND) for dt in (10.0, 1e2, 1e4, 1e9, 1e30)],
)
def test_a_step_far_too_long_is_limited(dt, policy):
    assert outcome(PROCESS, START, jnp.asarray(dt), policy) == Status.LIMITED


@for_every_solver
@pytest.mark.parametrize("cell", range(8))
def test_an_empty_cell_is_reported(cell, policy):
    empty = eqx.tree_at(lambda s: s.N, START, START.N.at[:, cell].set(0))
    assert outcome(PROCESS, empty, policy=policy) == Status.EMPTY_CELL


@for_every_solver
@pytest.mark.parametrize("factor", [0.5, 1.1, 2.0, 1e6])
def test_an_asymmetric_diffusivity_is_refused(factor, policy):
    skewed = PROCESS.diffusion.D.at[1, 2].multiply(factor)
    assert outcome(eqx.tree_at(lambda p: p.diffusion.D, PROCESS, skewed), START, policy=policy) == Status.BAD_DIFFUSION


@for_every_order
@pytest.mark.parametrize("factor", [1e3, 1e6, 1e50])
def test_absurd_but_possible_coefficients_give_finite_numbers(factor, policy):
    for path in ("diffusion.D", "wall", "surface.k_ads", "surface.k_des", "source.amount", "flow.velocity"):
        extreme = factor * leaf_at(PROCESS, path)
        process = eqx.tree_at(lambda p, path=path: leaf_at(p, path), PROCESS, extreme)
        assert outcome(process, START, policy=policy) != Status.DIVERGED


@for_every_solver
def test_an_impossible_problem_returns_the_state_that_it_was_given(policy):
    spoiled = spoil(PROCESS, "diffusion.D", 0.0, True)
    run = forward(spoiled, START, DT, policy)
    assert run.failed_at == 0
    for found, given in zip(jax.tree.leaves(run.final), jax.tree.leaves(START), strict=True):
        assert np.array_equal(found, given)


def test_every_status_says_what_to_change():
    assert all(len(status.text) > 5 for status in Status)
