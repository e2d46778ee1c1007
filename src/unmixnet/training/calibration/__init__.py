"""The calibrated simulator: fitted to training recordings, then frozen, and run for reference states."""

from unmixnet.training.calibration.frozen import FrozenSimulator, is_frozen
from unmixnet.training.calibration.trajectories import Trajectories

__all__ = ["FrozenSimulator", "Trajectories", "is_frozen"]
