"""A network comes back from the work folder with the weights that it left there, whatever else it is made of."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import pytest

from studies.states.networks import restored
from unmixnet.errors import ConfigError
from unmixnet.inference.bundle.storage import to_tensors
from unmixnet.model.baselines import BASELINES


def _model(name: str, seed: int) -> Any:
    with jax.enable_x64(False):
        return eqx.filter_jit(lambda key: BASELINES[name].of(20, 4, 3, size="small", key=key))(jax.random.key(seed))


def _job() -> Any:
    return SimpleNamespace(seed=0, place=Path("a.npz"), variant=SimpleNamespace(name="some"))


def _work(kept: Any) -> Any:
    return SimpleNamespace(read_weights=lambda job: kept, folder=Path())


@pytest.mark.parametrize("name", ["mlp", "itransformer"])
def test_weights_come_back_beside_numbers_that_are_no_arrays(name):
    trained = _model(name, 1)
    bench: Any = SimpleNamespace(model=lambda seed: _model(name, seed))
    found = restored(bench, _job(), _work(to_tensors(trained)))
    assert eqx.tree_equal(found, trained)
    assert not eqx.tree_equal(found, bench.model(0))


def test_weights_that_were_not_kept_are_named():
    with pytest.raises(ConfigError, match="weights of some, seed 0"):
        restored(SimpleNamespace(), _job(), _work(None))  # pyright: ignore[reportArgumentType]
