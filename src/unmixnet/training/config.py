"""A training run as a TOML file: data, model, objective, optimisation."""

import hashlib
from dataclasses import fields
from pathlib import Path
from typing import Literal

from pydantic import Field

from unmixnet.errors import ConfigError
from unmixnet.files.toml import Section, parse_toml, read_text
from unmixnet.model.settings import Settings
from unmixnet.recordings.preprocess import Preprocessing
from unmixnet.training.epoch import Plan
from unmixnet.training.losses.weights import Weights
from unmixnet.training.objective import Recipe
from unmixnet.training.virtual import Nuisance

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


class ModelSection(Section):
    """`[model]`."""

    name: Literal["unmixnet", "mlp", "cnn-lstm", "itransformer", "scentformer", "adr-gnn", "ldac"] = "unmixnet"
    """UnMixNet, or a baseline."""
    size: Literal["small", "paper"] = "small"
    """The dial."""
    rate_Hz: float = Field(2.0, gt=0, le=10)
    """Rate of the traces; a MOX sensor answers within seconds."""
    step_s: float = Field(1.0, gt=0)
    """Step of the solver."""
    reading: Literal["trace", "statistics"] = "trace"
    """How a sensor becomes a token: from its trace, or from statistics of it."""
    patch_s: float = Field(4.0, gt=0)
    """Length of the pieces of trace that are read."""
    dropout: float = Field(0.05, ge=0, lt=1)
    """In the encoder, while training."""
    start: Literal["clean air", "exposed", "inferred"] = "exposed"
    """State of the chamber when a window starts."""
    source: Literal["known", "inferred"] = "known"
    """Whether the place of the source is known."""
    flow: Literal["velocities", "scores"] = "velocities"
    """The chamber's draught, or learned scores."""
    diffusion: Literal["exact", "fick", "unconstrained", "regularised", "weighted"] = "exact"
    """How the flux follows from the gradient."""
    edgewise: bool = False
    """A free D for every edge."""
    transduction: Literal["logarithmic", "linear"] = "logarithmic"
    """How a sensor turns coverage into signal."""
    modulation: float = Field(0.3, ge=0, le=2)
    """Strength of the modulation of coefficients by the sample."""
    closure: bool = True
    """False leaves the solver out: the encoder alone."""
    release: Literal["constant", "rise-decay"] = "constant"
    """How the source releases."""


class ObjectiveSection(Section):
    """`[objective]`: weights of the parts of the loss."""

    mix: float = Field(1.0, ge=0)
    """Presence and ratios."""
    rec: float = Field(0.3, ge=0)
    """Reconstruction."""
    freq: float = Field(0.1, ge=0)
    """Reconstruction after low- and high-pass filters."""
    ms: float = Field(0.0, ge=0)
    """Maxwell–Stefan residual; zero by construction in the full model."""
    cons: float = Field(0.0, ge=0)
    """Mass balance; likewise."""
    ads: float = Field(0.0, ge=0)
    """Surface reaction and readout; likewise."""
    ident: float = Field(0.0, ge=0)
    """Incoherence of the pure fingerprints."""
    entropy: float = Field(0.01, ge=0)
    """Entropy of an inferred source place."""
    virtual: float = Field(1.0, ge=0)
    """Presence and ratios of virtual recordings."""


class TrainingSection(Section):
    """`[training]`."""

    seed: int = Field(0, ge=0)
    """Fixes everything that is drawn."""
    epochs: int = Field(150, gt=0)
    """At most."""
    patience: int = Field(40, gt=0)
    """Epochs without a better validation score before it stops."""
    refit: bool = False
    """Train again for as many epochs as were best, now on the validation recordings too."""
    windows: int = Field(1, gt=0)
    """Random windows of each recording in an epoch."""
    batch: int = Field(32, gt=0)
    """Windows in a step."""
    rate: float = Field(1e-3, gt=0)
    """Peak learning rate."""
    physics_rate: float = Field(3.0, gt=0)
    """Factor on it for the physical coefficients."""
    warmup: float = Field(0.05, ge=0, lt=1)
    """Share of the steps in which the rate rises."""
    decay: float = Field(1e-4, ge=0)
    """Weight decay."""
    clip: float = Field(1.0, gt=0)
    """Largest norm of a gradient."""
    ema: float = Field(0.98, ge=0, lt=1)
    """Decay of the running mean of the weights that is kept."""
    calibration: int = Field(0, ge=0)
    """Steps in which the physics is fitted to the labelled recordings before the encoder learns."""
    polish: int = Field(0, ge=0)
    """Steps of Gauss–Newton that finish this fit."""
    schooling: int = Field(0, ge=0)
    """Steps in which the encoder then learns from virtual recordings alone, before it sees a real one."""
    bank: int = Field(8192, gt=0)
    """Virtual recordings that are solved, once."""
    teacher: float = Field(0.5, ge=0, le=1)
    """Probability that a window is solved from its true ratios."""
    solved: float = Field(1.0, gt=0, le=1)
    """Share of a batch whose loop is closed by the solver; the other windows teach the encoder alone."""
    virtual: float = Field(0.0, ge=0)
    """Virtual recordings, made by the calibrated solver, for each real one; they need `calibration`."""
    virtual_gain: float = Field(0.1, ge=0)
    """Their session gains: sd of the logarithm."""
    virtual_offset: float = Field(0.0, ge=0)
    """Their session offsets, in sd of the training signal."""
    virtual_strength: float = Field(0.25, ge=0)
    """Their strengths: sd of the logarithm."""
    virtual_noise: float = Field(0.02, ge=0)
    """Their noise, in sd of the training signal."""
    mixing: Literal["none", "linear", "competitive"] = "none"
    """Mixtures of pairs of recordings, through competitive adsorption and readout (or linearly, as a control)."""
    mixing_share: float = Field(0.5, ge=0, le=1)
    """Share of a batch that is replaced by them."""
    exponent: float = Field(0.5, gt=0, le=1)
    """Exponent n of the sensors, for them."""
    jitter_gain: float = Field(0.0, ge=0)
    """Random session gains on training windows: sd of the logarithm."""
    jitter_offset: float = Field(0.0, ge=0)
    """Random session offsets, in sd of the training signal."""


class TrainConfig(Section):
    """A whole training file."""

    data: DataSection
    model: ModelSection = ModelSection()  # pyright: ignore[reportCallIssue]
    objective: ObjectiveSection = ObjectiveSection()  # pyright: ignore[reportCallIssue]
    training: TrainingSection = TrainingSection()  # pyright: ignore[reportCallIssue]

    @property
    def settings(self) -> Settings:
        """Of the model."""
        return Settings(**self.model.model_dump(exclude={"name"}))

    @property
    def plan(self) -> Plan:
        """Of the optimiser."""
        return Plan(**{item.name: getattr(self.training, item.name) for item in fields(Plan)})

    @property
    def recipe(self) -> Recipe:
        """Of a batch."""
        t = self.training
        return Recipe(
            weights=Weights(**self.objective.model_dump()),
            classes=self.data.task == "classes",
            teacher=t.teacher,
            solved=t.solved,
            virtual=t.virtual,
            nuisance=Nuisance(t.virtual_gain, t.virtual_offset, t.virtual_strength, t.virtual_noise),
            mixing=t.mixing,
            mixing_share=t.mixing_share,
            exponent=t.exponent,
            jitter_gain=t.jitter_gain,
            jitter_offset=t.jitter_offset,
        )

    @property
    def window(self) -> int:
        """Rows of a window at the model's rate."""
        return self._rows(self.data.window_s)

    @property
    def stride(self) -> int:
        """Rows from one window to the next."""
        return self._rows(self.data.stride_s)

    @property
    def tag(self) -> str:
        """Hash of everything that a run depends on; a checkpoint of another run is refused."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]

    def preprocessing(self, channels: tuple[str, ...]) -> Preprocessing:
        """What is done to the recordings, before it has seen any."""
        data = self.data
        lags = (data.difference,) if data.difference else ()
        return Preprocessing(channels, data.baseline, data.response, first_rows=data.first_rows, lags=lags)

    def _rows(self, seconds: float) -> int:
        return max(1, round(seconds * self.model.rate_Hz))


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
    told = config.training
    if config.model.name == "unmixnet" and config.model.closure and told.virtual > 0 and told.calibration == 0:
        raise ConfigError(
            "virtual recordings are made by calibrated physics, and training.calibration is 0",
            where=f"{name}: training.virtual",
            remedy="Set training.calibration to some hundred steps, or training.virtual to 0",
        )
    return config
