"""A folder of made-up recordings and tiny bundles made from it, once for all tests that need one."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unmixnet.inference.bundle import Bundle, load_bundle, save_bundle
from unmixnet.model.predict import single_precision
from unmixnet.model.spec import build_model
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.training.config import load_training
from unmixnet.training.examples import TrainingRecordings, training_recordings
from unmixnet.training.make_bundle import make_bundle
from unmixnet.training.run import Prepared, prepare
from unmixnet.training.trainer import Fit

COMPONENTS = ("almond", "clove", "mint")
CHANNELS = ("NO2", "VOC", "CO")
SENSITIVITY = np.array([[2.0, 0.3, 0.6], [0.4, 1.8, 0.5], [0.5, 0.6, 1.5]])
RECIPES = ("almond", "clove", "mint", "almond_50_clove_50", "almond_50_mint_50", "clove_50_mint_50")
SECONDS, RATE = 20, 5
CONFIG = """
[data]
protocol = "folder:all"
folder = "."
baseline = "recording"
window_s = 10
stride_s = 5
validation = 0.3

[model]
rate_Hz = 1.0
step_s = 1.0
patch_s = 2.0

[training]
epochs = {epochs}
batch = 8
rate = 3e-3
"""


def counts(ratios: np.ndarray, seed: int, *, strength: float = 1.0, seconds: float = SECONDS) -> np.ndarray:
    """Ten-bit readings of a recording that starts in clean air: saturating answers, noise, a session's offset."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(seconds * RATE)) / RATE
    answer = np.log1p(3 * strength * (ratios @ SENSITIVITY)) * (1 - np.exp(-t[:, None] / 2.0))
    level = answer - 1.5 + rng.normal(0, 0.05, 3)
    return np.round(1023 / (1 + np.exp(-level)) + rng.normal(0, 0.5, (len(t), 3)))


def csv_text(readings: np.ndarray, channels: tuple[str, ...] = CHANNELS) -> str:
    head = ",".join(["time_s", *(f"{name} [counts]" for name in channels)])
    rows = (",".join([f"{i / RATE:.1f}", *(f"{value:g}" for value in row)]) for i, row in enumerate(readings))
    return "\n".join([head, *rows]) + "\n"


def shares_of(recipe: str) -> np.ndarray:
    names = [name for name in COMPONENTS if name in recipe]
    return np.array([1 / len(names) if name in names else 0.0 for name in COMPONENTS])


def write_folder(folder: Path, *, sessions: int = 6, epochs: int = 3, model: str = "unmixnet", first: int = 0) -> Path:
    """Recordings, manifest and training file; gives the training file."""
    rows = ["file,label,session,split"]
    for session in range(first, first + sessions):
        for k, recipe in enumerate(RECIPES):
            name = f"s{session}_{k}.csv"
            seed = 100 * session + k
            strength = np.exp(np.random.default_rng(seed).normal(0, 0.2))
            (folder / name).write_text(csv_text(counts(shares_of(recipe), seed, strength=strength)))
            rows.append(f"{name},{recipe},{session},all")
    (folder / "manifest.csv").write_text("\n".join(rows) + "\n")
    (folder / "tiny.toml").write_text(CONFIG.format(epochs=epochs).replace("[model]\n", f'[model]\nname = "{model}"\n'))
    return folder / "tiny.toml"


_HOME: list[Path] = []


@pytest.fixture(scope="session", autouse=True)
def shared_home(tmp_path_factory) -> None:
    """A folder for this run of the tests, shared by its workers; pytest clears it away some runs later."""
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "tiny"
    place.mkdir(exist_ok=True)
    _HOME[:] = [place]


def home() -> Path:
    return _HOME[0]


@contextmanager
def alone() -> Iterator[None]:
    """One worker at a time: what the first has made, the others read."""
    with (home() / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@cache
def folder() -> Path:
    """Six sessions of recordings."""
    place = home() / "data"
    with alone():
        if not place.exists():
            place.mkdir()
            write_folder(place)
    return place


@cache
def prepared() -> tuple[Prepared, TrainingRecordings]:
    """The recordings, ready for training."""
    config = load_training(folder() / "tiny.toml")
    with single_precision():
        sources = training_recordings(config)
        return prepare(config, sources.train, sources.validation, sources.components), sources


@cache
def bundle() -> Bundle:
    """UnMixNet with small random weights, calibrated like a trained one and read back from disk.

    Untrained, because compiling a training epoch costs more than all tests of the laws that hold without it; `train`
    is tested with a baseline, and with UnMixNet among the long counts.
    """
    use_program_cache()
    place = folder() / "bundle"
    with alone():
        if not place.exists():
            _make_bundle(place)
    return load_bundle(place)


def _make_bundle(place: Path) -> None:
    ready, sources = prepared()
    with single_precision():
        model = drawn(ready)
        fit = Fit(model, model, 0.0, 0, 0, ())
        made, _ = make_bundle("tiny", ready, fit, (*sources.train, *sources.validation))
        save_bundle(place, made)


def drawn(ready: Prepared) -> UnMixNet:
    """Weights drawn by NumPy: drawing them as `build_model` does takes a compilation."""
    rng = np.random.default_rng(0)
    shapes = eqx.filter_eval_shape(lambda: build_model(ready.spec, seed=0))
    model = jax.tree.map(
        lambda leaf: (
            jnp.asarray(rng.normal(0, 0.15, leaf.shape), leaf.dtype) if isinstance(leaf, jax.ShapeDtypeStruct) else leaf
        ),
        shapes,
    )
    return eqx.tree_at(lambda m: m.transduction.baseline, model, jnp.asarray(ready.air, jnp.float32))


@cache
def baseline() -> Bundle:
    """A multilayer perceptron as it is drawn."""
    ready, sources = prepared()
    config = ready.config.model_copy(update={"model": replace(ready.config.model, name="mlp")})
    ready = replace(ready, config=config)
    with single_precision():
        model = build_model(ready.spec, seed=0)
        made, _ = make_bundle(
            "perceptron", ready, Fit(model, model, 0.0, 0, 0, ()), (*sources.train, *sources.validation)
        )
    place = folder() / "perceptron"
    with alone():
        if not place.exists():
            save_bundle(place, made)
    return load_bundle(place)


def use_program_cache() -> None:
    """Keep compiled programs on disk for this session: every module forgets its own, and the next would pay again."""
    jax.config.update("jax_compilation_cache_dir", str(programs()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)


def programs() -> Path:
    return home() / "programs"
