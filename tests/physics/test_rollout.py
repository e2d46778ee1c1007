"""Laws of the rollout: nothing is lost, nothing negative, saved states continue, batches change nothing.

They hold for both orders in time and for both reconstructions in space.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import DT, GEOMETRY, float32, has_nan, normwise, problem, relative, seeds, stirred
from tests.physics.batch import side_by_side
from unmixnet.physics import maxwell_stefan
from unmixnet.physics.rollout import SAVEABLE, Policy, rollout
from unmixnet.physics.state import Schedule, Status, clean_air, with_samples
from unmixnet.simulation.builders import chain
from unmixnet.simulation.validation.synthetic_problem import made_up_process

fractions = st.sampled_from([0.3, 1e-2, 1e-4, 1e-6])
FIRST, SLOPES = Policy(order=1), Policy(order=2, slopes=True, stages=2)
UPWIND = Policy(order=2, slopes=False, stages=2)
POLICIES = {"first order": FIRST, "second order, upwind": UPWIND, "slopes": SLOPES}
for_every_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)


@jax.jit
def forward(process, start, dt, policy=FIRST):
    return rollout(process, GEOMETRY, start, dt, 20, save=SAVEABLE, policy=policy)


@jax.jit
def long(process, start, dt, policy=FIRST):
    run = rollout(process, GEOMETRY, start, dt, 10_000, save=("ledger", "N"), policy=policy)
    return run.final, run.status, jnp.max(run.saved.ledger, axis=0), jnp.min(run.saved.N)


@pytest.mark.parametrize("policy", [FIRST, pytest.param(UPWIND, marks=pytest.mark.soak), SLOPES], ids=POLICIES)
@settings(max_examples=4)
@given(seed=seeds, odorants=fractions, dt=st.sampled_from([0.01, 0.1]))
def test_the_ledger_closes_over_ten_thousand_steps(policy, seed, odorants, dt):
    process, start = problem(seed, odorant_fraction=odorants)
    final, status, ledger, least = long(process, start, jnp.asarray(dt), policy)
    assert status == Status.OK
    assert np.max(ledger) <= 1e-10
    assert least >= 0
    assert np.max(np.abs(jnp.sum(final.theta, axis=0) - 1)) <= 1e-12
    moved = final.reservoirs
    assert np.all(moved.source[1:] > 0) and np.all(moved.outlet[1:] > 0) and np.all(moved.wall[1:] > 0)
    assert moved.inlet[0] > 0 and np.max(final.theta[1:]) > 0


def test_twin_a_ledger_without_the_walls_does_not_close():
    process, start = problem(1)
    final, *_ = long(process, start, DT)
    come = final.reservoirs.source[1:]
    there = jnp.sum(final.N, axis=1)[1:] + final.reservoirs.outlet[1:]
    there = there + jnp.sum(process.surface.sites * final.theta, axis=1)[1:]
    assert np.max(np.abs(there - come) / come) > 1e-6


@for_every_policy
@given(seed=seeds, odorants=fractions)
def test_every_step_closes_and_dissipates(policy, seed, odorants):
    process, _ = problem(seed, odorant_fraction=odorants)
    run = forward(process, stirred(process, seed, odorants), DT, policy)
    closure = run.saved.closure
    assert run.status == Status.OK and run.direct_solves == 0
    assert np.max(closure.mass_error) <= 1e-12 and np.max(closure.carrier_error) <= 1e-12
    assert np.max(closure.ms_residual) <= 1e-9
    assert np.max(closure.simplex_error) <= 1e-12
    assert np.all(closure.entropy_production > 0)
    J = np.asarray(run.saved.J)
    assert np.all(np.abs(J.sum(1)) <= 1e-12 * np.abs(J).sum(1)) and np.all(np.abs(J).sum(1) > 0)


@for_every_policy
@given(seed=seeds)
def test_permuting_the_odorants_permutes_the_rollout(policy, seed):
    process, _ = problem(seed, odorant_fraction=0.1)
    start = stirred(process, seed, 0.1)
    odorants = np.random.default_rng(seed).permutation(3)
    species = np.append(0, 1 + odorants)

    mixed = eqx.tree_at(
        lambda p: (p.source, p.surface.k_ads, p.surface.k_des, p.readout.beta),
        process,
        (
            jax.tree.map(lambda leaf: leaf[odorants] if leaf.shape == (3,) else leaf, process.source),
            process.surface.k_ads[odorants],
            process.surface.k_des[odorants],
            process.readout.beta[odorants],
        ),
    )
    mixed = eqx.tree_at(lambda p: p.diffusion.D, mixed, process.diffusion.D[np.ix_(species, species)])
    begun = eqx.tree_at(lambda s: (s.N, s.theta), start, (start.N[species], start.theta[species]))
    plain, permuted = forward(process, start, DT, policy), forward(mixed, begun, DT, policy)
    assert relative(permuted.final.N, plain.final.N[species]) <= 1e-11
    assert normwise(permuted.saved.y, plain.saved.y) <= 1e-12


def three_samples(seed: int, D: str):
    """Problems that differ in everything, or in everything but D; their own D is one matrix for all edges."""
    samples = [(p, stirred(p, seed + k, 0.2)) for k in range(3) for p in [problem(seed + k, odorant_fraction=0.2)[0]]]
    matrices = [samples[0 if D == "shared" else k][0].diffusion.D for k in range(3)]
    return [
        (eqx.tree_at(lambda p: p.diffusion.D, process, matrix if D == "shared" else matrix[..., None]), start)
        for (process, start), matrix in zip(samples, matrices, strict=True)
    ]


@pytest.mark.parametrize(
    ("D", "policy"), [("shared", FIRST), pytest.param("own", FIRST, marks=pytest.mark.soak), ("own", SLOPES)]
)
@given(seed=seeds)
def test_one_sample_alone_equals_the_sample_in_a_batch(D, policy, seed):
    samples = three_samples(seed, D)
    together = forward_all(*side_by_side(*samples), DT, policy)
    assert together.saved.J.shape == (20, 4, len(GEOMETRY.tail), 3) and together.status.shape == (3,)
    for k, (process, start) in enumerate(samples):
        alone = forward(process, start, DT, policy)
        assert together.status[k] == alone.status and together.failed_at[k] == alone.failed_at
        assert relative(together.final.N[..., k], alone.final.N) <= 1e-12
        assert relative(together.final.theta[..., k], alone.final.theta) <= 1e-12
        assert normwise(together.saved.y[..., k], alone.saved.y) <= 1e-13
        assert normwise(together.saved.J[..., k], alone.saved.J) <= 1e-12
        assert np.max(together.saved.ledger[..., k]) <= 1e-12
        assert together.final.t == alone.final.t
    assert normwise(together.saved.y[..., 0], together.saved.y[..., 1]) > 1e-6


@jax.jit
def forward_all(process, start, dt, policy=FIRST):
    return rollout(process, with_samples(GEOMETRY), start, dt, 20, save=SAVEABLE, policy=policy)


@given(seed=seeds)
def test_one_sample_alone_equals_the_sample_under_vmap(seed):
    samples = [(p, stirred(p, seed + k, 0.2)) for k in range(3) for p in [problem(seed + k, odorant_fraction=0.2)[0]]]
    together = lifted(*jax.tree.map(lambda *leaves: jnp.stack(leaves), *samples))
    for k, (process, start) in enumerate(samples):
        alone = forward(process, start, DT)
        assert relative(together.final.N[k], alone.final.N) <= 1e-12
        assert normwise(together.saved.y[k], alone.saved.y) <= 1e-13
    assert normwise(together.saved.y[0], together.saved.y[1]) > 1e-6


lifted = jax.jit(jax.vmap(lambda process, start: rollout(process, GEOMETRY, start, DT, 20, save=("y",), policy=FIRST)))


def test_what_all_samples_share_may_have_an_axis_of_length_one():
    process, start = problem(7, odorant_fraction=0.1)
    amounts = process.source.amount[:, None] * jnp.asarray([0.0, 0.5, 2.0])
    own = eqx.tree_at(lambda p: p.source.amount, with_samples(process), amounts)
    together = forward_all(own, with_samples(start), DT)
    assert together.saved.y.shape == (20, 4, 3) and together.final.N.shape == (4, 8, 3)
    for k in range(3):
        alone = forward(eqx.tree_at(lambda p: p.source.amount, process, amounts[:, k]), start, DT)
        assert normwise(together.final.N[..., k], alone.final.N) <= 1e-13
        assert normwise(together.saved.y[..., k], alone.saved.y) <= 1e-13
    assert normwise(together.saved.y[..., 0], together.saved.y[..., 2]) > 1e-6


@pytest.mark.parametrize("policy", [FIRST, pytest.param(SLOPES, marks=pytest.mark.soak)], ids=["first order", "slopes"])
@given(seed=seeds)
def test_a_saved_state_continues_as_if_never_interrupted(policy, seed):
    process, start = problem(seed)
    first = forward(process, start, DT, policy)
    second = forward(process, first.final, DT, policy)
    whole = twice(process, start, DT, policy)
    for found, expected in zip(jax.tree.leaves(second.final), jax.tree.leaves(whole.final), strict=True):
        assert np.all(np.abs(found - expected) <= 1e-14 * np.abs(expected))
    assert np.max(second.saved.ledger) <= 1e-12
    assert normwise(first.final.y, second.final.y) > 0


twice = jax.jit(lambda process, start, dt, policy: rollout(process, GEOMETRY, start, dt, 40, save=(), policy=policy))


def test_only_what_is_asked_for_comes_back():
    process, start = problem()
    run = jax.jit(lambda p, s: rollout(p, GEOMETRY, s, DT, 3, save=("x", "theta")))(process, start)
    assert run.saved.x.shape == (3, 4, 8) and run.saved.theta.shape == (3, 4, 4)
    assert run.saved.N is run.saved.y is run.saved.J is run.saved.closure is None
    assert relative(jnp.sum(run.saved.x, axis=1), np.ones((3, 8))) <= 1e-14


@for_every_policy
@pytest.mark.parametrize("odorants", [1e-3, 1e-9])
def test_single_precision_stays_single_and_near_double(policy, odorants):
    process, start = problem(2, odorant_fraction=odorants)
    double = forward(process, start, DT, policy)
    with jax.numpy_dtype_promotion("strict"):
        single = forward_single(*float32((process, start, DT)), policy)
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(single) if eqx.is_inexact_array(leaf))
    assert single.status == Status.OK
    assert relative(single.final.N, double.final.N) <= 1e-4
    assert normwise(single.saved.y, double.saved.y) <= 1e-5


@jax.jit
def forward_single(process, start, dt, policy):
    return rollout(process, float32(GEOMETRY), start, dt, 20, save=SAVEABLE, policy=policy)


def test_direct_solves_are_counted_and_change_nothing(monkeypatch):
    process, _ = problem(3, odorant_fraction=0.3)
    start = stirred(process, 3, 0.3)
    expected = forward(process, start, DT)
    monkeypatch.setattr(maxwell_stefan, "_SWEEPS", 1)
    found = jax.jit(lambda p, s: rollout(p, GEOMETRY, s, DT, 20, save=("y",), policy=FIRST))(process, start)
    assert expected.direct_solves == 0
    assert found.direct_solves == 20 * len(GEOMETRY.tail)
    assert relative(found.final.N, expected.final.N) <= 1e-10


@pytest.mark.parametrize("policy", [FIRST, SLOPES], ids=["first order", "slopes"])
def test_cells_of_fixed_composition_are_refilled_and_what_they_gave_is_recorded(policy):
    tube = chain(6, fixed_ends=True)
    geometry = tube.geometry()
    process = made_up_process(tube, 3, wall_per_s=0.0)
    held = jnp.zeros((1, 4, 6)).at[:, 0].set(1).at[0, :, 0].set(jnp.asarray([0.9, 0.05, 0.03, 0.02]))
    process = eqx.tree_at(lambda p: p.source.amount, process, jnp.zeros(3))
    process = eqx.tree_at(
        lambda p: p.boundary, process, Schedule(jnp.zeros(1), held), is_leaf=lambda leaf: leaf is None
    )
    saved = ("ledger", "x")
    run = jax.jit(lambda p: rollout(p, geometry, clean_air(p, geometry), DT, 200, save=saved, policy=policy))(process)
    assert np.max(run.saved.ledger) <= 1e-12
    assert normwise(run.saved.x[-1, :, 0], held[0, :, 0]) <= 1e-14
    assert np.all(run.final.reservoirs.boundary[1:] > 0) and np.all(run.saved.x[-1, 1:, 2] > 0)


@pytest.mark.parametrize(
    ("policy", "enough"),
    [
        (FIRST, False),
        (Policy(substeps_advection=16, substeps_diffusion=16, order=1), True),
        (SLOPES, False),
        (Policy(order=2, stages=40), True),
        (Policy(order=2), True),
    ],
    ids=["first order, 1", "first order, 16", "stages, 2", "stages, 40", "stages as needed"],
)
def test_substeps_and_stages_divide_the_work_and_keep_the_books(policy, enough):
    process, start = problem(5, odorant_fraction=1e-2)
    run = jax.jit(lambda p, s: rollout(p, GEOMETRY, s, jnp.asarray(10.0), 20, save=("ledger", "y"), policy=policy))(
        process, start
    )
    assert run.status == (Status.OK if enough else Status.LIMITED)
    assert np.max(run.saved.ledger) <= 1e-12 and not has_nan(run)
