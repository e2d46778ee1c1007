"""Files that ship with the package: simulations, a training, a recording.

Private: import the public names from `unmixnet`.
"""

from importlib.resources import files
from pathlib import Path

from unmixnet.errors import ConfigError

__all__ = ["example", "example_recording"]


def example(name: str) -> str:
    """Text of a packaged file: `example("enose")` is a simulation, `example("train")` a training.

    >>> import unmixnet as um
    >>> "[chamber]" in um.example("enose")
    True
    """
    known = sorted(entry.name.removesuffix(".toml") for entry in files(__name__).iterdir() if ".toml" in entry.name)
    if name not in known:
        raise ConfigError(f"there is no example {name!r}", remedy=f"Choose one of {', '.join(known)}")
    return files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8")


def example_recording() -> Path:
    """A simulated recording of four sensors: 50 % peach, 50 % garlic, a mixture and a session that training never sees.

    Of the 24 unseen mixtures it is the one that the packaged bundle answers with the median error.

    >>> import unmixnet as um
    >>> um.example_recording().name
    'peach_50_garlic_50.csv'
    """
    return Path(str(files(__name__) / "peach_50_garlic_50.csv"))
