"""Simulation files that ship with the package."""

from importlib.resources import files

__all__ = ["example"]


def example(name: str) -> str:
    """Text of a packaged simulation file, e.g. `example("enose")`."""
    return files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
