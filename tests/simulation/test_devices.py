"""A batch over several devices is the batch on one; a room of hundreds of cells is solved like a jar."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unmixnet.physics.rollout import rollout
from unmixnet.physics.state import Status, clean_air
from unmixnet.simulation.builders import box
from unmixnet.simulation.devices import over_devices
from unmixnet.simulation.validation.synthetic_problem import made_up_process

FOUR = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}


def sharded(law: str, *batches: int) -> list[dict]:
    """What four host devices say; their number is fixed when jax starts, so in a process of its own."""
    command = [sys.executable, str(Path(__file__).with_name("sharded.py")), law, *map(str, batches)]
    done = subprocess.run(command, env=FOUR, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_four_devices_share_a_batch_and_say_what_one_says():
    even, odd = sharded("flux", 8, 6)
    assert even["devices"] == 4 and even["shares"] == [2, 2, 2, 2] and even["difference"] < 1e-12
    assert even["spread"] > 1e-2, "the samples differ, so a wrong order would show"
    assert odd["shape"][0] == 6 and odd["difference"] < 1e-12, "filled up, and cut again"


@pytest.mark.soak
def test_four_devices_share_rollouts_and_their_gradients(measured):
    (told,) = sharded("rollout", 8)
    measured("largest relative difference of readouts and of gradients", [told["difference"], told["gradient"]])
    assert told["shares"] == [2, 2, 2, 2] and told["difference"] < 1e-12 and told["gradient"] < 1e-10


def test_one_device_gives_what_the_function_gives():
    batch = jnp.arange(6.0).reshape(3, 2)
    run = over_devices(lambda shared, x: {"sum": shared + x.sum(axis=1)}, jax.devices()[:1])
    np.testing.assert_array_equal(run(jnp.asarray(2.0), batch)["sum"], 2 + batch.sum(axis=1))


def test_twin_samples_that_ask_each_other_are_not_a_batch():
    """What `over_devices` may not be used for: here every device sees its own samples only."""
    code = (
        "import jax, jax.numpy as jnp; from unmixnet.simulation.devices import over_devices;"
        "x = jnp.arange(8.); f = lambda s, x: x - x.mean();"
        "print(float(jnp.abs(over_devices(f)(0., x) - f(0., x)).max()))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=FOUR, capture_output=True, text=True, check=True)
    assert float(done.stdout) > 1


def test_a_room_of_hundreds_of_cells_keeps_every_mole():
    """10 × 8 × 6 cells of half a metre, four sensors, two odorants: nothing in the solver knows that it is large."""
    room = box(10, 8, 6, size_m=(5.0, 4.0, 3.0))
    process, geometry = made_up_process(room, 2), room.geometry()
    start = clean_air(process, geometry)
    done = jax.jit(lambda: rollout(process, geometry, start, jnp.asarray(2.0), 30, save=("y", "ledger")))()
    assert int(done.status) == Status.OK and len(room.cells) == 480
    released = float(done.final.reservoirs.source[1:].sum())
    assert released > 0 and float(jnp.max(jnp.abs(done.saved.ledger))) < 1e-12
    reached = np.count_nonzero(np.asarray(done.final.N)[1] > 0)
    assert reached == 480, "the odorant has begun to spread through all of it"
