"""Specification of a trained model without its weights: its structure and the windows that it takes.

A bundle stores it beside the weights, so that inference does not depend on training. The preprocessing
is stored separately, since `model` does not import `recordings`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import jax
from jaxtyping import PyTree

from unmixnet.errors import ConfigError
from unmixnet.model.settings import Settings
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.simulation.builders import portable_enose

__all__ = ["ModelSpec", "build_model", "rows_in"]


def rows_in(seconds: float, rate_Hz: float) -> int:
    """Rows of a trace in so many seconds, at least one."""
    return max(1, round(seconds * rate_Hz))


@dataclass(frozen=True)
class ModelSpec:
    """Structure of a model and the windows that it takes.

    Arguments:
        network: `unmixnet`, or the name of a baseline.
        settings: of the network; a baseline uses its size and rate only.
        task: `ratios` of a mixture, or `classes`, one substance out of many.
        components: substances, in the order of the outputs.
        channels: sensors, in the order of the inputs.
        window_s, stride_s: length of a window, and from one to the next.
        air: signal of each channel in clean air; `sign`: −1 for a channel whose signal falls in an odour.
    """

    network: str
    settings: Settings
    task: str
    components: tuple[str, ...]
    channels: tuple[str, ...]
    window_s: float
    stride_s: float
    air: tuple[float, ...]
    sign: tuple[float, ...]

    def __post_init__(self) -> None:
        K, M, levels = len(self.components), len(self.channels), {len(self.air), len(self.sign)}
        if not K or not M or levels != {M} or len(set(self.components)) != K:
            raise ConfigError(
                f"{K} components ({len(set(self.components))} different), {M} channels with {sorted(levels)} levels",
                where="model",
                remedy="A model needs different components and a clean-air level for every channel; train anew",
            )

    @property
    def rate_Hz(self) -> float:
        """Rate of the traces."""
        return self.settings.rate_Hz

    @property
    def window(self) -> int:
        """Rows of a window."""
        return rows_in(self.window_s, self.rate_Hz)

    @property
    def stride(self) -> int:
        """Rows from one window to the next."""
        return rows_in(self.stride_s, self.rate_Hz)

    @classmethod
    def of(
        cls,
        config: Mapping[str, Any],
        components: Sequence[str],
        channels: Sequence[str],
        *,
        air: Sequence[float],
        sign: Sequence[float],
    ) -> "ModelSpec":
        """From the tables `model` and `data` of a training file (or of the copy of it that a bundle stores)."""
        model, data = config["model"], config["data"]
        known = {item.name for item in fields(Settings)}
        if unknown := sorted(set(model) - known - {"name"}):
            close = get_close_matches(unknown[0], known, n=1)
            hint = f"Did you mean {close[0]!r}? " if close else ""
            raise ConfigError(
                f"unknown settings {', '.join(unknown)}", where="model", remedy=f"{hint}Update unmixnet, or train anew"
            )
        settings = {key: value for key, value in model.items() if key in known}
        if model["name"] != "unmixnet":
            settings = {"size": model["size"], "rate_Hz": model["rate_Hz"], "step_s": 1 / model["rate_Hz"]}
        return cls(
            str(model["name"]),
            Settings(**settings),
            str(data["task"]),
            tuple(map(str, components)),
            tuple(map(str, channels)),
            float(data["window_s"]),
            float(data["stride_s"]),
            tuple(map(float, air)),
            tuple(map(float, sign)),
        )


def build_model(spec: ModelSpec, *, seed: int) -> PyTree:
    """The initial model, drawn layer by layer: compiled as a whole, it would be compiled again for every seed."""
    key = jax.random.key(seed, impl="unsafe_rbg")
    K, M = len(spec.components), len(spec.channels)
    if spec.network == "unmixnet":
        chamber = portable_enose(sensors=spec.channels)
        return UnMixNet.of(spec.settings, chamber, K, air=spec.air, sign=spec.sign, key=key)
    # imported here, so that inference with UnMixNet does not load the baselines
    baselines = import_module("unmixnet.model.baselines").BASELINES
    if spec.network not in baselines:
        raise ConfigError(
            f"there is no network {spec.network!r}",
            where="model.name",
            remedy=f"Use one of unmixnet, {', '.join(baselines)}",
        )
    return baselines[spec.network].of(spec.window, M, K, size=spec.settings.size, key=key)
