"""From a configuration to a trained model: recordings, preprocessing, arrays, model, fit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from unmixnet.errors import ConfigError
from unmixnet.model.spec import ModelSpec, build_model
from unmixnet.model.statistics import Statistics
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.recordings.preprocessing import BaselineMethod as Clean
from unmixnet.recordings.preprocessing import Preprocessing
from unmixnet.recordings.recording import Recording
from unmixnet.training.augmentation import Bank
from unmixnet.training.config import TrainConfig
from unmixnet.training.epoch import Arrays
from unmixnet.training.examples import Examples, gather_examples, joined, windows_of
from unmixnet.training.pretraining import pretrain
from unmixnet.training.trainer import Fit, fit

__all__ = ["Prepared", "clean_air", "prepare", "train"]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Recordings ready for training.

    Arguments:
        train, validation: examples; validation may be None.
        preprocessing: fitted preprocessing.
        air, sign: clean-air signal of each sensor, and −1 for one whose signal falls.
        sessions: of the training recordings; where they are not known, all count as one.
    """

    config: TrainConfig
    components: tuple[str, ...]
    preprocessing: Preprocessing
    train: Examples
    validation: Examples | None
    air: tuple[float, ...]
    sign: tuple[float, ...]
    sessions: tuple[str | None, ...] = ()

    @property
    def spec(self) -> ModelSpec:
        """Of the model that these recordings train."""
        return self.config.spec(self.components, self.preprocessing.channels, air=self.air, sign=self.sign)

    def arrays(self) -> Arrays:
        """On the device."""
        window, M = self.config.window, len(self.preprocessing.channels)
        if self.validation is None:
            cut, owner = np.zeros((0, window, M), np.float32), np.zeros(0, int)
            truth = np.zeros((0, len(self.components)), np.float32)
        else:
            cut, owner = windows_of(self.validation, window, self.config.stride)
            truth = self.validation.targets
        return Arrays(
            jnp.asarray(self.train.traces),
            jnp.asarray(self.train.lengths),
            jnp.asarray(self.train.targets),
            jnp.asarray(cut),
            jnp.asarray(owner),
            jnp.asarray(truth),
            jnp.asarray(self.air, jnp.float32),
            jnp.asarray(self.preprocessing.sd, jnp.float32),
            jnp.asarray(self.sign, jnp.float32),
            jnp.asarray(_numbers(self.sessions, len(self.train)), jnp.int32),
        )

    def whole(self) -> "Prepared":
        """With the validation recordings among the training; without sessions, which only calibration needs."""
        assert self.validation is not None, "there is nothing to join"
        return replace(self, train=joined(self.train, self.validation), validation=None, sessions=())


def prepare(
    config: TrainConfig,
    train: Sequence[Recording],
    validation: Sequence[Recording],
    components: Sequence[str],
    sessions: Sequence[str | None] = (),
) -> Prepared:
    """Fit the preprocessing on the training recordings (never on the others) and gather everything."""
    channels = tuple(config.data.channels) or _shared(train)
    preprocessing = config.preprocessing(channels).fit(train)
    rate, window = config.model.rate_Hz, config.window
    examples = gather_examples(train, preprocessing, components, rate, window)
    held = gather_examples(validation, preprocessing, components, rate, window) if validation else None
    air, sign = clean_air(preprocessing, examples)
    return Prepared(config, tuple(components), preprocessing, examples, held, air, sign, tuple(sessions))


def train(
    prepared: Prepared,
    *,
    seed: int | None = None,
    model: PyTree | None = None,
    pretraining_seed: int | None = None,
    folder: Path | None = None,
    resume: bool = False,
    watch: Callable[[dict[str, Any]], None] = lambda entry: None,
) -> Fit:
    """Train the configured model.

    Arguments:
        model: to start from, where it is not the one that the seed draws.
        pretraining_seed: of the calibration and of the virtual recordings; that of the training if not given.
    """
    config = prepared.config
    seed = config.training.seed if seed is None else seed
    if model is None:
        model = build_model(prepared.spec, seed=seed)
    arrays, bank = prepared.arrays(), None
    model = _in_units(model, prepared)
    if isinstance(model, UnMixNet) and model.settings.closure and config.training.calibration > 0:
        model, bank = pretrain(model, arrays, config, seed if pretraining_seed is None else pretraining_seed, watch)
    given = {"window": config.window, "seed": seed, "resume": resume, "tag": config.tag}
    result = fit(model, _with(arrays, bank), config.plan, config.recipe, folder=folder, watch=watch, **given)
    if not config.training.refit or prepared.validation is None or result.interrupted:
        return result
    whole = prepared.whole()
    again = fit(
        _in_units(model, whole),
        _with(whole.arrays(), bank),
        config.plan,
        config.recipe,
        until=result.best_epoch,
        folder=None if folder is None else folder / "refit",
        watch=lambda entry: watch({**entry, "refit": True}),
        **given,
    )
    history = (*result.history, *again.history)
    return replace(result, model=again.model, history=history, interrupted=again.interrupted)


def _numbers(sessions: Sequence[str | None], n: int) -> np.ndarray:
    """Sessions counted from zero; recordings of unknown session share one."""
    names = [session or "" for session in sessions] or [""] * n
    if len(names) != n:
        raise ConfigError(f"{len(names)} sessions for {n} recordings", remedy="Name one for each, or none")
    return np.unique(names, return_inverse=True)[1]


def _shared(recordings: Sequence[Recording]) -> tuple[str, ...]:
    """Channels that every recording has, in the order of the first."""
    if not recordings:
        raise ConfigError("there is no recording to train on", remedy="Check the split")
    common = set.intersection(*(set(recording.channels) for recording in recordings))
    if not common:
        raise ConfigError("the recordings share no channel", remedy="Name the channels, or leave recordings out")
    return tuple(name for name in recordings[0].channels if name in common)


def clean_air(preprocessing: Preprocessing, examples: Examples) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Signal in clean air, and the direction in which each sensor responds.

    With a baseline clean air is where the response is zero; without one, half a standard deviation outside the least
    exposed recordings stands in for it. A sensor responds downwards if it moves against the mean of all sensors.
    """
    rows = np.concatenate([trace[:length] for trace, length in zip(examples.traces, examples.lengths, strict=True)])
    common = rows.mean(axis=1)
    sign = np.where([np.corrcoef(common, column)[0, 1] < -0.2 for column in rows.T], -1.0, 1.0)
    if preprocessing.baseline is Clean.NONE:
        quantile = [np.quantile(sign_m * column, 0.02) for sign_m, column in zip(sign, rows.T, strict=True)]
        air = sign * (np.array(quantile) - 0.5)
    else:
        air = -np.array(preprocessing.mean) / np.array(preprocessing.sd)
    return tuple(air.tolist()), tuple(sign.tolist())


def _with(arrays: Arrays, bank: Bank | None) -> Arrays:
    """The arrays with virtual recordings, if there are any."""
    return eqx.tree_at(lambda a: a.bank, arrays, bank, is_leaf=lambda leaf: leaf is None)


def _in_units(model: PyTree, prepared: Prepared) -> PyTree:
    """The model, its statistics in the units of the training windows where it reads statistics."""
    if not (isinstance(model, UnMixNet) and isinstance(model.encoder.trunk, Statistics)):
        return model
    windows = jnp.asarray(windows_of(prepared.train, prepared.config.window, prepared.config.stride)[0])
    return eqx.tree_at(
        lambda m: m.encoder.trunk, model, model.encoder.trunk.fitted(windows, jnp.asarray(prepared.air, jnp.float32))
    )
