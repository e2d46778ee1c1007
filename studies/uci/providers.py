"""State providers: UnMixNet as it was trained on SmellNet, the same untrained, and baselines trained on SmellNet.

The state of UnMixNet is strength times ratio, the concentration that its rollout releases; of a baseline, its logits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from jaxtyping import PyTree

from studies.uci.episodes import Part
from studies.uci.transfer import StateProvider, normalised
from unmixnet.inference.bundle import Bundle

__all__ = ["BASELINES", "Frozen", "frozen_of", "model_windows", "pretrained", "provider", "untrained"]

_LEAST = 1e-6
"""Added to a concentration before its logarithm: ratios can be zero."""


@dataclass(frozen=True, eq=False)
class Frozen:
    """A model that is not trained any more, and how it wants its windows.

    Arguments:
        model: UnMixNet or a baseline.
        channels: its channels.
        air, sd: signal of each channel in clean air, and what logarithms were divided by, shape (M,).
        rows, rate_Hz: of a window.
        logarithm: take the logarithm of UnMixNet's concentrations, as a baseline's logits are up to a constant.
    """

    model: PyTree
    channels: tuple[str, ...]
    air: np.ndarray
    sd: np.ndarray
    rows: int
    rate_Hz: float
    logarithm: bool = False


def frozen_of(bundle: Bundle) -> Frozen:
    """The model of a bundle."""
    ready, spec = bundle.preprocessing, bundle.spec
    return Frozen(
        bundle.model,
        tuple(ready.channels),
        np.array(bundle.spec.air),
        np.array(ready.sd),
        spec.window,
        spec.rate_Hz,
    )


def untrained(bundle: Bundle, *, seed: int = 0) -> Frozen:
    """The same UnMixNet before any training: what the architecture and the affine map give alone."""
    from dataclasses import replace

    import jax

    from unmixnet.model.unmixnet import UnMixNet

    like = bundle.model
    assert isinstance(like, UnMixNet), "scratch transfer is of an UnMixNet"
    K, key = len(bundle.components), jax.random.key(seed)
    with jax.enable_x64(False):
        fresh = UnMixNet.of(like.settings, like.chamber, K, air=bundle.spec.air, sign=bundle.spec.sign, key=key)
    return replace(frozen_of(bundle), model=fresh)


def provider(frozen: Frozen, calibration: Part) -> StateProvider:
    """A frozen model behind the sensor normalisation that calibration windows give."""
    ask = model_windows(frozen, calibration)
    return lambda windows: _state(frozen, ask(windows))


def model_windows(frozen: Frozen, calibration: Part) -> Callable[[np.ndarray], np.ndarray]:
    """From windows of UCI to those that a model knows: normalised on calibration windows, at its own rate."""
    known = normalised(calibration, frozen.channels, frozen.air, frozen.sd)
    return lambda windows: _resampled(known(windows), frozen.rows, frozen.rate_Hz).astype(np.float32)


def _state(frozen: Frozen, Y: np.ndarray) -> np.ndarray:
    """States (n, K) of windows in a model's own units."""
    from unmixnet.model.predict import encode, respond
    from unmixnet.model.unmixnet import UnMixNet

    if isinstance(frozen.model, UnMixNet):
        read = encode(frozen.model, Y)
        concentration = np.asarray(np.exp(read.log_strength)[:, None] * read.a, float)
        return np.log(concentration + _LEAST) if frozen.logarithm else concentration
    return np.asarray(respond(frozen.model, Y).logits, float)


def _resampled(windows: np.ndarray, rows: int, rate_Hz: float) -> np.ndarray:
    """The last rows at a model's own rate from windows at 1 Hz, by straight lines; causal."""
    T = windows.shape[1]
    at = np.maximum(T - 1 - np.arange(rows - 1, -1, -1) / rate_Hz, 0)
    low = np.minimum(np.floor(at).astype(int), T - 2)
    part = (at - low)[None, :, None]
    return (1 - part) * windows[:, low] + part * windows[:, low + 1]


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
    from unmixnet.inference.bundle.storage import from_tensors, to_tensors
    from unmixnet.recordings.pieces import Recall

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
