"""The calibrated simulator: fitted to training recordings, then frozen, and played for reference states."""

from unmixnet.simulator.frozen import FrozenSimulator, is_frozen
from unmixnet.simulator.trajectories import Trajectories

__all__ = ["FrozenSimulator", "Trajectories", "is_frozen"]
