"""The forward process: jax in, jax out; no files, no learning, no globals.

One law per file, in the order of a solver step: `source`, `advection`, `diffusion` (with the edge flux of
`maxwell_stefan`), `adsorption`, `readout`; `step` composes them, `rollout` repeats it, `closure` checks what comes out.

The modules, and the names that each lists in `__all__`, are public.

>>> import unmixnet as um
>>> "edge_flux" in um.physics.maxwell_stefan.__all__
True
"""

from unmixnet.physics import (
    ablated_flux,
    adaptive,
    adsorption,
    advection,
    closure,
    conditions,
    diagnose,
    diffusion,
    geometry,
    maxwell_stefan,
    quotient,
    reaction,
    readout,
    rollout,
    source,
    species,
    state,
    steady,
    step,
    transport,
)

__all__ = [
    "ablated_flux",
    "adaptive",
    "adsorption",
    "advection",
    "closure",
    "conditions",
    "diagnose",
    "diffusion",
    "geometry",
    "maxwell_stefan",
    "quotient",
    "reaction",
    "readout",
    "rollout",
    "source",
    "species",
    "state",
    "steady",
    "step",
    "transport",
]
