"""Files that ship with the package: simulations, a training, a recording."""

from importlib.resources import files
from pathlib import Path

__all__ = ["example", "example_recording"]


def example(name: str) -> str:
    """Text of a packaged file: `example("enose")` is a simulation, `example("train")` a training."""
    return files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8")


def example_recording() -> Path:
    """A simulated recording of four sensors: 50 % peach, 50 % garlic, a mixture and a session that training never sees.

    Of the 24 unseen mixtures it is the one that the packaged bundle answers with the median error.
    """
    return Path(str(files(__name__) / "peach_50_garlic_50.csv"))
