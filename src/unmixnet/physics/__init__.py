"""The forward process: jax in, jax out; no files, no learning, no globals.

One law per file, in the order of a solver step: `source`, `advection`, `diffusion` (with the edge flux of
`maxwell_stefan`), `adsorption`, `readout`; `step` composes them, `rollout` repeats it, `closure` checks what comes out.

The modules, and the names that each lists in `__all__`, are public.

>>> import unmixnet as um
>>> "edge_flux" in um.physics.maxwell_stefan.__all__
True
"""

from importlib import import_module
from typing import Any

__all__ = [
    "ablated_flux",
    "adsorption",
    "advection",
    "closure",
    "conditions",
    "diagnose",
    "diffusion",
    "geometry",
    "maxwell_stefan",
    "quotient",
    "readout",
    "rollout",
    "source",
    "species",
    "state",
    "steady",
    "step",
]


def __getattr__(name: str) -> Any:
    """Load a law when it is first used, so that `unmixnet.physics` itself needs no jax."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
