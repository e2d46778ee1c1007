"""One measurement of the solver benchmark, in a process of its own: `python -m studies.bench.case '{"kind": …}'`.

A process per measurement keeps memory and thread pools apart, and one that never returns (two LAPACK calls at once can
block XLA's thread pool for good) costs a row instead of the run. Prints one JSON object per line as it is measured, so
that a sweep that is stopped keeps what it has.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from studies.bench.kernels import work_per_step
from studies.bench.problem import DURATION_S, METHODS, TIMES_S, amounts, batch, coefficients, policy, start
from unmixnet.physics.adaptive import rollout_adaptive
from unmixnet.physics.rollout import Policy, Rollout, rollout
from unmixnet.simulation.builders import portable_enose
from unmixnet.simulation.validation.synthetic_problem import made_up_process

__all__ = ["KINDS", "rollouts", "start", "timed"]

_DT_S = 0.5


def rollouts(method: str, shared: tuple, amount: jax.Array, n_steps: int, dt_s: float = _DT_S) -> Callable:
    """Function of shared coefficients and amounts that takes fixed steps; what comes back has the samples last.

    The coefficients and amounts that are given here only tell how many stages the steps need.
    """
    chosen = METHODS[method]
    how = policy(chosen, *batch(shared, amount, form=chosen.form), dt_s)

    def forward(shared: tuple, amount: jax.Array) -> Rollout:
        process, geometry = batch(shared, amount, form=chosen.form)
        return rollout(process, geometry, start(process, geometry), jnp.asarray(dt_s), n_steps, policy=how)

    return forward


def timed(run: Callable[[], Any], repetitions: int = 5, budget_s: float = 10.0) -> tuple[float, int, Any]:
    """Median wall time, number of repetitions (one suffices where a run takes long), and what the last one gave."""
    first, result = _once(run)
    if first > budget_s:
        return first, 1, result
    times = [_once(run)[0] for _ in range(int(np.clip(budget_s / first, 2, repetitions)))]
    return float(np.median(times)), len(times), result


def _once(run: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = jax.block_until_ready(run())
    return time.perf_counter() - began, result


def measure(path: str, n_odorants: int, samples: int, n_steps: int) -> Iterator[dict]:
    """Forward, and forward and backward, of a way to take fixed steps.

    Time, the peak of XLA's temporary and output buffers, and the work of a step.
    """
    shared, amount = coefficients(n_odorants, METHODS[path].form), amounts(n_odorants, samples)
    forward = rollouts(path, shared, amount, n_steps)
    for name, row in _passes(forward, lambda done: done.saved.y, shared, amount):
        result, program = row.pop("result"), row.pop("program")
        if result is not None:
            codes = {"status": int(jnp.max(result.status)), "direct_solves": int(jnp.sum(result.direct_solves))}
        work = work_per_step(program, n_steps)
        head = {"path": path, "odorants": n_odorants, "batch": samples, "pass": name, **codes, "steps": n_steps}
        yield {**head, **row, "kernels_per_step": work.kernels, "product_flop_per_step": work.product_flop}


def measure_diffrax(solver: str, n_odorants: int, samples: int, rtol: float) -> Iterator[dict]:
    """The same of a solver of diffrax; it chooses its steps, and its kernels are not counted."""
    from studies.bench.peers import solver_of

    solve, shared, amount = solver_of(solver), coefficients(n_odorants), amounts(n_odorants, samples)
    tolerance = jnp.asarray(rtol)
    forward = lambda shared, amount: solve(shared, amount, tolerance)  # noqa: E731
    for name, row in _passes(forward, lambda done: done.y, shared, amount):
        result, _ = row.pop("result"), row.pop("program")
        if result is not None:
            codes = {"status": 10 * bool(result.failed), "steps": int(result.steps)}
        yield {"path": f"diffrax {solver}", "odorants": n_odorants, "batch": samples, "pass": name, **codes, **row}


def _passes(forward: Callable, readout: Callable, shared: tuple, amount: jax.Array) -> Iterator[tuple[str, dict]]:
    """Both passes of a solver, compiled and timed."""

    def loss(shared: tuple, amount: jax.Array) -> jax.Array:
        return jnp.mean(readout(forward(shared, amount)) ** 2)

    for name, program in {"forward": forward, "forward+backward": jax.value_and_grad(loss, argnums=(0, 1))}.items():
        began = time.perf_counter()
        compiled = jax.jit(program).lower(shared, amount).compile()
        compile_s = time.perf_counter() - began
        median, repetitions, result = timed(lambda compiled=compiled: compiled(shared, amount))
        memory: Any = compiled.memory_analysis()
        row = {
            "seconds": median,
            "repetitions": repetitions,
            "seconds_per_sample": median / amount.shape[0],
            "samples_per_second": amount.shape[0] / median,
            "compile_seconds": compile_s,
            "memory_bytes": memory.temp_size_in_bytes + memory.output_size_in_bytes,
            "result": result if name == "forward" else None,
            "program": compiled.as_text(),
        }
        yield name, row


def gemm(size: int = 2048) -> Iterator[dict]:
    """Rate of a large float32 product, with the threads that the rollouts have."""
    a = jnp.asarray(np.random.default_rng(0).normal(size=(size, size)), jnp.float32)
    product = jax.jit(lambda a: a @ a).lower(a).compile()
    median, _, _ = timed(lambda: product(a), 15)
    yield {"size": size, "gflop_per_s": 2 * size**3 / median / 1e9}


# ---------------------------------------------------------------- work and precision


def fixed(method: str, n_odorants: int, samples: int, settings: Sequence[int]) -> Iterator[dict]:
    """Fixed steps: `settings` are numbers of steps, multiples of ten."""
    shared, amount = coefficients(n_odorants), amounts(n_odorants, samples)
    for n in settings:
        run = jax.jit(rollouts(method, shared, amount, n, DURATION_S / n)).lower(shared, amount).compile()
        median, _, done = timed(lambda run=run: run(shared, amount), 5, 5.0)
        every = n // len(TIMES_S)
        yield _point(n, median / samples, done.saved.y[every - 1 :: every], done.final.N, n, int(jnp.max(done.status)))


def adaptive(n_odorants: int, samples: int, settings: Sequence[float]) -> Iterator[dict]:
    """Steps that the library chooses: `settings` are tolerances; the whole batch shares its steps."""
    shared, amount = coefficients(n_odorants), amounts(n_odorants, samples)
    how = Policy(order=2, slopes=False)

    def solve(shared: tuple, amount: jax.Array, tolerance: jax.Array) -> Rollout:
        process, geometry = batch(shared, amount)
        first = start(process, geometry)
        return rollout_adaptive(process, geometry, first, jnp.asarray(TIMES_S), tolerance=tolerance, policy=how)  # pyright: ignore[reportArgumentType]

    run = jax.jit(solve).lower(shared, amount, jnp.asarray(1.0)).compile()
    for tolerance in settings:
        given = jnp.asarray(float(tolerance))
        median, _, done = timed(lambda given=given: run(shared, amount, given), 5, 5.0)
        assert done.steps is not None
        status = int(jnp.max(done.status))
        yield _point(tolerance, median / samples, done.saved.y, done.final.N, int(done.steps), status)


def diffrax(solver: str, n_odorants: int, samples: int, settings: Sequence[float]) -> Iterator[dict]:
    """A solver of diffrax: `settings` are relative tolerances."""
    from studies.bench.peers import solver_of

    shared, amount = coefficients(n_odorants), amounts(n_odorants, samples)
    run = jax.jit(solver_of(solver)).lower(shared, amount, jnp.asarray(1.0)).compile()
    for rtol in settings:
        given = jnp.asarray(float(rtol))
        median, _, done = timed(lambda given=given: run(shared, amount, given), 5, 5.0)
        yield _point(rtol, median / samples, done.y, done.N, int(done.steps), 10 * bool(done.failed))


def _point(setting: float, per_sample: float, y: Any, N: Any, steps: int, status: int) -> dict:
    """One run; of the results, those of the first sample, which the reference solves too."""
    return {
        "setting": setting,
        "seconds_per_sample": per_sample,
        "steps": steps,
        "status": status,
        "y": np.asarray(y[..., 0], float).tolist(),
        "N": np.asarray(N[..., 0].T, float).tolist(),
    }


def _chamber_equations(n_odorants: int) -> tuple[Any, np.ndarray]:
    """SciPy's equations of the first sample, and its start."""
    from unmixnet.simulation.validation.reference import ChamberEquations

    chamber = portable_enose()
    process, geometry = made_up_process(chamber, n_odorants), chamber.geometry()
    state, equations = start(process, geometry), ChamberEquations(process, geometry)
    return equations, equations.pack(*(np.asarray(a).T for a in (state.N, state.theta, state.y)))


def truth(n_odorants: int, rtol: float) -> Iterator[dict]:
    """The first sample by a strict Radau that starts anew at every time to be compared, instead of interpolating."""
    from scipy.integrate import solve_ivp

    equations, u = _chamber_equations(n_odorants)
    tolerances = {"rtol": rtol, "atol": equations.tolerance(rtol)}
    y, spans = [u[-equations.M :].tolist()], zip((0.0, *TIMES_S), TIMES_S, strict=False)
    for span in spans:
        u = solve_ivp(equations.rhs, span, u, "Radau", vectorized=True, **tolerances).y[:, -1]
        y.append(u[-equations.M :].tolist())
    yield {"rtol": rtol, "y": y, "N": equations.unpack(u)[0].tolist()}


def radau(n_odorants: int, settings: Sequence[float]) -> Iterator[dict]:
    """SciPy Radau on the first sample; and the peak of Python's own allocations in a second run, if it is short."""
    import tracemalloc

    equations, u = _chamber_equations(n_odorants)
    for rtol in settings:

        def solve(rtol: float = rtol) -> Any:
            return equations.solve(DURATION_S, rtol=rtol, times=np.array(TIMES_S), start=u)

        median, repetitions, result = timed(solve, 3, 5.0)
        peak = None
        if median < 5:
            tracemalloc.start()
            solve()
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        point = _point(rtol, median, result.y[..., None], result.N[-1].T[..., None], result.evaluations, 0)
        yield {**point, "repetitions": repetitions, "memory_bytes": peak}


KINDS = {
    function.__name__: function for function in (measure, measure_diffrax, gemm, fixed, adaptive, diffrax, truth, radau)
}

if __name__ == "__main__":
    request = json.loads(sys.argv[1])
    for line in KINDS[request.pop("kind")](**request):
        print(json.dumps(line), flush=True)
