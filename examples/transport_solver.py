"""The transport solver by itself: a chamber from TOML and from Python, a gradient through it, an inverse problem."""

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from unmixnet import Cell, Chamber, Edge, Sensor, build, load_simulation, simulate

jax.config.update("jax_enable_x64", True)

# 1. A chamber from a file. `simulate` gives NumPy arrays with names.
problem = build(load_simulation(Path(__file__).with_name("jar.toml")))
result = simulate(problem)
print("status:", result.status, "in", result.steps, "steps and", result.rejected, "that were taken back")
print("signals after a minute:", dict(zip("AB", result.readout[-1].round(3).tolist(), strict=True)))
print("moles that are nowhere, relative:", np.abs(result.ledger[-1]).max())

# 2. The same chamber in Python.
chamber = Chamber(
    cells=(
        Cell("jar", 250e-6, "source", inlet_m3_s=1e-6),
        Cell("sensor", 20e-6, "sensor"),
        Cell("vent", 20e-6, "outlet", outlet_m3_s=1e-6),
    ),
    edges=(
        Edge("jar", "sensor", 0.05, 4e-4, 2.5e-3),  # length [m], area [m²], velocity [m/s]
        Edge("sensor", "vent", 0.03, 4e-4, 2.5e-3),
    ),
    sensors=(Sensor("A", "sensor"), Sensor("B", "sensor")),
)
assert chamber == problem.chamber
print("share of a cell that flows away in half a second:", chamber.cfl(0.5))


# 3. The rollout is a jax function of its coefficients: compile it, batch it and, with fixed steps, differentiate it.
@jax.jit
def signals(amount):
    """Traces (steps, sensors) that a release of so many moles makes."""
    process = eqx.tree_at(lambda p: p.source.amount, problem.process, amount)
    return problem.rollout(process, dt_s=0.5).saved.y


amount = problem.process.source.amount
slope = jax.jit(jax.jacfwd(signals))  # forward: two inputs, many outputs; jax.grad goes backwards just as well
step = 1e-3 * amount[0] * jnp.array([1.0, 0.0])
difference = (signals(amount + step) - signals(amount - step))[-1] / (2 * step[0])
print("d signal / d ethanol, by the gradient:", slope(amount)[-1, :, 0], "and by differences:", difference)

# 4. Backwards: which amounts made these traces? Gauss–Newton on the logarithm, which keeps moles positive.
measured = signals(amount)
found = amount.mean() * jnp.ones(2)
for _ in range(8):
    residual = (measured - signals(found)).ravel()
    relative_slope = slope(found).reshape(-1, 2) * found
    found = found * jnp.exp(jnp.linalg.lstsq(relative_slope, residual)[0])
print("released:", amount, "found:", found)
