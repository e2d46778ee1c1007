"""The answer as one JSON object: no NaN, sensible digits, names as they were given."""

import math
from typing import Any

import numpy as np

from unmixnet.inference.answer import Answer
from unmixnet.inference.report.formatting import encodable
from unmixnet.inference.report.words import caution, explained, headline

__all__ = ["to_json"]

_DIGITS = 6


def to_json(answer: Answer, *, states: bool = False) -> dict[str, Any]:
    """Everything that is known, JSON-safe: a number that does not exist is null.

    The inferred states are large and only included on request.
    """
    whole = {
        "recording": encodable(answer.recording),
        "model": {"name": encodable(answer.model), "digest": encodable(answer.model_digest)},
        "headline": headline(answer),
        "verdict": str(answer.verdict),
        "trusted": answer.trusted,
        "caution": caution(answer),
        "components": [_component(answer, k) for k in answer.ranking.tolist()],
        "strength": _number(answer.strength),
        "background": _number(answer.background),
        "novelty": _number(answer.novelty),
        "fit": _number(answer.fit),
        "explained": _number(explained(answer)[0]),
        "closure": {name: _number(value) for name, value in vars(answer.closure).items()},
        "findings": [encodable(finding) for finding in answer.findings],
        "confidence_note": encodable(answer.confidence_note),
        "windows": _windows(answer),
        "traces": _traces(answer),
    }
    return whole | {"states": _states(answer)} if states else whole


def _component(answer: Answer, k: int) -> dict[str, Any]:
    shares = {"share": answer.ratios, "low": answer.low, "high": answer.high, "presence": answer.presence}
    return {"name": encodable(answer.components[k]), **{name: _share(values[k]) for name, values in shares.items()}}


def _windows(answer: Answer) -> dict[str, Any]:
    names = [encodable(name) for name in answer.components]
    return {
        "time_s": _numbers(answer.window_time_s),
        "components": names,
        "ratios": [[_share(value) for value in row] for row in answer.window_ratios],
    }


def _traces(answer: Answer) -> dict[str, Any]:
    return {
        "unit": encodable(answer.unit),
        "channels": [encodable(name) for name in answer.channels],
        "time_s": [_time(value) for value in answer.time_s],
        "measured": _numbers(answer.measured),
        "reconstructed": _numbers(answer.reconstructed),
    }


def _states(answer: Answer) -> dict[str, Any]:
    states = answer.states
    return {
        "note": "implied by the model, not measured",
        "cells": [encodable(name) for name in states.cells],
        "edges": [encodable(name) for name in states.edges],
        "sensors": [encodable(name) for name in answer.channels],
        "components": [encodable(name) for name in answer.components],
        "time_s": [_time(value) for value in states.time_s],
        "concentration_ppm": _numbers(states.concentration_ppm),
        "flux_mol_m2_s": _numbers(states.flux_mol_m2_s),
        "coverage": _numbers(states.coverage),
    }


def _share(value: float) -> float | None:
    return round(float(value), 4) if math.isfinite(value) else None


def _time(value: float) -> float | None:
    """To the microsecond, however long the recording."""
    return round(float(value), 6) if math.isfinite(value) else None


def _number(value: float) -> float | None:
    return float(f"{float(value):.{_DIGITS}g}") if math.isfinite(value) else None


def _numbers(values: np.ndarray) -> list[Any]:
    """Nested lists with six significant digits."""
    return [_number(value) if np.ndim(value) == 0 else _numbers(value) for value in values]
