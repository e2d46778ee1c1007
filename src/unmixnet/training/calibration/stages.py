"""The schedule: which parameters are free, and which recordings speak, in each stage of the calibration.

1. pure     release, adsorption and desorption, transduction and lags, from recordings of one substance
2. mixture  diffusivities, walls, flow and the bend of the transduction, by which substances act together
3. joint    all of them, from all recordings
4. freeze   nothing any more
"""

from dataclasses import dataclass, replace
from typing import Literal

from unmixnet.training.calibration.losses import CalibrationWeights

__all__ = ["JOINT", "MIXTURE", "PURE", "Stage", "schedule"]

_RELEASE = frozenset({"rise", "decay"})


@dataclass(frozen=True)
class Stage:
    """One stage.

    Arguments:
        name: as in the supplement.
        free: fields of Θ that move.
        recordings: "pure", "mixtures" or "all".
        weights: λ of the loss.
        iterations: of Levenberg–Marquardt, at most.
        rounds: how often they are done, each with Σ_Y as the one before left it.
    """

    name: str
    free: frozenset[str]
    recordings: Literal["pure", "mixtures", "all"]
    weights: CalibrationWeights
    iterations: int
    rounds: int = 1

    @property
    def tag(self) -> str:
        """All of it in words that are the same in every process; a set is printed in another order each time."""
        return f"{self.name} {sorted(self.free)} {self.recordings} {self.weights} {self.iterations} {self.rounds}"


PURE = frozenset({"alpha", "rise", "decay", "k_ads", "k_des", "beta", "gain", "tau", "recovery", "b"})
MIXTURE = frozenset({"D", "wall", "u", "bend"})
JOINT = PURE | MIXTURE


def schedule(iterations: int, *, release: str, weights: CalibrationWeights | None = None) -> tuple[Stage, ...]:
    """The stages that fit; a constant release has no time constants. The stage `freeze` is saving what they found."""
    λ = weights or CalibrationWeights()
    idle = _RELEASE if release == "constant" else frozenset()
    half = max(1, iterations // 2)
    return (
        Stage("pure", PURE - idle, "pure", replace(λ, mix=0.0), iterations),
        Stage("mixture", MIXTURE, "mixtures", replace(λ, H=0.0), half),
        Stage("joint", JOINT - idle, "all", λ, half, rounds=2),
    )
