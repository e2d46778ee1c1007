"""The direct inverse on one turn: the solver of a network that was trained before, and no encoder."""

import time

import jax
import numpy as np
from jaxtyping import PyTree

from studies.harness.benches import JUDGE, NetworkBench, Tensors, Tick
from studies.harness.work import Facts, Finished, Guess, Job, Work
from unmixnet.errors import ConfigError
from unmixnet.model.baselines.direct_inverse import InverseSettings, invert_all
from unmixnet.training.checkpoint import from_tensors

__all__ = ["InverseBench", "trained"]


class InverseBench:
    """Optimises the first window of every test recording.

    Arguments:
        network: the bench of the network whose coefficients are used.
        jobs: the network's job for each seed, in whose place its weights lie.
    """

    def __init__(self, network: NetworkBench, jobs: dict[int, Job], work: Work, settings: InverseSettings) -> None:
        self.network, self.jobs, self.work, self.settings = network, jobs, work, settings

    def run(self, seed: int, tick: Tick) -> tuple[Finished, Tensors]:
        """Invert with the coefficients that this seed gave."""
        model = trained(self.network, self.jobs[seed], self.work)
        began, guesses, steps = time.monotonic(), {}, []
        for protocol, pieces in self.network.turn.tests.items():
            cut, owner = self.network.windows(pieces)
            first = np.unique(owner, return_index=True)[1]
            with jax.enable_x64(False):
                solution = invert_all(model, cut[first], self.settings)
            guesses[protocol] = Guess(np.asarray(solution.a), owner[first])
            steps += np.asarray(solution.steps).tolist()
        facts = Facts(seconds=time.monotonic() - began, iterations=float(np.mean(steps)))
        return Finished(guesses, facts), {}


def trained(network: NetworkBench, job: Job, work: Work, *, judge: bool = False) -> PyTree:
    """The network with the weights that its job kept; as a judge, as long as it knew no validation recording."""
    tensors = work.read_weights(job)
    if tensors is None:
        raise ConfigError(
            f"the weights of {job.variant.name}, seed {job.seed}, are not in the work folder",
            where=str(work.folder / job.place),
            remedy=f"Run it before, or with --only '{job.variant.name}'",
        )
    judges = {name.removeprefix(JUDGE): tensor for name, tensor in tensors.items() if name.startswith(JUDGE)}
    own = {name: tensor for name, tensor in tensors.items() if not name.startswith(JUDGE)}
    tensors = judges if judge else own
    with jax.enable_x64(False):
        return from_tensors(tensors, network.model(job.seed), str(job.place))
