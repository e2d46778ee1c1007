"""Which cells a name stands for: one cell, several by a pattern, or the sub-cells of a cell that was divided."""

import difflib
from fnmatch import fnmatchcase

from unmixnet.errors import ConfigError
from unmixnet.simulation.chamber import Chamber

__all__ = ["cells_named"]

_SHOWN = 8
"""So many names stand in a message."""


def cells_named(chamber: Chamber, name: str, where: str) -> list[int]:
    """Indices of the cells of this name; `*`, `?` and `[0-3]` stand for several, and "jar" for "jar.0", "jar.1", ….

    >>> import unmixnet as um
    >>> from unmixnet.simulation.cell_names import cells_named
    >>> cells_named(um.two_bulbs(4), "capillary[0-1]", "start")
    [1, 2]
    """
    if name in chamber.index:
        return [chamber.index[name]]
    found = [i for known, i in chamber.index.items() if fnmatchcase(known, name) or fnmatchcase(known, f"{name}.*")]
    if found:
        return found
    close = difflib.get_close_matches(name, chamber.index, n=1)
    names = ", ".join(list(chamber.index)[:_SHOWN]) + (", …" if len(chamber.index) > _SHOWN else "")
    remedy = f"Did you mean {close[0]!r}?" if close else f"Use one of {names}"
    raise ConfigError(f"{name!r} is not a cell", where=where, remedy=remedy)
