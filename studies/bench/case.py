"""One measurement of the solver benchmark, in a process of its own: `python -m studies.bench.case '{"kind": …}'`.

A process per measurement keeps memory and thread pools apart, and one that never returns (two LAPACK calls at once can
block XLA's thread pool for good) costs a row instead of the run. Prints one JSON object.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from unmixnet.physics.geometry import Geometry
from unmixnet.physics.maxwell_stefan import Form
from unmixnet.physics.rollout import Policy, rollout
from unmixnet.physics.state import Process, State, clean_air
from unmixnet.simulation.builders import portable_enose
from unmixnet.simulation.validation.synthetic_problem import made_up_process

__all__ = ["DURATION_S", "PATHS", "gemm", "measure", "precision", "reference", "rollouts"]

DURATION_S = 50.0
"""Simulated time: 100 steps of half a second."""
_BACKGROUND = 1e-5
PATHS: dict[str, tuple[Form, Policy]] = {
    "default": ("exact", Policy()),
    "plain": ("ideal", Policy(dense_adsorption=True)),
}
"""Form of the flux and policy; both with a checkpoint per step."""


def learned(p: Process) -> tuple:
    """Coefficients that a model would learn and that the gradient is taken for, shared by the batch."""
    return p.diffusion.D, p.surface.k_ads, p.surface.k_des, p.readout.beta, p.readout.tau_rise, p.readout.tau_recovery


def start(process: Process, geometry: Geometry) -> State:
    """Air with a background of all odorants, 1e-5 in total: in clean air the plain path's KKT matrix is singular."""
    state = clean_air(process, geometry)
    background = _BACKGROUND / process.source.amount.shape[0]
    return eqx.tree_at(lambda s: s.N, state, state.N.at[:, 1:].set(background * state.N[:, :1]))


def rollouts(path: str, n_odorants: int, n_steps: int, dt_s: float = 0.5) -> tuple[Callable, Callable, tuple]:
    """Forward pass and loss of a batch, and the shared coefficients; a sample is its vector of released amounts."""
    form, policy = PATHS[path]
    chamber = portable_enose()
    process, geometry = made_up_process(chamber, n_odorants, form=form), chamber.geometry()
    dt = jnp.asarray(dt_s)

    def one(coefficients, amount) -> tuple[jax.Array, jax.Array, jax.Array]:
        p = eqx.tree_at(lambda p: (*learned(p), p.source.amount), process, (*coefficients, amount))
        result = rollout(p, geometry, start(p, geometry), dt, n_steps, policy=policy)
        assert result.saved.y is not None
        return result.saved.y, result.final.N, result.status

    forward = jax.vmap(one, in_axes=(None, 0))
    return forward, lambda c, a: jnp.mean(forward(c, a)[0] ** 2), learned(process)


def amounts(n_odorants: int, batch: int) -> jax.Array:
    """Released moles of each sample; the first one releases what the made-up process says."""
    usual = made_up_process(portable_enose(), n_odorants).source.amount
    factor = np.random.default_rng(0).uniform(0.5, 1.5, (batch, n_odorants))
    factor[0] = 1
    return usual * jnp.asarray(factor, usual.dtype)


def seconds(run: Callable[[], Any], repetitions: int = 7) -> tuple[float, int]:
    """Median wall time and number of repetitions: one of them suffices where a run takes over 20 s."""
    first = _once(run)
    if first > 20:
        return first, 1
    times = [_once(run) for _ in range(int(np.clip(15 / first, 2, repetitions)))]
    return float(np.median(times)), len(times)


def _once(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    jax.block_until_ready(run())
    return time.perf_counter() - start


def measure(path: str, n_odorants: int, batch: int, n_steps: int) -> list[dict]:
    """Forward, and forward and backward, of one path: time, and the peak of XLA's temporary and output buffers."""
    forward, loss, coefficients = rollouts(path, n_odorants, n_steps)
    amount = amounts(n_odorants, batch)
    programs = {"forward": forward, "forward+backward": jax.value_and_grad(loss, argnums=(0, 1))}
    status, rows = 0, []
    for name, program in programs.items():
        began = time.perf_counter()
        compiled = jax.jit(program).lower(coefficients, amount).compile()
        compile_s = time.perf_counter() - began
        median, repetitions = seconds(lambda compiled=compiled: compiled(coefficients, amount))
        if name == "forward":
            status = int(jnp.max(compiled(coefficients, amount)[2]))
        memory: Any = compiled.memory_analysis()
        rows.append(
            {
                "path": path,
                "odorants": n_odorants,
                "batch": batch,
                "pass": name,
                "status": status,
                "steps": n_steps,
                "seconds": median,
                "repetitions": repetitions,
                "seconds_per_sample": median / batch,
                "samples_per_second": batch / median,
                "compile_seconds": compile_s,
                "memory_bytes": memory.temp_size_in_bytes + memory.output_size_in_bytes,
            }
        )
    return rows


def gemm(size: int = 2048) -> dict:
    """Rate of a large float32 product, with the threads that the rollouts have."""
    a = jnp.asarray(np.random.default_rng(0).normal(size=(size, size)), jnp.float32)
    product = jax.jit(lambda a: a @ a).lower(a).compile()
    median, _ = seconds(lambda: product(a), 15)
    return {"size": size, "gflop_per_s": 2 * size**3 / median / 1e9}


def precision(n_odorants: int, batch: int, n_steps: int) -> dict:
    """Default path: time per sample, and the first sample's end state for comparison with the reference."""
    forward, _, coefficients = rollouts("default", n_odorants, n_steps, DURATION_S / n_steps)
    amount = amounts(n_odorants, batch)
    run = jax.jit(forward).lower(coefficients, amount).compile()
    median, _ = seconds(lambda: run(coefficients, amount), 5)
    y, N, status = run(coefficients, amount)
    return {
        "steps": n_steps,
        "seconds_per_sample": median / batch,
        "status": int(jnp.max(status)),
        "y": np.asarray(y[0, -1], float).tolist(),
        "N": np.asarray(N[0], float).tolist(),
    }


def reference(n_odorants: int, rtol: float, repetitions: int) -> dict:
    """SciPy Radau on the same sample: time, end state and the peak of Python's own allocations in a second run."""
    import tracemalloc

    from unmixnet.simulation.validation.reference import ChamberEquations

    chamber = portable_enose()
    process, geometry = made_up_process(chamber, n_odorants), chamber.geometry()
    state, equations = start(process, geometry), ChamberEquations(process, geometry)
    u = equations.pack(*(np.asarray(a) for a in (state.N, state.theta, state.y)))
    times = []
    for _ in range(repetitions):
        began = time.perf_counter()
        result = equations.solve(DURATION_S, rtol=rtol, start=u)
        times.append(time.perf_counter() - began)
        if times[0] > 5:
            break
    peak = None
    if times[0] < 5:
        tracemalloc.start()
        equations.solve(DURATION_S, rtol=rtol, start=u)
        peak = tracemalloc.get_traced_memory()[1]
    return {
        "rtol": rtol,
        "seconds_per_sample": float(np.median(times)),
        "repetitions": len(times),
        "evaluations": result.evaluations,
        "memory_bytes": peak,
        "y": result.y[-1].tolist(),
        "N": result.N[-1].tolist(),
    }


if __name__ == "__main__":
    request = json.loads(sys.argv[1])
    kinds = {"measure": measure, "gemm": gemm, "precision": precision, "reference": reference}
    json.dump(kinds[request.pop("kind")](**request), sys.stdout)
