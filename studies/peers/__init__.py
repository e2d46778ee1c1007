"""Classical peers: what any new model has to beat, behind one interface, each with its features stated.

fitted = PEERS["extra-trees"].fit(train_samples, Task.RATIOS, seed=0)
ratios = fitted.predict(test_samples.windows)
"""

from studies.peers.models import PEERS, Fitted, Peer
from studies.peers.windows import gather_samples
from unmixnet.recordings.samples import Samples, Task, per_recording

__all__ = ["PEERS", "Fitted", "Peer", "Samples", "Task", "gather_samples", "per_recording"]
