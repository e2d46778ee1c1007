"""An estimate of what is in the air now."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unmixnet.inference.report import Answer, ClosureReport, Verdict
from unmixnet.inference.report.formatting import encodable
from unmixnet.inference.window import ChamberStates

__all__ = ["MIXTURE", "NOTHING", "STATUS", "UNLIKE", "WARMING", "Estimate"]

WARMING, NOTHING, MIXTURE, UNLIKE = "warming up", "nothing", "mixture", "unlike"
STATUS = {Verdict.NOTHING: NOTHING, Verdict.MIXTURE: MIXTURE, Verdict.UNLIKE: UNLIKE}


@dataclass(frozen=True, eq=False)
class Estimate:
    """What is in the air; K components, M channels. While it warms up most of it is empty.

    Arguments:
        time_s: of the sample that it was made after, on the source's clock.
        status: "warming up", "nothing", "mixture" or "unlike".
        components: names, in the order of `ratios`.
        ratios, low, high, presence: shares, ends of their 90 % intervals, probabilities; (K,) or empty.
        strength, background: over a typical training recording, and where claims begin.
        novelty: share of the validation recordings that look at least as strange.
        residual: RMS of measured − reconstructed [sd of the training signal].
        reconstructed, reconstructed_time_s: the trace that the physics makes of the estimate, (T, M) in the unit of
            the samples, and its times.
        states: the chamber now.
        closure: how well the laws close.
        drift: departure of each channel's clean-air level from that in the bundle; where it has none,
            from the first of this session [sd of the training signal]; empty until there is a clean-air level.
        heard: share of a window that the estimate rests on.
        waited_s: time since a whole window was received, where the answer is held until the air is clean again [s].
        words: plain sentences, the headline first.
        answer: everything, as `unmix` gives it for a file; None while it warms up.
    """

    time_s: float
    status: str
    components: tuple[str, ...]
    ratios: tuple[float, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    presence: tuple[float, ...] = ()
    strength: float = math.nan
    background: float = math.nan
    novelty: float = math.nan
    residual: float = math.nan
    reconstructed_time_s: np.ndarray = field(default_factory=lambda: np.zeros(0))
    reconstructed: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    states: ChamberStates | None = None
    closure: ClosureReport | None = None
    drift: tuple[float, ...] = ()
    heard: float = 0.0
    waited_s: float = 0.0
    words: tuple[str, ...] = ()
    answer: Answer | None = field(default=None, repr=False)

    def to_json(self) -> dict[str, Any]:
        """Plain values; NaN and infinity become null."""
        return {
            "time_s": round(self.time_s, 4),
            "status": self.status,
            "components": [encodable(name) for name in self.components],
            **{name: _shares(getattr(self, name)) for name in ("ratios", "low", "high", "presence")},
            **{name: _number(getattr(self, name)) for name in ("strength", "background", "novelty", "residual")},
            "reconstructed": {
                "time_s": [round(float(t), 4) for t in self.reconstructed_time_s],
                "values": [[_number(value) for value in row] for row in self.reconstructed],
            },
            "states": None if self.states is None else _states(self.states),
            "closure": None if self.closure is None else {k: _number(v) for k, v in vars(self.closure).items()},
            "drift": [_number(value) for value in self.drift],
            "heard": _number(self.heard),
            "waited_s": _number(self.waited_s),
            "words": [encodable(text) for text in self.words],
        }


def _states(states: ChamberStates) -> dict[str, Any]:
    names = {key: [encodable(name) for name in getattr(states, key)] for key in ("cells", "edges", "seats")}
    numbers = ("concentration_ppm", "flux_mol_m2_s", "coverage")
    return {**names, **{key: [_number(value) for value in getattr(states, key)] for key in numbers}}


def _shares(values: tuple[float, ...]) -> list[float | None]:
    return [round(value, 4) if math.isfinite(value) else None for value in values]


def _number(value: float) -> float | None:
    return float(f"{float(value):.6g}") if math.isfinite(value) else None
