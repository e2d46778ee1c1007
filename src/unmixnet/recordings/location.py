"""Where the data lies: `--data`, else the variable UNMIXNET_DATA, else the user's data folder."""

import os
from pathlib import Path

from unmixnet.errors import UnmixError

__all__ = ["DATA_VARIABLE", "DataError", "data_root", "default_root"]

DATA_VARIABLE = "UNMIXNET_DATA"


class DataError(UnmixError):
    """A data set that is not there, not complete, or not understood."""


def default_root() -> Path:
    """Where `unmixnet data fetch` puts data by default."""
    if chosen := os.environ.get(DATA_VARIABLE):
        return Path(chosen)
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "unmixnet"


def data_root(chosen: str | Path | None = None) -> Path:
    """The data folder; an error if it does not exist."""
    if chosen is not None and not isinstance(chosen, str | os.PathLike):
        raise DataError(f"a {type(chosen).__name__} was given as data folder", remedy="Give the path of a folder")
    root = Path(chosen) if chosen is not None else default_root()
    if not os.path.isdir(root):
        raise DataError(
            "no data folder here",
            where=str(root),
            remedy=f"Run `unmixnet data fetch NAME`, or point {DATA_VARIABLE} or --data at the data",
        )
    return root
