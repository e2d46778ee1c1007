"""Transfer of a frozen model to gases: sensor normalisation, delay, component tokens, affine state-to-ppm.

A state provider is any function from log readings of causal windows, (n, 60, 16) at 1 Hz, to states (n, K): one number
for each of the model's own components. The model behind it is never trained here, and set points are never among its
inputs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from jaxtyping import PyTree

from studies.uci.episodes import SeriesPart, Split, windows_of
from studies.uci.estimates import DELAYS_S, HORIZON_S, GasEstimate, choose_threshold
from unmixnet.inference.bundle import Bundle

__all__ = [
    "BASELINES",
    "Frozen",
    "Normalised",
    "StateProvider",
    "by_type",
    "frozen_of",
    "model_windows",
    "normalised",
    "pretrained",
    "provider",
    "run_transfer",
    "untrained",
]

StateProvider = Callable[[np.ndarray], np.ndarray]
CHANNEL_OF_TYPE = {"NO2": 2, "C2H5OH": 3, "VOC": 0, "CO": 1}
"""Channels of SmellNet and the UCI type that stands in for each: TGS2610, TGS2620, TGS2602, TGS2600."""


@dataclass(frozen=True, eq=False)
class Normalised:
    """Sensor normalisation: log conductance over clean air, put onto the clean air of the model's own channels.

    Arguments:
        air: log reading of each type in clean air, shape (4,).
        to_air, to_sd: signal of each channel of the model in clean air, and what it divides logarithms by, shape (M,).
        channels: its channels.
    """

    air: np.ndarray
    to_air: np.ndarray
    to_sd: np.ndarray
    channels: tuple[str, ...]

    def __call__(self, windows: np.ndarray) -> np.ndarray:
        """Windows in the units of the model, shape (n, 60, M)."""
        order = [CHANNEL_OF_TYPE.get(channel, m % 4) for m, channel in enumerate(self.channels)]
        return self.to_air + (by_type(windows) - self.air)[..., order] / self.to_sd


def by_type(windows: np.ndarray) -> np.ndarray:
    """Mean log reading of the four sensors of each type, (…, 16) → (…, 4)."""
    types = np.arange(16) // 2 % 4
    return np.stack([windows[..., types == k].mean(axis=-1) for k in range(4)], axis=-1)


def normalised(calibration: SeriesPart, channels: tuple[str, ...], to_air: np.ndarray, to_sd: np.ndarray) -> Normalised:
    """Normalisation from calibration windows: clean air is where a type reads lowest, its 5 % quantile."""
    types = by_type(windows_of(calibration)).reshape(-1, 4)
    air = np.quantile(types, 0.05, axis=0)
    return Normalised(air, np.asarray(to_air, float), np.asarray(to_sd, float), channels)


def run_transfer(
    split: Split, name: str, provider: StateProvider, gases: tuple[int, ...], *, whole: bool = False
) -> GasEstimate:
    """Estimate the test windows with a frozen model; everything that is chosen is chosen on calibration episodes.

    For each delay: a token for each gas (the component whose state follows it best), then least squares from the
    states of the tokens and a constant to ppm. With `whole` every component is a token of both gases.
    """
    columns = list(gases)
    held = split.calibration
    states = provider(windows_of(held))
    fits = [_fit(states, held.series.delayed(held.ends, d)[:, columns], whole) for d in DELAYS_S]
    best = int(np.argmin([error for *_, error in fits]))
    tokens, weights, _ = fits[best]
    delay_s = DELAYS_S[best]
    known = held.series.delayed(held.ends, delay_s)[:, columns]
    threshold = choose_threshold(_affine(states[:, tokens], weights), known, known.max(axis=0))
    tested = provider(windows_of(split.test))
    forecast = _forecast(split, states[:, tokens], tested[:, tokens])
    return GasEstimate(name, _affine(tested[:, tokens], weights), delay_s, threshold, forecast)


def _fit(states: np.ndarray, known: np.ndarray, whole: bool = False) -> tuple[list[int], np.ndarray, float]:
    """Tokens, affine weights (tokens + 1, gases), and the error relative to the mean predictor."""
    z = states - states.mean(axis=0)
    z = z / np.maximum(z.std(axis=0), 1e-9)
    follows = np.abs(z.T @ (known - known.mean(axis=0))) / known.std(axis=0)
    tokens = list(range(states.shape[1])) if whole else []
    for g in range(0 if whole else known.shape[1]):
        order = [int(k) for k in np.argsort(-follows[:, g]) if int(k) not in tokens]
        tokens.append(order[0])
    X = np.column_stack([np.ones(len(states)), states[:, tokens]])
    weights = np.linalg.lstsq(X, known, rcond=1e-6)[0]
    error = np.mean((X @ weights - known) ** 2, axis=0) / known.var(axis=0)
    return tokens, weights, float(error.mean())


def _affine(states: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(states)), states]) @ weights


def _forecast(split: Split, states: np.ndarray, tested: np.ndarray) -> np.ndarray:
    """Log readings ten seconds ahead: the change is affine in the tokens' states and the readings themselves."""
    held, test = split.calibration, split.test
    now = held.series.log_G[held.ends]
    change = held.series.log_G[held.ends + HORIZON_S] - now
    weights = np.linalg.lstsq(np.column_stack([np.ones(len(now)), states, now]), change, rcond=None)[0]
    later = test.series.log_G[test.ends]
    return later + np.column_stack([np.ones(len(later)), tested, later]) @ weights


_LEAST = 1e-6
"""Added to a concentration before its logarithm: ratios can be zero."""


@dataclass(frozen=True, eq=False)
class Frozen:
    """A frozen model and the form of its windows.

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


def provider(frozen: Frozen, calibration: SeriesPart) -> StateProvider:
    """A frozen model behind the sensor normalisation that calibration windows give."""
    to_windows = model_windows(frozen, calibration)
    return lambda windows: _state(frozen, to_windows(windows))


def model_windows(frozen: Frozen, calibration: SeriesPart) -> Callable[[np.ndarray], np.ndarray]:
    """From windows of UCI to those of a model: normalised on calibration windows, at its own rate."""
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
    from studies.harness.definitions import chosen, study_folds
    from studies.harness.jobs import Options, config_of
    from studies.harness.variants import Network
    from unmixnet.inference.bundle.storage import from_tensors, to_tensors
    from unmixnet.recordings.pieces import Recall

    (study,) = chosen("smellnet", ("clean",), (name,))
    variant = next(v for v in study.variants if isinstance(v, Network) and v.name == name)
    config = config_of(study, variant, Options(1, "small", quick))
    bench = NetworkBench(config, study_folds(study.protocols, root, groups=study.groups)[0], Recall(root))
    path = folder / f"{name}{'-quick' if quick else ''}.weights.npz"
    if path.is_file():
        with np.load(path) as stored, jax.enable_x64(False):
            model = from_tensors(dict(stored), bench.model(0), str(path))
    else:
        model = bench.fit(0, lambda _: tick()).model
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(path, **cast(Any, to_tensors(model)))
    ready, air = bench.prepared.preprocessing, np.array(bench.prepared.air)
    return Frozen(model, tuple(ready.channels), air, np.array(ready.sd), config.window, config.model.rate_Hz)
