"""The simulated e-nose a few rows at a time: what is released may change between them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from unmixnet.simulation.simulated_nose import RATE_HZ, Setting, fine_chamber, true_process

if TYPE_CHECKING:
    from unmixnet.physics.state import State

__all__ = ["ChamberStream"]

# A quick compilation matters more here than a quick solver, which is hundreds of times faster than time anyway.
_COMPILER = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


class ChamberStream:
    """The fine chamber of the simulated data set in clean air, until something is released; compiled when it is made.

    Arguments:
        setting: of the data set.
        rows: solved by one call of `advance`.
    """

    def __init__(self, setting: Setting, rows: int) -> None:
        import equinox as eqx
        import jax
        import jax.numpy as jnp

        from unmixnet.physics.rollout import Policy, rollout
        from unmixnet.physics.state import clean_air

        with jax.enable_x64(False):
            chamber = fine_chamber(setting).chamber
            problem = (true_process(setting, chamber), chamber.geometry())
            self._clean = clean_air(*problem)
            # The coefficients are arguments of the compiled function: as constants they would be folded, for minutes.
            self._arrays, fixed = eqx.partition(problem, eqx.is_array)

            def run(arrays: Any, share: Any, state: Any) -> Any:
                process, geometry = eqx.combine(arrays, fixed)
                process = eqx.tree_at(lambda p: p.source.amount, process, process.source.amount * share)
                result = rollout(process, geometry, state, jnp.asarray(1 / RATE_HZ), rows, policy=Policy(order=1))
                return result.saved.y, result.final

            nothing = jnp.zeros(len(setting.components), float)
            self._run = jax.jit(run).lower(self._arrays, nothing, self._clean).compile(_COMPILER)

    def fresh(self, before: "State | None", *, surfaces: bool) -> "State":
        """Clean air in every cell at time zero, with the readouts of `before`, and with its surfaces if they are kept.

        Arguments:
            before: None is a chamber that has always been in clean air.
        """
        import equinox as eqx

        if before is None:
            return self._clean
        theta = before.theta if surfaces else self._clean.theta
        return eqx.tree_at(lambda s: (s.theta, s.y), self._clean, (theta, before.y))

    def advance(self, share: np.ndarray, state: "State") -> tuple[np.ndarray, "State"]:
        """Readouts of the next rows, (rows, sensor), and the state after them.

        Arguments:
            share: strength times ratio of each component, (K,).
        """
        import jax
        import jax.numpy as jnp

        with jax.enable_x64(False):
            y, final = self._run(self._arrays, jnp.asarray(share, float), state)
        return np.asarray(y, float), final
