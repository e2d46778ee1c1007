"""One model of the efficiency table, in a process of its own: `python -m studies.efficiency.case '{…}'`.

A process for each model keeps their memory apart. Windows are those of the `smellnet-mixture` recipe (30 s of four
sensors, twelve components); what is timed does not depend on their content, except for the direct inverse, which gets
recordings or, without them, traces of its own solver. Prints one JSON object.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from studies.harness.variants import changed
from unmixnet.model.baselines import count_parameters
from unmixnet.model.predict import predict_ratios
from unmixnet.model.spec import build_model
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.training.config import TrainConfig
from unmixnet.training.epoch import Arrays, make_epoch, start_state
from unmixnet.training.recipes import recipe

__all__ = ["BATCH", "Case", "Measured", "measure"]

BATCH, SENSORS, COMPONENTS = 32, 4, 12
RECIPE = "smellnet-mixture"
_STEPS = 2
"""Training steps that are timed together; an epoch is so many times as long as it has more."""


@dataclass(frozen=True)
class Case:
    """What to measure.

    Arguments:
        kind: `network`, `states` (UnMixNet with its rollout), `peer` or `inverse`.
        model, size: names.
        repeats: timed answers to one window; a quarter as many to a batch.
        recordings: of a training epoch.
        windows: file with windows for the inverse, "" for traces of its own solver.
    """

    kind: str
    model: str
    size: str
    repeats: int
    recordings: int
    windows: str = ""


@dataclass(frozen=True)
class Measured:
    """Measured costs of a model; None where one does not apply."""

    parameters: int | None
    epoch_s: float | None
    """Training time of an epoch, without validation; for a peer the whole fit."""
    latency_ms: float
    """Median time of an answer to one window."""
    throughput: float
    """Windows a second, in batches of 32."""
    buffers_MB: float | None
    """XLA's arguments, temporaries and outputs for a batch."""
    resident_MB: float
    """Growth of the process's peak from an empty program to the last answer, compilation included."""
    detail: str = ""


def measure(case: Case) -> Measured:
    """Measure one model."""
    jax.block_until_ready(jax.jit(lambda x: x + 1)(jnp.zeros(BATCH)))
    return {"network": _network, "states": _network, "peer": _peer, "inverse": _inverse}[case.kind](case)


def _config(case: Case) -> TrainConfig:
    return changed(recipe(RECIPE), {"model.name": case.model, "model.size": case.size})


def _built(config: TrainConfig) -> PyTree:
    names = tuple(f"c{i}" for i in range(COMPONENTS))
    channels = tuple(f"MOX{m + 1}" for m in range(SENSORS))
    return build_model(config.spec(names, channels, air=(0.0,) * SENSORS, sign=(1.0,) * SENSORS), seed=0)


def _network(case: Case) -> Measured:
    before, config = _peak_MB(), _config(case)
    model = _built(config)
    params, static = eqx.partition(model, eqx.is_inexact_array)

    def answer(params: PyTree, Y: jax.Array) -> PyTree:
        model = eqx.combine(params, static)
        return jax.vmap(lambda y: predict_ratios(model, y))(Y) if case.kind == "network" else _with_states(model, Y)

    lifted = jax.jit(answer)
    rng = np.random.default_rng(0)
    single, many = (rng.normal(size=(n, config.window, SENSORS)).astype(np.float32) for n in (1, BATCH))
    programs = [lifted.lower(params, windows).compile() for windows in (single, many)]
    latency = median_s(lambda: programs[0](params, single), case.repeats)
    batch = median_s(lambda: programs[1](params, many), max(5, case.repeats // 4))
    memory: Any = programs[1].memory_analysis()
    buffers = memory.argument_size_in_bytes + memory.temp_size_in_bytes + memory.output_size_in_bytes
    resident = _peak_MB() - before
    epoch = _epoch_s(model, config, case.recordings) if case.kind == "network" else None
    return Measured(count_parameters(model), epoch, 1e3 * latency, BATCH / batch, buffers / 1e6, resident)


def _with_states(model: UnMixNet, Y: jax.Array) -> PyTree:
    """What a full answer shows: ratios, moles, fluxes, coverages and the reconstructed trace."""
    inference, save = jax.vmap(model)(Y), ("x", "J", "theta", "y")
    return inference.a, model.reconstruct_all(inference, Y[:, 0], Y.shape[1], save=save).rollout.saved


def _epoch_s(model: PyTree, config: TrainConfig, recordings: int) -> float:
    """Seconds of an epoch of so many recordings, from a few steps of the compiled training."""
    plan, n = config.plan, _STEPS * config.plan.batch
    rng, rows = np.random.default_rng(1), config.window + config.stride
    zeros = jnp.zeros(SENSORS)
    arrays = Arrays(
        jnp.asarray(rng.normal(size=(n, rows, SENSORS)), jnp.float32),
        jnp.full(n, rows, jnp.int32),
        jnp.asarray(rng.dirichlet(np.ones(COMPONENTS), n), jnp.float32),
        jnp.zeros((0, config.window, SENSORS)),
        jnp.zeros(0, jnp.int32),
        jnp.zeros((0, COMPONENTS)),
        zeros,
        zeros + 1,
        zeros + 1,
        jnp.zeros(n, jnp.int32),
    )
    epoch, state = make_epoch(model, plan, config.recipe, config.window), start_state(model, plan)
    took = median_s(lambda: epoch(state, arrays, 0), 3)
    return took / _STEPS * -(-recordings // plan.batch)


def _peer(case: Case) -> Measured:
    from studies.peers.models import PEERS
    from studies.peers.tables import MIXTURE_WINDOWS
    from unmixnet.recordings.samples import Samples, Task

    before, rng = _peak_MB(), np.random.default_rng(0)
    rows, per = MIXTURE_WINDOWS.window, 1 + (600 - MIXTURE_WINDOWS.window) // MIXTURE_WINDOWS.stride
    n = case.recordings * per
    windows = rng.normal(size=(n, rows, SENSORS))
    names = tuple(str(i // per) for i in range(n))
    samples = Samples(windows, rng.dirichlet(np.ones(COMPONENTS), n), names, names)
    began = time.perf_counter()
    fitted = PEERS[case.model].fit(samples, Task.RATIOS, seed=0)
    fit = time.perf_counter() - began
    latency = median_s(lambda: fitted.predict(windows[:1]), max(5, case.repeats // 4))
    batch = median_s(lambda: fitted.predict(windows[:BATCH]), max(5, case.repeats // 4))
    return Measured(None, fit, 1e3 * latency, BATCH / batch, None, _peak_MB() - before, "windows of 10 s")


def _inverse(case: Case) -> Measured:
    """Levenberg–Marquardt through the solver of the shipped model, batch by batch."""
    from unmixnet.inference.bundle.storage import load_model
    from unmixnet.model.baselines.direct_inverse import InverseSettings, invert_all

    before, model = _peak_MB(), load_model(RECIPE).model
    windows = np.load(case.windows) if case.windows else _played(model, 8)
    settings = InverseSettings() if case.repeats > 20 else InverseSettings(pure_starts=1, most_steps=5)
    steps: list[float] = []

    def answer(n: int) -> Callable[[], Any]:
        def run() -> Any:
            solution = invert_all(model, windows[:n], settings, batch=n)
            steps.append(float(np.mean(solution.steps)))
            return solution.a

        return run

    latency = median_s(answer(1), 3)
    n = min(BATCH, len(windows))
    batch = median_s(answer(n), 1)
    detail = f"{n} windows, {steps[-1]:.1f} steps on average, {'recordings' if case.windows else 'own traces'}"
    return Measured(None, None, 1e3 * latency, n / batch, None, _peak_MB() - before, detail)


def _played(model: UnMixNet, n: int) -> np.ndarray:
    """Traces of the model's own solver for random mixtures, with noise."""
    config, rng = recipe(RECIPE), np.random.default_rng(0)
    shares = jnp.asarray(rng.dirichlet(np.full(COMPONENTS, 0.3), n), jnp.float32)
    T, typical = config.window, model.uninformed()
    solve = eqx.filter_jit(lambda a: jnp.moveaxis(model.reconstruct_all(typical, None, T, shares=a).y, -1, 0))
    y = np.repeat(np.asarray(solve(shares)), config.settings.stride, axis=1)[:, : T - 1]
    y = np.concatenate([y[:, :1], y, np.repeat(y[:, -1:], T, axis=1)], axis=1)[:, :T]
    return y + rng.normal(0, 0.02, y.shape)


def median_s(run: Callable[[], Any], repeats: int) -> float:
    """Median seconds of a call, after one that does not count."""
    jax.block_until_ready(run())
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        jax.block_until_ready(run())
        seconds.append(time.perf_counter() - began)
    return float(np.median(seconds))


def _peak_MB() -> float:
    """Largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    json.dump(asdict(measure(Case(**json.loads(sys.argv[1])))), sys.stdout)
