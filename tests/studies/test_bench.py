"""The solver benchmark: both paths compute the same thing, and its arithmetic on measurements is right."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

from studies.bench import case, solver
from studies.bench.solver import draw_work_precision


def test_plain_and_default_path_agree():
    amount = case.amounts(3, 2)
    y = {}
    for path in case.PATHS:
        forward, _, coefficients = case.rollouts(path, 3, 20)
        y[path], _, status = jax.jit(forward)(coefficients, amount)
        assert int(jnp.max(status)) == 0
    assert np.ptp(y["default"][0, :, 0]) > 0.05
    assert np.allclose(y["plain"], y["default"], atol=2e-3)


def test_first_sample_is_the_one_that_radau_solves():
    amount = case.amounts(3, 4)
    assert np.array_equal(amount[0], case.amounts(3, 1)[0])
    assert not np.array_equal(amount[1], amount[0])


def _point(error, seconds, **more):
    return {"error": error, "seconds_per_sample": seconds, "samples_per_second": 1 / seconds, "status": 0} | more


def test_equal_error_interpolates_in_logarithms():
    default = [_point(1e-1, 1e-3), _point(1e-3, 1e-1)]
    radau = [_point(5e-3, 1.0), _point(1e-6, 5.0)]
    line = solver._at_error(1e-2, default, radau)
    assert line is not None
    assert line["default_samples_per_second"] == pytest.approx(100)
    assert line["default_over_radau"] == pytest.approx(100)
    assert solver._at_error(1e-5, default, radau) is None


def test_a_failed_run_does_not_count():
    default = [_point(1e-1, 1e-3, status=10), _point(1e-2, 1e-2), _point(1e-3, 1e-1)]
    assert solver._at_error(5e-2, default, [_point(1e-3, 1.0)]) is None


def test_stretched_rows_say_so():
    row = solver._stretched({"seconds": 2.0, "seconds_per_sample": 1.0, "samples_per_second": 1.0, "steps": 10})
    assert row == {
        "seconds": 20,
        "seconds_per_sample": 10,
        "samples_per_second": 0.1,
        "steps": 100,
        "extrapolated": True,
    }


def _fake_ask(kind, **request):
    """Made-up measurements: a first-order method against one of high order."""
    K = request.get("n_odorants", 1)
    if kind == "gemm":
        return {"size": 8, "gflop_per_s": 50.0}
    if kind == "measure":
        seconds = {"default": 0.1, "plain": 2.0}[request["path"]]
        row = {"path": request["path"], "odorants": K, "batch": request["batch"], "steps": request["n_steps"]}
        row |= {"seconds": seconds, "seconds_per_sample": seconds, "samples_per_second": 1 / seconds}
        row |= {"memory_bytes": 10, "repetitions": 3, "compile_seconds": 1.0}
        return [{**row, "pass": name} for name in ("forward", "forward+backward")]
    error = 1 / request["n_steps"] if kind == "precision" else 1e-2 * request["rtol"]
    end = {"y": [1 + error], "N": [[1.0, 1.0]], "seconds_per_sample": 1e-3 / error, "memory_bytes": None}
    return {**end, **({"steps": request["n_steps"], "status": 0} if kind == "precision" else {"rtol": request["rtol"]})}


def test_command_prints_one_json_object_and_writes_the_figure(monkeypatch, tmp_path):
    from studies.__main__ import app

    monkeypatch.setattr(solver, "_in_fresh_process", _fake_ask)
    output, plot = tmp_path / "solver.json", tmp_path / "work_precision.png"
    arguments = ["bench", "solver", "--json", "--quick", "--output", str(output), "--plot", str(plot)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert printed == json.loads(output.read_text())
    assert printed["quick"] and {"commit", "date", "machine", "command"} <= set(printed)
    assert {line["plain_over_default"] for line in printed["ratios"]} == {20.0}
    assert plot.stat().st_size > 10_000
    draw_work_precision(printed, plot)


def test_command_shows_a_table(monkeypatch):
    from studies.__main__ import app

    monkeypatch.setattr(solver, "_in_fresh_process", _fake_ask)
    result = CliRunner().invoke(app, ["bench", "solver", "--quick"])
    assert result.exit_code == 0, result.output
    assert "default" in result.stdout and "radau" in result.stdout
