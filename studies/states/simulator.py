"""The frozen simulator that a run is judged by: the one that is named, or one that is calibrated quickly."""

from pathlib import Path

from unmixnet.training.calibration import FrozenSimulator, is_frozen

__all__ = ["simulator_for"]


def simulator_for(named: Path | None, work: Path, root: str | Path | None) -> FrozenSimulator:
    """Read it; without a name, the one in the work folder, which is calibrated first if there is none."""
    folder = named or work / "simulator"
    if named is None and not is_frozen(folder):
        _calibrate(folder, root)
    return FrozenSimulator.load(folder)


def _calibrate(folder: Path, root: str | Path | None) -> None:
    """As `unmixnet calibrate --quick` does, on the training recordings of the clean protocol; it can be resumed."""
    from unmixnet.inference.precision import single_precision
    from unmixnet.training.calibration.calibrate import calibrate, frozen
    from unmixnet.training.calibration.command import QUICK
    from unmixnet.training.calibration.protocol_setup import setup_of, turn_of
    from unmixnet.training.calibration.stages import schedule

    with single_precision():
        setup, _ = setup_of(turn_of("smellnet-mixture:clean:seen", root))
        found = calibrate(setup, schedule(QUICK, release=setup.jar.release), folder=folder)
        frozen(setup, found).save(folder)
