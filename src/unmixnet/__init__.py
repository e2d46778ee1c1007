"""What is in the air, in which proportions, and by which physical process.

    from unmixnet import example, parse_simulation, simulate
    result = simulate(parse_simulation(example("enose")))

The laws themselves are in `unmixnet.physics`, as jax functions to differentiate, batch and compose.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

_PUBLIC = {
    "Cell": "simulation.chamber",
    "Chamber": "simulation.chamber",
    "Edge": "simulation.chamber",
    "Sensor": "simulation.chamber",
    "box": "simulation.builders",
    "build": "simulation.problem",
    "chain": "simulation.builders",
    "example": "examples",
    "flow_through": "simulation.builders",
    "load_simulation": "simulation.config",
    "parse_simulation": "simulation.config",
    "portable_enose": "simulation.builders",
    "simulate": "simulation.simulate",
    "two_bulbs": "simulation.builders",
    "OdorClassifier": "training.estimators",
    "UnmixError": "errors",
    "UnmixRegressor": "training.estimators",
}

__all__ = [
    "Cell",
    "Chamber",
    "Edge",
    "OdorClassifier",
    "Sensor",
    "UnmixError",
    "UnmixRegressor",
    "__version__",
    "box",
    "build",
    "chain",
    "example",
    "flow_through",
    "load_simulation",
    "parse_simulation",
    "portable_enose",
    "simulate",
    "two_bulbs",
]

if TYPE_CHECKING:
    from unmixnet.errors import UnmixError
    from unmixnet.examples import example
    from unmixnet.simulation.builders import box, chain, flow_through, portable_enose, two_bulbs
    from unmixnet.simulation.chamber import Cell, Chamber, Edge, Sensor
    from unmixnet.simulation.config import load_simulation, parse_simulation
    from unmixnet.simulation.problem import build
    from unmixnet.simulation.simulate import simulate
    from unmixnet.training.estimators import OdorClassifier, UnmixRegressor


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that `import unmixnet` is quick."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'unmixnet' has no attribute {name!r}")
    return getattr(import_module(f"unmixnet.{_PUBLIC[name]}"), name)
