"""What is in the air, in which proportions, and by which physical process.

    import unmixnet as um

    answer = um.unmix(um.load_model("smellnet-mixture"), um.read_recording("a.csv"))
    result = um.simulate(um.load_simulation("jar.toml"))

The names in `__all__`, and what `unmixnet.physics` and `unmixnet.metrics` export, are the public interface. Every other
module is private and may change without notice. Only `UnmixError` and its subclasses are raised on purpose. A name is
loaded when it is first used: `import unmixnet` loads neither jax nor NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

_PUBLIC = {
    "Answer": "inference.answer",
    "Cell": "simulation.chamber",
    "Chamber": "simulation.chamber",
    "Edge": "simulation.chamber",
    "OdorClassifier": "training.estimators",
    "Sensor": "simulation.chamber",
    "UnmixError": "errors",
    "UnmixRegressor": "training.estimators",
    "box": "simulation.builders",
    "build": "simulation.problem",
    "chain": "simulation.builders",
    "example": "examples",
    "example_recording": "examples",
    "flow_through": "simulation.builders",
    "load_dataset": "recordings.datasets",
    "load_model": "inference.bundle.storage",
    "load_simulation": "simulation.config",
    "parse_simulation": "simulation.config",
    "portable_enose": "simulation.builders",
    "read_recording": "recordings.reader",
    "simulate": "simulation.simulate",
    "two_bulbs": "simulation.builders",
    "unmix": "inference.unmix",
}
_NAMESPACES = ("metrics", "physics")

__all__ = [
    "Answer",
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
    "example_recording",
    "flow_through",
    "load_dataset",
    "load_model",
    "load_simulation",
    "metrics",
    "parse_simulation",
    "physics",
    "portable_enose",
    "read_recording",
    "simulate",
    "two_bulbs",
    "unmix",
]

if TYPE_CHECKING:
    from unmixnet import metrics, physics
    from unmixnet.errors import UnmixError
    from unmixnet.examples import example, example_recording
    from unmixnet.inference.answer import Answer
    from unmixnet.inference.bundle.storage import load_model
    from unmixnet.inference.unmix import unmix
    from unmixnet.recordings.datasets import load_dataset
    from unmixnet.recordings.reader import read_recording
    from unmixnet.simulation.builders import box, chain, flow_through, portable_enose, two_bulbs
    from unmixnet.simulation.chamber import Cell, Chamber, Edge, Sensor
    from unmixnet.simulation.config import load_simulation, parse_simulation
    from unmixnet.simulation.problem import build
    from unmixnet.simulation.simulate import simulate
    from unmixnet.training.estimators import OdorClassifier, UnmixRegressor


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that `import unmixnet` is quick."""
    if name in _NAMESPACES:
        return import_module(f"unmixnet.{name}")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'unmixnet' has no attribute {name!r}")
    return getattr(import_module(f"unmixnet.{_PUBLIC[name]}"), name)


def __dir__() -> list[str]:
    return __all__
