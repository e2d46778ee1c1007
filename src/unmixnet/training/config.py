"""A training run as a TOML file: data, model, objective, optimisation.

Every default is stated once, in the class that uses it: `[model]` is `Settings`, `[objective]` the `Weights` of the
losses, `[training]` the `TrainingPlan` of the optimiser and the `BatchOptions`.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt
from pydantic import Field

from unmixnet.errors import ConfigError
from unmixnet.files.reading import read_text
from unmixnet.files.toml import Section, parse_toml
from unmixnet.model.settings import Settings
from unmixnet.model.spec import ModelSpec, rows_in
from unmixnet.recordings.preprocessing import Preprocessing
from unmixnet.training.augmentation import NuisanceSpread
from unmixnet.training.epoch import TrainingPlan
from unmixnet.training.losses import Weights
from unmixnet.training.objective import BatchOptions, Recipe

__all__ = ["TrainConfig", "load_training", "parse_training"]


class DataSection(Section):
    """`[data]`: which recordings, and what a model sees of them."""

    protocol: str
    """Named split, e.g. `smellnet-mixture:clean:seen`; `folder:all` takes every labelled recording of a folder."""
    fold: int = Field(0, ge=0)
    """Which fold of it, where there are several."""
    folder: str | None = None
    """Folder of your own recordings with its `manifest.csv`, for `folder:…`."""
    channels: list[str] = []
    """Channels that are used; all that the recordings share if left out."""
    task: Literal["ratios", "classes"] = "ratios"
    """Shares of a mixture, or one substance out of many."""
    baseline: Literal["recording", "reference", "none"] = "none"
    """Where clean air is found: at the start of each recording, in a reference level, or nowhere."""
    response: Literal["level", "relative", "log-ratio", "log-conductance"] = "log-conductance"
    """How readings are compared with it."""
    difference: int = Field(0, ge=0)
    """Replace the response by its change over so many rows; 0 keeps it, and UnMixNet, which explains it, needs it."""
    first_rows: int | None = Field(None, gt=0)
    """Use only so many rows of each recording."""
    window_s: float = Field(30.0, gt=0)
    """Length of a window."""
    stride_s: float = Field(10.0, gt=0)
    """From one window to the next, when a whole recording is answered."""
    validation: float = Field(0.2, ge=0, lt=1)
    """Share of the training recordings, in whole sessions where they are known, on which everything is chosen."""


@dataclass(frozen=True, kw_only=True)
class ModelSection(Settings):
    """`[model]`: UnMixNet or a baseline, and its settings."""

    name: Literal["unmixnet", "mlp", "cnn-lstm", "itransformer", "scentformer", "adr-gnn", "ldac"] = "unmixnet"

    def __post_init__(self) -> None:
        if self.name == "unmixnet":  # a baseline has no solver whose step could be wrong
            super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class TrainingSection(BatchOptions, TrainingPlan):
    """`[training]`: how to optimise, how a batch is made, and what comes before the first epoch.

    Arguments:
        seed: fixes everything that is drawn.
        refit: train again for as many epochs as were best, now on the validation recordings too.
        calibration: steps in which the physics is fitted to the labelled recordings before the encoder learns;
            `polish`: steps of Gauss–Newton that finish this fit.
        schooling: steps in which the encoder then learns from virtual recordings alone; `bank`: how many are solved.
        virtual_gain, virtual_offset, virtual_strength, virtual_noise: session gains (sd of the logarithm), session
            offsets (in sd of the training signal), strengths (sd of the logarithm) and noise of virtual recordings.
    """

    seed: Annotated[int, Ge(0)] = 0
    refit: bool = False
    calibration: Annotated[int, Ge(0)] = 0
    polish: Annotated[int, Ge(0)] = 0
    schooling: Annotated[int, Ge(0)] = 0
    bank: Annotated[int, Gt(0)] = 8192
    virtual_gain: Annotated[float, Ge(0)] = NuisanceSpread.gain
    virtual_offset: Annotated[float, Ge(0)] = NuisanceSpread.offset
    virtual_strength: Annotated[float, Ge(0)] = NuisanceSpread.strength
    virtual_noise: Annotated[float, Ge(0)] = NuisanceSpread.noise


class TrainConfig(Section):
    """A whole training file."""

    data: DataSection
    model: ModelSection = ModelSection()
    objective: Weights = Weights()
    training: TrainingSection = TrainingSection()

    @property
    def settings(self) -> Settings:
        """Of the model."""
        return Settings(**_part(self.model, Settings))

    @property
    def plan(self) -> TrainingPlan:
        """Of the optimiser."""
        return TrainingPlan(**_part(self.training, TrainingPlan))

    @property
    def recipe(self) -> Recipe:
        """Of a batch."""
        t = self.training
        nuisance = NuisanceSpread(t.virtual_gain, t.virtual_offset, t.virtual_strength, t.virtual_noise)
        classes = self.data.task == "classes"
        return Recipe(**_part(t, BatchOptions), weights=self.objective, classes=classes, nuisance=nuisance)

    def spec(
        self, components: Sequence[str], channels: Sequence[str], *, air: Sequence[float], sign: Sequence[float]
    ) -> ModelSpec:
        """Of the model that this file trains, for these components and channels."""
        return ModelSpec.of(self.model_dump(), components, channels, air=air, sign=sign)

    def stored(self) -> dict[str, Any]:
        """Plain values for a bundle, without the place of the data on the machine that trained."""
        values = self.model_dump()
        values["data"]["folder"] = None
        return values

    @property
    def window(self) -> int:
        """Rows of a window at the model's rate."""
        return rows_in(self.data.window_s, self.model.rate_Hz)

    @property
    def stride(self) -> int:
        """Rows from one window to the next."""
        return rows_in(self.data.stride_s, self.model.rate_Hz)

    @property
    def tag(self) -> str:
        """Hash of everything that a run depends on; a checkpoint of another run is refused."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]

    def preprocessing(self, channels: tuple[str, ...]) -> Preprocessing:
        """What is done to the recordings, before it has seen any."""
        data = self.data
        lags = (data.difference,) if data.difference else ()
        return Preprocessing(channels, data.baseline, data.response, first_rows=data.first_rows, lags=lags)


def _part(section: Any, kind: type) -> dict[str, Any]:
    """Those values of a section that another data class takes."""
    return {item.name: getattr(section, item.name) for item in fields(kind)}


def load_training(path: str | Path) -> TrainConfig:
    """Read a training file."""
    path = Path(path)
    config = parse_training(read_text(path), name=str(path))
    if config.data.folder is None:
        return config
    folder = str((path.parent / config.data.folder).resolve())
    return config.model_copy(update={"data": config.data.model_copy(update={"folder": folder})})


def parse_training(text: str, *, name: str = "<text>") -> TrainConfig:
    """Parse and check the text of a training file."""
    config = parse_toml(text, TrainConfig, name=name)
    if config.data.window_s < 2 * config.model.step_s:
        raise ConfigError(
            f"a window of {config.data.window_s:g} s has no two steps of {config.model.step_s:g} s",
            where=f"{name}: data.window_s",
            remedy="Use a longer window or a shorter step",
        )
    if config.model.name == "unmixnet" and config.data.difference > 0:
        raise ConfigError(
            "the solver explains the response itself, not its changes",
            where=f"{name}: data.difference",
            remedy="Set it to 0, or train a baseline",
        )
    training = config.training
    if config.model.name == "unmixnet" and config.model.closure and training.virtual > 0 and training.calibration == 0:
        raise ConfigError(
            "virtual recordings are made by calibrated physics, and training.calibration is 0",
            where=f"{name}: training.virtual",
            remedy="Set training.calibration to some hundred steps, or training.virtual to 0",
        )
    return config
