"""Baselines trained on SmellNet's measured mixtures, as the study `clean` trains them, their weights kept for reuse."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np

from studies.uci.providers import Frozen

__all__ = ["BASELINES", "pretrained"]

BASELINES = {"SmellNet-pretrained temporal baseline": "scentformer", "SmellNet-pretrained ADR-GNN": "adr-gnn"}
"""Names in the paper's table, and ours."""


def pretrained(
    name: str, root: str | Path | None, folder: Path, *, quick: bool = False, tick: Callable[[], None] = lambda: None
) -> Frozen:
    """A baseline as trained on SmellNet; minutes on a laptop the first time, then from its kept weights.

    Arguments:
        name: "scentformer" or "adr-gnn".
        root: the data folder.
        folder: where weights are kept.
        quick: few epochs.
        tick: called after every epoch.
    """
    import jax

    from studies.harness.benches import NetworkBench
    from studies.harness.definitions import chosen
    from studies.harness.folds import turns_of
    from studies.harness.run import Options, config_of
    from studies.harness.variants import Network
    from unmixnet.recordings.recall import Recall
    from unmixnet.training.checkpoint import from_tensors, to_tensors

    (study,) = chosen("smellnet", ("clean",), (name,))
    variant = next(v for v in study.variants if isinstance(v, Network) and v.name == name)
    config = config_of(study, variant, Options(1, "small", quick))
    bench = NetworkBench(config, turns_of(study.protocols, root, groups=study.groups)[0], Recall(root))
    path = folder / f"{name}{'-quick' if quick else ''}.weights.npz"
    if path.is_file():
        with np.load(path) as stored, jax.enable_x64(False):
            model = from_tensors(dict(stored), bench.model(0), str(path))
    else:
        model = bench.fit(0, lambda _: tick()).model
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(path, **cast(Any, to_tensors(model)))
    ready, air = bench.prepared.ready, np.array(bench.prepared.air)
    return Frozen(model, tuple(ready.channels), air, np.array(ready.sd), config.window, config.model.rate_Hz)
