"""The simulated e-nose as a device: what is released into it now, and what its four sensors read next.

The chamber, its coefficients and its sensors are those that made the `simulated` data set, solved in steps of a tenth
of a second on the finer chamber. The solver is compiled when the first odour is released, or by `warm` before.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from unmixnet.live.sample import SourceError
from unmixnet.recordings.labels import COMPONENTS
from unmixnet.recordings.recording import Mixture
from unmixnet.recordings.simulated import CLEAN_AIR, FULL_SCALE_COUNTS, drift, noise_counts
from unmixnet.simulation.simulated_nose import RATE_HZ, Setting, fine_chamber, true_process

if TYPE_CHECKING:
    from unmixnet.physics.state import State

__all__ = ["CHUNK", "SimulatedNose", "mixture_of"]

CHUNK = 5
"""Rows that are solved at once, half a second."""
# A quick compilation matters more here than a quick solver, which is hundreds of times faster than time anyway.
_COMPILER = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def mixture_of(parts: Mapping[str, float]) -> Mixture:
    """A mixture of the foods of the simulated data set."""
    unknown = sorted(set(parts) - set(COMPONENTS))
    if unknown or not parts or not all(0 <= share < np.inf for share in parts.values()) or not sum(parts.values()):
        seen = f"no food {unknown[0]!r}" if unknown else f"the shares {dict(parts)}"
        raise SourceError(seen, where="simulated chamber", remedy=f"Release parts of {', '.join(COMPONENTS)}")
    return Mixture.from_parts(list(parts), list(parts.values()))


class SimulatedNose:
    """A hand-held e-nose in clean air, until something is released.

    Arguments:
        seed: of the noise; it also chooses one of the data set's sessions, and so the drift of the sensors. 0 is the
            session that no model was trained on.
    """

    def __init__(self, seed: int = 0) -> None:
        self.setting = Setting()
        self.channels = tuple(sensor.name for sensor in self.setting.chamber.sensors)
        moved, session = drift(self.setting), (-1 - seed) % self.setting.sessions
        self._gain, self._offset = moved.gain[session], moved.offset[session]
        self._rng = np.random.default_rng([seed, 7])
        self._share = np.zeros(len(COMPONENTS))
        self._state: State | None = None
        self._solver: Any = None

    def release(self, mixture: Mixture, strength: float = 1.0) -> None:
        """Put a fresh jar in front of the chamber; strength 1 is that of the data set's median recording."""
        self._begin(strength * mixture.vector(COMPONENTS))

    def air(self) -> None:
        """Take the jar away, flush the chamber and heat the surfaces clean; the readouts recover at their own pace."""
        if self._state is not None:
            self._begin(np.zeros(len(COMPONENTS)), surfaces=False)

    def rest(self) -> None:
        """Clean air for as long as the sensors need: they read as at the beginning."""
        self._share, self._state = np.zeros(len(COMPONENTS)), None

    def warm(self) -> None:
        """Compile the solver."""
        if self._solver is None:
            self._solver = _Solver(self.setting)

    def read(self) -> np.ndarray:
        """Counts of the next rows, shape (CHUNK, 4)."""
        y = np.zeros((CHUNK, len(self.channels)))
        if self._state is not None:
            y, self._state = self._solver.advance(self._share, self._state)
        white = self._rng.normal(size=y.shape) * noise_counts(len(self.channels))
        level = self._gain * y + self._offset + CLEAN_AIR
        return np.clip(np.round(FULL_SCALE_COUNTS / (1 + np.exp(-level)) + white), 0, FULL_SCALE_COUNTS)

    def _begin(self, share: np.ndarray, *, surfaces: bool = True) -> None:
        """A new release into fresh gas; what the sensors show stays, and so does what their surfaces hold, if kept."""
        self.warm()
        self._share, self._state = share, self._solver.fresh(self._state, surfaces=surfaces)


class _Solver:
    """`CHUNK` steps of the chamber, compiled.

    The coefficients are arguments of the compiled function: as constants they would be folded, for minutes.
    """

    def __init__(self, setting: Setting) -> None:
        import equinox as eqx
        import jax
        import jax.numpy as jnp

        from unmixnet.physics.rollout import rollout
        from unmixnet.physics.state import clean_air

        with jax.enable_x64(False):
            chamber = fine_chamber(setting).chamber
            problem = (true_process(setting, chamber), chamber.geometry())
            self._clean = clean_air(*problem)
            self._arrays, fixed = eqx.partition(problem, eqx.is_array)

            def run(arrays: Any, share: Any, state: Any) -> Any:
                process, geometry = eqx.combine(arrays, fixed)
                process = eqx.tree_at(lambda p: p.source.amount, process, process.source.amount * share)
                result = rollout(process, geometry, state, jnp.asarray(1 / RATE_HZ), CHUNK)
                return result.saved.y, result.final

            nothing = jnp.zeros(len(COMPONENTS), float)
            self._run = jax.jit(run).lower(self._arrays, nothing, self._clean).compile(_COMPILER)

    def fresh(self, before: "State | None", *, surfaces: bool) -> "State":
        """Clean air in every cell and time zero, with the readouts of before, and the surfaces of before if kept."""
        import equinox as eqx

        if before is None:
            return self._clean
        theta = before.theta if surfaces else self._clean.theta
        return eqx.tree_at(lambda s: (s.theta, s.y), self._clean, (theta, before.y))

    def advance(self, share: np.ndarray, state: "State") -> tuple[np.ndarray, "State"]:
        """Readouts of the next rows, and the state after them."""
        import jax
        import jax.numpy as jnp

        with jax.enable_x64(False):
            y, final = self._run(self._arrays, jnp.asarray(share, float), state)
        return np.asarray(y, float), final
