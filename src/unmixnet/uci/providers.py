"""State providers of packaged models: UnMixNet as it was trained on SmellNet, the same untrained, and baselines.

The state of UnMixNet is strength times ratio, the concentration that its rollout releases; of a baseline, its logits.
"""

import numpy as np

from unmixnet.bundle import Bundle
from unmixnet.uci.episodes import Part
from unmixnet.uci.transfer import Normalised, StateProvider, normalised

__all__ = ["baseline_provider", "scratch_provider", "unmixnet_provider"]


def unmixnet_provider(bundle: Bundle, calibration: Part) -> StateProvider:
    """A packaged UnMixNet, frozen."""
    return _unmixnet(bundle, bundle.model, calibration)


def scratch_provider(bundle: Bundle, calibration: Part, *, seed: int = 0) -> StateProvider:
    """The same model before any training: what the architecture and the affine map give alone."""
    import jax

    from unmixnet.model.unmixnet import UnMixNet

    like = bundle.model
    assert isinstance(like, UnMixNet), "scratch transfer is of an UnMixNet"
    with jax.enable_x64(False):
        fresh = UnMixNet.of(
            like.settings,
            like.chamber,
            len(bundle.components),
            air=bundle.air,
            sign=bundle.sign,
            key=jax.random.key(seed),
        )
    return _unmixnet(bundle, fresh, calibration)


def baseline_provider(bundle: Bundle, calibration: Part) -> StateProvider:
    """A baseline in a bundle (ScentFormerStyle, ADR-GNN …), frozen; its state is its logits."""
    from unmixnet.inference.windows import respond

    return _provider(bundle, calibration, lambda Y: np.asarray(respond(bundle.model, Y).logits, float))


def _unmixnet(bundle: Bundle, model, calibration: Part) -> StateProvider:
    from unmixnet.inference.windows import encode

    def state(Y: np.ndarray) -> np.ndarray:
        read = encode(model, Y)
        return np.asarray(np.exp(read.log_strength)[:, None] * read.a, float)

    return _provider(bundle, calibration, state)


def _provider(bundle: Bundle, calibration: Part, state: StateProvider) -> StateProvider:
    ready, config = bundle.ready, bundle.config
    known: Normalised = normalised(calibration, tuple(ready.channels), np.array(bundle.air))
    rows = int(config.window)
    rate_Hz = config.model.rate_Hz

    def provide(windows: np.ndarray) -> np.ndarray:
        return state(_resampled(known(windows), rows, rate_Hz).astype(np.float32))

    return provide


def _resampled(windows: np.ndarray, rows: int, rate_Hz: float) -> np.ndarray:
    """The last rows at a model's own rate from windows at 1 Hz, by straight lines; causal."""
    T = windows.shape[1]
    at = np.maximum(T - 1 - np.arange(rows - 1, -1, -1) / rate_Hz, 0)
    low = np.minimum(np.floor(at).astype(int), T - 2)
    part = (at - low)[None, :, None]
    return (1 - part) * windows[:, low] + part * windows[:, low + 1]
