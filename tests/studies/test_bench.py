"""The solver benchmark: all solvers compute the same thing, and its arithmetic on measurements is right."""

import json
import subprocess

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

from studies.bench import case, peers, processes, solver, work_precision
from studies.bench.equations import Chamber, Unknowns
from studies.bench.figure import draw_work_precision
from studies.bench.kernels import Work, work_per_step
from studies.bench.peers import solver_of
from studies.bench.problem import METHODS, TIMES_S, amounts, coefficients
from studies.bench.work_precision import Point, Series, at_equal_error, seconds_at
from studies.tables.costs import solver_part
from tests.cases import ENOSE, GEOMETRY, problem, stirred
from unmixnet.simulation.validation.reference import ChamberEquations

# ---------------------------------------------------------------- the same problem for all


def _rates(process, t, state) -> tuple[np.ndarray, np.ndarray]:
    """du/dt by diffrax's equations and by SciPy's, both as SciPy packs them [mol/s, 1/s, 1/s]."""
    chamber, reference = Chamber(process, GEOMETRY), ChamberEquations(process, GEOMETRY)
    rate = _compiled(chamber, jnp.asarray(t), state)
    empty = -jnp.sum(rate.theta, axis=0, keepdims=True)
    ours = reference.pack(chamber.moles(rate).T, jnp.concatenate([empty, rate.theta]).T, rate.y)
    u = reference.pack(*(np.asarray(a).T for a in (state.N, state.theta, state.y)))
    return ours, reference.rhs(t, u)


@jax.jit
def _compiled(chamber: Chamber, t, state):
    return chamber.rates(t, chamber.pack(state))


def test_right_hand_side_of_diffrax_is_that_of_radau():
    process, _ = problem()
    ours, theirs = _rates(process, 3.7, stirred(process, 1))
    scale = np.maximum(np.abs(theirs), 1e-9 * np.max(np.abs(theirs)))
    assert np.max(np.abs(ours - theirs) / scale) < 1e-6
    twin = eqx.tree_at(lambda p: p.surface.sites, process, 1.1 * process.surface.sites)
    assert np.max(np.abs(_rates(twin, 3.7, stirred(process, 1))[0] - theirs) / scale) > 1e-3


def test_every_way_to_take_fixed_steps_agrees():
    amount, y = amounts(3, 1), {}
    for path, method in METHODS.items():
        shared = coefficients(3, method.form)
        done = jax.jit(case.rollouts(path, shared, amount, 20))(shared, amount)
        y[path] = done.saved.y
        assert int(jnp.max(done.status)) == 0
    assert np.ptp(y["before"][:, 0, 0]) > 0.05
    assert np.allclose(y["plain"], y["before"], atol=2e-3)
    assert np.max(np.abs(y["ours"] - y["before"])) < 0.05


@pytest.mark.parametrize("whole", [True, False], ids=["as one state", "sample by sample"])
def test_diffrax_solves_what_radau_solves(whole, monkeypatch):
    """The first sample of a batch; the implicit solvers' way by a solver that compiles sooner."""
    monkeypatch.setattr(peers, "EXPLICIT", ("Tsit5",) if whole else ())
    solved = jax.jit(solver_of("Tsit5"))(coefficients(2), amounts(2, 2), jnp.asarray(1e-4))
    (exact,) = case.truth(2, 1e-8)
    assert not bool(solved.failed) and solved.y.shape == (len(TIMES_S), len(ENOSE.sensors), 2)
    assert np.allclose(solved.y[..., 0], np.array(exact["y"])[1:], atol=1e-3)
    assert np.allclose(solved.N[..., 0].T, exact["N"], rtol=1e-3)
    assert not np.allclose(solved.y[..., 1], np.array(exact["y"])[1:], atol=1e-3)


def test_first_sample_is_the_one_that_radau_solves():
    amount = amounts(3, 4)
    assert np.array_equal(amount[0], amounts(3, 1)[0])
    assert not np.array_equal(amount[1], amount[0])


def test_unknowns_are_of_the_size_of_one():
    """One absolute tolerance suits them all."""
    process, air = problem()
    u = Chamber(process, GEOMETRY).pack(air)
    assert isinstance(u, Unknowns) and np.allclose(u.N[0], 1)
    released = process.source.amount.max() / GEOMETRY.volume.sum() * GEOMETRY.volume
    assert np.allclose(Chamber(process, GEOMETRY).unit[1:], released, rtol=1e-6)


# ---------------------------------------------------------------- kernels

_PROGRAM = """
%product (a: f32[4,3], b: f32[3,5]) -> f32[4,5] {
  %a = f32[4,3]{1,0} parameter(0)
  %b = f32[3,5]{1,0} parameter(1)
  ROOT %d = f32[4,5]{1,0} dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
%thrice (s: (s32[], f32[4])) -> (s32[], f32[4]) {
  %add = f32[4]{0} add(%x, %y)
  ROOT %t = (s32[], /*index=1*/f32[4]{0}) tuple(%i, %add)
}
%fallback (s: (s32[])) -> (s32[]) {
  %lu = (f32[3,3]{1,0}, s32[3]{0}) custom-call(%m), custom_call_target="lapack_sgetrf_ffi"
}
%step (s: (s32[], f32[4])) -> (s32[], f32[4]) {
  %g = f32[4]{0} get-tuple-element(%s), index=1
  %f = f32[4,5]{1,0} fusion(%g, %g), kind=kOutput, calls=%product
  %c = f32[4]{0} copy(%g)
  %l = (s32[], f32[4]{0}) while(%g), condition=%cond, body=%thrice, backend_config={"known_trip_count":{"n":"3"}}
  %w = (s32[]) while(%g), condition=%cond, body=%fallback
}
ENTRY %main (x: f32[4]) -> f32[4] {
  %e = f32[4]{0} exponential(%x)
  ROOT %w = (s32[], f32[4]{0}) while(%e), condition=%cond, body=%step, backend_config={"known_trip_count":{"n":"50"}}
}
"""


def test_kernels_are_what_a_step_launches():
    """A fusion, a copy and three additions; not what stands outside the scan, nor a fallback that does not run."""
    assert work_per_step(_PROGRAM, 50) == Work(kernels=5, product_flop=2 * 4 * 5 * 3)
    assert work_per_step(_PROGRAM, 51) == Work()


def test_products_of_a_real_program_are_counted():
    def steps(A, x):
        return jax.lax.scan(lambda x, _: (jnp.tanh(A @ x), None), x, None, length=7)[0]

    A, x = jnp.eye(6), jnp.ones((6, 40))
    work = work_per_step(jax.jit(steps).lower(A, x).compile().as_text(), 7)
    assert work.product_flop == 2 * 6 * 6 * 40 and 1 <= work.kernels < 10


# ---------------------------------------------------------------- equal error


def _series(group: str, *points: tuple[float, float]) -> Series:
    return Series(group, group, 1, tuple(Point(0, cost, 1, error, error) for error, cost in points))


def test_equal_error_interpolates_in_logarithms():
    points = _series("ours", (1e-1, 1e-3), (1e-3, 1e-1)).points
    assert seconds_at(points, "end", 1e-2) == pytest.approx(1e-2)
    assert seconds_at(points, "end", 0.5) == pytest.approx(1e-3), "a coarser error costs what the coarsest run does"
    assert seconds_at(points, "end", 1e-4) is None


def test_a_run_that_another_beats_in_both_does_not_count():
    points = _series("ours", (1e-1, 1e-3), (1e-2, 5.0), (1e-3, 1e-1)).points
    assert seconds_at(points, "end", 1e-2) == pytest.approx(1e-2)


def test_the_best_of_a_group_stands_for_it_and_beyond_its_runs_only_the_first_order_is_continued():
    series = [
        _series("ours", (1e-1, 1e-3), (1e-3, 1e-1)),
        _series("before", (1e-1, 1e-2), (1e-2, 1e-1)),
        _series("diffrax", (5e-3, 1.0)),
        Series("diffrax", "quick", 1, (Point(0, 0.5, 1, 2e-3, 2e-3),)),
    ]
    lines = {line.error: line for line in at_equal_error(series, "end")}
    assert set(lines) == {3e-2, 1e-2, 3e-3, 1e-3}
    assert lines[1e-2].ours == pytest.approx(1e-2) and lines[1e-2].diffrax == pytest.approx(0.5)
    assert lines[1e-2].diffrax_by == "quick" and lines[1e-2].radau is None and not lines[1e-2].before_extrapolated
    assert lines[1e-3].before == pytest.approx(1.0) and lines[1e-3].before_extrapolated
    assert lines[1e-3].diffrax is None


# ---------------------------------------------------------------- the run


def test_a_sweep_that_is_stopped_keeps_its_whole_lines(monkeypatch):
    def stopped(command, timeout, **_):
        raise subprocess.TimeoutExpired(command, timeout, output=b'{"setting": 1}\n{"setting": 2')

    monkeypatch.setattr(subprocess, "run", stopped)
    assert processes.answers(kind="fixed") == ([{"setting": 1}], False)


def test_stretched_rows_say_so():
    row = solver._stretched({"seconds": 2.0, "seconds_per_sample": 1.0, "samples_per_second": 1.0, "steps": 10})
    longer = {"seconds": 20, "seconds_per_sample": 10, "samples_per_second": 0.1, "steps": 100}
    assert row == {**longer, "extrapolated": True}


def test_what_bounds_a_step_follows_from_the_numbers():
    row = {"path": "ours", "odorants": 12, "batch": 32, "pass": "forward", "steps": 100, "seconds": 0.02}
    rows = [{**row, "kernels_per_step": 200}]
    small, large = ([{"odorants": 12, "batch": 32, "pass": "forward", "fraction": part}] for part in (0.02, 0.7))
    assert "200 kernels forward (1 µs each)" in solver.bound(rows, small)
    assert "not by the products" in solver.bound(rows, small) and "matrix products" in solver.bound(rows, large)


def _fake_answers(*, limit_s=0.0, float64=False, **request) -> tuple[list[dict], bool]:
    """Made-up measurements: methods of low order against some of high order."""
    kind, K = request["kind"], request.get("n_odorants", 1)
    if kind == "gemm":
        return [{"size": 8, "gflop_per_s": 50.0}], True
    if kind == "truth":
        return [{"rtol": 1e-8, "y": [[k / 10] for k in range(11)], "N": [[1.0, 1.0]]}], True
    if kind in ("measure", "measure_diffrax"):
        path = request.get("path", "diffrax Tsit5")
        cost = {"ours": 0.1, "before": 0.3, "plain": 2.0}.get(path, 1.0)
        row = {"path": path, "odorants": K, "batch": request["samples"], "steps": request.get("n_steps", 30)}
        row |= {"seconds": cost, "seconds_per_sample": cost, "samples_per_second": 1 / cost, "memory_bytes": 10}
        row |= {"kernels_per_step": 90, "product_flop_per_step": 1000} if kind == "measure" else {}
        return [{**row, "pass": name} for name in ("forward", "forward+backward")], True
    points = []
    for setting in request["settings"]:
        error = setting**-2.0 if kind == "fixed" else setting
        y = [[k / 10 * (1 + error)] for k in range(1, 11)]
        point = {"setting": setting, "seconds_per_sample": 1e-4 / error, "steps": 10, "status": 0, "y": y}
        points.append({**point, "N": [[1.0, 1.0]]})
    return points, True


@pytest.fixture
def _made_up(monkeypatch):
    for module in (solver, work_precision):
        monkeypatch.setattr(module, "answers", _fake_answers)


@pytest.mark.usefixtures("_made_up")
def test_command_prints_one_json_object_and_writes_the_figure(tmp_path):
    from studies.__main__ import app

    output, plot = tmp_path / "solver.json", tmp_path / "work_precision.png"
    arguments = ["bench", "solver", "--json", "--quick", "--output", str(output), "--plot", str(plot)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert printed == json.loads(output.read_text())
    assert printed["quick"] and {"commit", "date", "machine", "command"} <= set(printed)
    assert {line["plain_over_ours"] for line in printed["ratios"]} == {20.0}
    assert {line["before_over_ours"] for line in printed["ratios"]} == {0.3 / 0.1}
    assert plot.stat().st_size > 10_000


@pytest.mark.usefixtures("_made_up")
def test_whole_run_is_drawn_and_written_into_tables(tmp_path):
    record = json.loads(json.dumps(solver.run_solver()))
    assert {entry["odorants"] for entry in record["work_precision"]} == {12, 50}
    groups = {series["group"] for series in record["work_precision"][1]["series"]}
    assert groups == {"ours", "before", "radau", "diffrax"}
    draw_work_precision(record, tmp_path / "both.png")
    for part in ("speed", "kernels", "end", "trajectory"):
        lines = solver_part(record, part)
        assert len(lines) > 4 and lines[0].startswith("| odorants")
    assert "kernels forward" in solver_part(record, "bound")[0]


@pytest.mark.usefixtures("_made_up")
def test_command_shows_a_table():
    from studies.__main__ import app

    result = CliRunner().invoke(app, ["bench", "solver", "--quick"])
    assert result.exit_code == 0, result.output
    assert "ours" in result.stdout and "radau" in result.stdout
