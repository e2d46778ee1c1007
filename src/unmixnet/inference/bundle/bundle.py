"""A model with everything that is needed to use it: preprocessing, calibration, card, and what it has seen."""

from dataclasses import dataclass, field

from jaxtyping import PyTree

from unmixnet.errors import ConfigError
from unmixnet.inference.bundle.calibration import Calibration
from unmixnet.inference.bundle.seen import Seen
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.recordings.preprocess import Preprocessing
from unmixnet.training.config import TrainConfig

__all__ = ["Bundle"]


@dataclass(frozen=True, eq=False)
class Bundle:
    """A trained model, ready for recordings.

    Arguments:
        name: short, e.g. "smellnet-mixture".
        config: what it was trained with.
        components: substances, in the order of its ratios.
        ready: fitted preprocessing.
        air, sign: clean-air signal of each channel, and −1 for one whose signal falls.
        model: UnMixNet or a baseline, in single precision.
        calibration: chosen on validation recordings.
        card: what it is for, what it was trained on, its scores and limits; Markdown.
        recordings: that it has seen, for training or for choices.
        digest: SHA-256 of the stored bundle; "" before it is stored.
    """

    name: str
    config: TrainConfig
    components: tuple[str, ...]
    ready: Preprocessing
    air: tuple[float, ...]
    sign: tuple[float, ...]
    model: PyTree = field(repr=False)
    calibration: Calibration = field(repr=False)
    card: str = field(repr=False)
    recordings: tuple[Seen, ...] = field(default=(), repr=False)
    digest: str = ""

    def __post_init__(self) -> None:
        K, M, prior = len(self.components), len(self.ready.channels), len(self.calibration.prior)
        lengths = {len(self.air), len(self.sign), len(self.ready.mean), len(self.ready.sd)}
        if not K or prior != K or lengths != {M} or len(set(self.components)) != K:
            raise ConfigError(
                f"{K} components with {prior} shares, {M} channels with {sorted(lengths)} levels",
                where=f"bundle {self.name}",
                remedy="A bundle needs a share for every component and a level for every channel; train anew",
            )

    @property
    def has_solver(self) -> bool:
        """Whether it can reconstruct what it has read."""
        return isinstance(self.model, UnMixNet) and self.model.settings.closure
