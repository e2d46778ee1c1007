"""Training recipes that ship with the package: one file per kind of data, and what every study starts from.

A recipe states only what differs from the defaults, which stand with the classes that use them.
"""

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unmixnet.training.config import TrainConfig

__all__ = ["recipe"]


def recipe(name: str) -> "TrainConfig":
    """A packaged recipe, e.g. `recipe("simulated")`."""
    from unmixnet.training.config import parse_training

    file = f"{name}.toml"
    return parse_training(files(__name__).joinpath(file).read_text(encoding="utf-8"), name=file)
