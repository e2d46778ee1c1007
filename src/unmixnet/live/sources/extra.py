"""Libraries that only live sources need; they are installed with `unmixnet[live]`."""

from importlib import import_module
from typing import Any

from unmixnet.live.sample import SourceError

__all__ = ["live_part"]


def live_part(name: str) -> Any:
    """A library of the extra `live`, or an error that says how to install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise SourceError(
            f"the library {name} is not installed", remedy="Install it with: pip install 'unmixnet[live]'"
        ) from None
