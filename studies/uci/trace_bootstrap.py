"""Intervals of fitted parameters by a block bootstrap: residuals are moved in blocks and the fit repeated."""

from dataclasses import replace

import numpy as np

from studies.uci.trace_fit import Prior, Trace, TraceLaw, fit_trace

__all__ = ["bootstrap_trace"]


def bootstrap_trace(
    fitted: Trace, law: TraceLaw, prior: Prior, *, resamples: int = 40, dt_s: float = 0.5, seed: int = 0
) -> np.ndarray:
    """Parameters of refits, shape (resamples, p), in the order shared, then sensor by sensor.

    The residuals of the logarithm are cut into blocks of two correlation times, which are drawn with replacement and
    put onto the fitted curve; the prior's means are drawn too, as if they had been measured with its sd.
    """
    rng = np.random.default_rng(seed)
    curve = law.forecast(fitted.programme, fitted.time_s, dt_s=dt_s)
    left = np.log(np.where(fitted.readings > 0, fitted.readings, np.nan)) - np.log(curve)
    gap = float(np.median(np.diff(fitted.time_s)))
    block = int(np.clip(round(2 * law.correlation_s / gap), 1, len(left)))
    free = prior.sd > 0
    start = np.append(law.shared, law.sensors)[free]
    drawn = []
    for _ in range(resamples):
        firsts = rng.integers(0, len(left) - block + 1, -(-len(left) // block))
        rows = (firsts[:, None] + np.arange(block)).ravel()[: len(left)]
        moved = replace(fitted, readings=curve * np.exp(left[rows]))
        shaken = replace(
            prior,
            shared=prior.shared + prior.shared_sd * rng.normal(size=prior.shared.shape),
            sensors=prior.sensors + prior.sensors_sd * rng.normal(size=prior.sensors.shape),
        )
        again = fit_trace(moved, shaken, dt_s=dt_s, steps=25, start=start)
        drawn.append(np.append(again.shared, again.sensors))
    return np.array(drawn)
