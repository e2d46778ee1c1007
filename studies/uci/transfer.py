"""Transfer of a frozen model to gases: sensor normalisation, delay, component tokens, affine state-to-ppm.

A state provider is any function from log readings of causal windows, (n, 60, 16) at 1 Hz, to states (n, K): one number
for each of the model's own components. The model behind it is never trained here, and set points are never among its
inputs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from studies.uci.episodes import Part, Split, windows_of
from studies.uci.estimates import DELAYS_S, HORIZON_S, Estimate, choose_threshold

__all__ = ["Normalised", "StateProvider", "by_type", "normalised", "run_transfer"]

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
        """Windows as the model knows them, shape (n, 60, M)."""
        order = [CHANNEL_OF_TYPE.get(channel, m % 4) for m, channel in enumerate(self.channels)]
        return self.to_air + (by_type(windows) - self.air)[..., order] / self.to_sd


def by_type(windows: np.ndarray) -> np.ndarray:
    """Mean log reading of the four sensors of each type, (…, 16) → (…, 4)."""
    types = np.arange(16) // 2 % 4
    return np.stack([windows[..., types == k].mean(axis=-1) for k in range(4)], axis=-1)


def normalised(calibration: Part, channels: tuple[str, ...], to_air: np.ndarray, to_sd: np.ndarray) -> Normalised:
    """Normalisation from calibration windows: clean air is where a type reads lowest, its 5 % quantile."""
    types = by_type(windows_of(calibration)).reshape(-1, 4)
    air = np.quantile(types, 0.05, axis=0)
    return Normalised(air, np.asarray(to_air, float), np.asarray(to_sd, float), channels)


def run_transfer(
    split: Split, name: str, provider: StateProvider, gases: tuple[int, ...], *, whole: bool = False
) -> Estimate:
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
    return Estimate(name, _affine(tested[:, tokens], weights), delay_s, threshold, forecast)


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
