"""Published experiments and independent codes that the physics is compared with.

Every oracle calls the function that the rollout calls. `run` calls one of ORACLES.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unmixnet.simulation.validation.check import Check

__all__ = ["ORACLES", "oracle", "run"]

ORACLES = (
    "diffusion.cantera_flux",
    "diffusion.mpmath_flux",
    "diffusion.krishna_wesselingh",
    "duncan_toor.duncan_toor",
    "stefan_tube.stefan_tube",
    "loschmidt.loschmidt",
    "langmuir.langmuir",
    "splitting.radau",
    "splitting.danckwerts",
)
"""module.function of each oracle, in the order of the physics."""


def oracle(name: str) -> "Callable[..., list[Check]]":
    """The oracle `module.function`; its keyword arguments inject defects."""
    module, function = name.split(".")
    return getattr(import_module(f"unmixnet.simulation.validation.{module}"), function)


def run(name: str) -> "list[Check]":
    """The checks of one oracle, in double precision."""
    import jax

    with jax.enable_x64(True):
        return oracle(name)()
