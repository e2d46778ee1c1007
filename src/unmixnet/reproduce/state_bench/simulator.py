"""The frozen simulator that a run is judged by: the one that is named, or one that is calibrated quickly."""

from pathlib import Path

from unmixnet.simulator import FrozenSimulator, is_frozen

__all__ = ["simulator_for"]


def simulator_for(named: Path | None, work: Path, root: str | Path | None) -> FrozenSimulator:
    """Read it; without a name, the one in the work folder, which is calibrated first if there is none."""
    folder = named or work / "simulator"
    if named is None and not is_frozen(folder):
        _calibrate(folder, root)
    return FrozenSimulator.load(folder)


def _calibrate(folder: Path, root: str | Path | None) -> None:
    raise NotImplementedError
