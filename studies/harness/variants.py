"""What a study compares: networks by what they change in its recipe, classical peers, and the direct inverse."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmixnet.recordings.preprocessing import Preprocessing
    from unmixnet.training.config import TrainConfig

__all__ = ["ABLATIONS", "BASELINES", "UNMIXNET", "Classical", "Inverse", "Network", "Posterior", "Variant", "changed"]


@dataclass(frozen=True, eq=False)
class Network:
    """UnMixNet, an ablation of it, or a neural baseline.

    Arguments:
        name: as printed.
        changes: what it changes in the recipe, e.g. `{"model.diffusion": "fick"}`.
        note: what a reader of the table has to know.
        keep: whether the weights are kept beside the predictions.
        most_seeds: fewer where a training takes long.
    """

    name: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    keep: bool = False
    seeded: bool = True
    most_seeds: int = 10
    levels: tuple[str, ...] = ("window", "recording")


@dataclass(frozen=True, eq=False)
class Classical:
    """A classical peer on windows of its own.

    Arguments:
        peer: its name among `PEERS`.
        windows: what it sees, before it has seen any training.
    """

    name: str
    peer: str
    windows: "Preprocessing"
    seeded: bool
    note: str = ""
    most_seeds: int = 10
    levels: tuple[str, ...] = ("window", "recording")


@dataclass(frozen=True, eq=False)
class Inverse:
    """Optimisation through the solver of a trained network, for one window of each recording.

    Arguments:
        of: the network whose global coefficients it takes; it has to be trained first, with the same seed.
    """

    name: str = "direct inverse"
    of: str = "unmixnet"
    note: str = "no encoder; the coefficients of unmixnet of the same seed; one window of each recording"
    seeded: bool = True
    most_seeds: int = 1
    levels: tuple[str, ...] = ("recording",)


@dataclass(frozen=True, eq=False)
class Posterior:
    """The physics at its fixed point, fitted with session levels as nuisances and inverted by Bayes' rule.

    Arguments:
        windows: the whole recording in logarithms of the conductance.
    """

    windows: "Preprocessing"
    name: str = "unmixnet, steady state"
    note: str = "mean level of the recording; no encoder, no network: the law's exact posterior over mixtures"
    seeded: bool = False
    most_seeds: int = 1
    levels: tuple[str, ...] = ("recording",)


Variant = Network | Classical | Inverse | Posterior

UNMIXNET = Network("unmixnet", keep=True)
ABLATIONS = (
    Network("fick", {"model.diffusion": "fick"}),
    Network("unconstrained flux", {"model.diffusion": "unconstrained"}),
    Network("linear readout", {"model.transduction": "linear"}),
    Network("no fingerprint loss", {"objective.ident": 0.0}),
    Network("with fingerprint loss", {"objective.ident": 0.01}),
    Network("no closure", {"model.closure": False}, "the encoder alone"),
    Network("no modulation", {"model.modulation": 0.0}),
    Network("paper-literal projection", {"model.diffusion": "regularised"}),
)
"""UnMixNet with one thing switched off or replaced; one that changes nothing in a recipe is not run."""

_EPOCHS = "at most 40 epochs, since an epoch takes many times longer than the others'"
BASELINES = (
    Network("mlp", {"model.name": "mlp", "training.rate": 1e-3}),
    Network("cnn-lstm", {"model.name": "cnn-lstm", "training.rate": 1e-3}),
    Network("itransformer", {"model.name": "itransformer", "training.rate": 5e-4}),
    Network("scentformer", {"model.name": "scentformer", "training.rate": 3e-4, "training.epochs": 40}, _EPOCHS),
    Network("adr-gnn", {"model.name": "adr-gnn", "training.rate": 1e-3}),
    Network("ldac", {"model.name": "ldac", "training.rate": 5e-4, "training.epochs": 40}, _EPOCHS),
)
"""Neural baselines; peak learning rates as their authors have them."""


def changed(config: "TrainConfig", changes: Mapping[str, Any]) -> "TrainConfig":
    """The recipe with some values replaced, checked like a file; keys are `section.key`."""
    values = config.model_dump()
    for key, value in changes.items():
        section, name = key.split(".")
        values[section][name] = value
    return type(config).model_validate(values)
