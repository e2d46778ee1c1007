"""Training recipes that ship with the package: one file per kind of data, and what every study starts from.

A recipe states only what differs from the defaults, which stand with the classes that use them.
"""

import difflib
from importlib.resources import files
from typing import TYPE_CHECKING

from unmixnet.errors import ConfigError

if TYPE_CHECKING:
    from unmixnet.training.config import TrainConfig

__all__ = ["recipe"]


def recipe(name: str) -> "TrainConfig":
    """A packaged recipe, e.g. `recipe("simulated")`."""
    from unmixnet.training.config import parse_training

    file = f"{name}.toml"
    known = sorted(path.name for path in files(__name__).iterdir() if path.name.endswith(".toml"))
    if file not in known:
        names = [path.removesuffix(".toml") for path in known]
        close = difflib.get_close_matches(name, names, n=1)
        raise ConfigError(
            f"there is no recipe {name!r}",
            where="recipe",
            remedy=f"Did you mean {close[0]!r}?" if close else f"Use one of {', '.join(names)}",
        )
    return parse_training(files(__name__).joinpath(file).read_text(encoding="utf-8"), name=file)
