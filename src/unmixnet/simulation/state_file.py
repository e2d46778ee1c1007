"""Saved states: plain NumPy archives with names, units in `unmixnet.physics.state`, no pickle."""

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.files.reading import open_file
from unmixnet.files.replacement import replacing

if TYPE_CHECKING:
    from unmixnet.physics.state import State

__all__ = ["load_state", "save_state"]

_RESERVOIRS = ("source", "inlet", "boundary", "outlet", "wall", "reaction")


def save_state(state: "State", path: str | Path) -> Path:
    """Write a state as .npz."""
    path = Path(path)
    r = state.reservoirs
    with replacing(path) as part, part.open("wb") as file:
        np.savez(
            file,
            N=np.asarray(state.N).T,
            theta=np.asarray(state.theta).T,
            y=state.y,
            t=state.t,
            source=r.source,
            inlet=r.inlet,
            boundary=r.boundary,
            outlet=r.outlet,
            wall=r.wall,
            reaction=r.reaction,
        )
    return path


def load_state(path: str | Path, *, like: "State") -> "State":
    """Read a state; it must have the cells, sensors and species of `like`."""
    import jax.numpy as jnp

    from unmixnet.physics.state import Reservoirs, State

    try:
        with open_file(path) as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in ("N", "theta", "y", "t", *_RESERVOIRS[:-1])}
            # states of before there were reactions have none
            arrays["reaction"] = file["reaction"] if "reaction" in file else np.zeros_like(arrays["wall"])
    except (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise ConfigError(
            f"not a saved state ({error})",
            where=str(path),
            remedy="Write one with: unmixnet simulate … --final STATE.npz",
        ) from None
    for name in ("N", "theta", "y"):
        # the file lists species last
        expected = getattr(like, name).shape[::-1]
        if arrays[name].shape != expected:
            raise ConfigError(
                f"{name} has shape {arrays[name].shape}, this chamber needs {expected}",
                where=str(path),
                remedy="Use a state of the same chamber, sensors and species",
            )
    fields = {name: jnp.asarray(value, float) for name, value in arrays.items()}
    reservoirs = Reservoirs(**{name: fields[name] for name in _RESERVOIRS})
    return State(fields["N"].T, fields["theta"].T, fields["y"], reservoirs, fields["t"])
