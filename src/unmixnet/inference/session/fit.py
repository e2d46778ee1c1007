"""From references to a session calibration: fit, leave references out to see whether it helps, choose."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.session.calibration import AffineMap, SessionCalibration, identity
from unmixnet.inference.session.maps import (
    Priors,
    fit_clean_air,
    fit_gain,
    fit_offset,
    fit_prototype,
    fit_ridge,
    fit_solver_gain,
)
from unmixnet.inference.session.references import Reference, own_clean_air, references_of, traces_of
from unmixnet.inference.unmix import solver_of
from unmixnet.model.predict import encode
from unmixnet.recordings.recording import Recording
from unmixnet.recordings.temporal import cut_windows

__all__ = ["METHODS", "fit_map", "fit_session", "priors_of"]

METHODS = ("auto", "none", "offset", "prototype", "gain", "ridge", "solver", "clean-air")
"""`auto` compares the others on left-out references, and chooses `none` if none of them helps."""
_TRIED = ("solver", "gain", "prototype", "offset")
_MANY = 4
"""References from which on ridge-to-identity is tried too."""
_WORTH = 0.05
"""Relative gain that a calibration must bring."""


def fit_session(
    bundle: Bundle,
    references: Sequence[Recording] = (),
    clean_air: Sequence[Recording] = (),
    *,
    method: str = "auto",
) -> SessionCalibration:
    """A calibration from labelled recordings and recordings of clean air of this session.

    Arguments:
        method: one of `METHODS`.
    """
    _check(method, references, clean_air)
    solver_of(bundle)
    known = references_of(bundle, references)
    clean = np.array([trace.mean(axis=0) for trace in traces_of(bundle, clean_air)], float)
    clean = clean.reshape(-1, len(bundle.spec.air))
    chosen, after = _chosen(bundle, known, clean, method)
    fitted = fit_map(bundle, known, clean, chosen)
    before = _error(bundle, known, [identity(len(bundle.spec.air))] * len(known))
    if len(known) == 1:
        after = _error(bundle, known, [fitted])
        if method == "auto" and after >= (1 - _WORTH) * before:
            chosen, fitted, after = "none", identity(len(bundle.spec.air)), before
    recordings = [f"{recording.path} ({_recipe(recording)})" for recording in references]
    recordings += [f"{recording.path} (clean air)" for recording in clean_air]
    return SessionCalibration(
        bundle.preprocessing.channels,
        fitted.gain,
        fitted.offset,
        chosen,
        bundle.name,
        bundle.digest,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        device=next((recording.device for recording in (*references, *clean_air)), ""),
        references=tuple(recordings),
        before=before,
        after=after,
        left_out=len(known) > 1,
        cross=fitted.cross,
    )


def fit_map(bundle: Bundle, known: Sequence[Reference], clean: np.ndarray, method: str) -> AffineMap:
    """The map that one method finds; without references, clean air alone."""
    M = len(bundle.spec.air)
    if method == "none" or (not known and not len(clean)):
        return identity(M)
    if not known or method == "clean-air":
        return fit_clean_air(clean, bundle.spec.air)
    if method == "solver":
        return fit_solver_gain(known, priors_of(bundle), clean)
    session, master = (
        np.stack([reference.level for reference in known]),
        np.stack([reference.master for reference in known]),
    )
    plain: dict[str, Callable[..., AffineMap]] = {"offset": fit_offset, "prototype": fit_prototype}
    if method in plain:
        return plain[method](session, master)
    # clean air is a reference too; a recording with its own baseline contains it, whatever its gain
    air = np.array(bundle.spec.air)[None]
    seen = np.concatenate([clean, air]) if own_clean_air(bundle) else clean
    session, master = np.concatenate([session, seen]), np.concatenate([master, np.repeat(air, len(seen), axis=0)])
    return fit_ridge(session, master) if method == "ridge" else fit_gain(session, master)


def _chosen(bundle: Bundle, known: Sequence[Reference], clean: np.ndarray, method: str) -> tuple[str, float]:
    """The method, and its error on references that were left out; NaN with fewer than two."""
    k, M = len(known), len(bundle.spec.air)
    if method != "auto":
        if k < 2:
            return method, float("nan")
        return method, _left_out(bundle, known, clean, [method])[method]
    if k < 2:
        return ("solver" if k else "clean-air"), float("nan")
    tried = (*_TRIED, *(("ridge",) if k >= _MANY else ()), *(("clean-air",) if len(clean) else ()))
    errors = _left_out(bundle, known, clean, tried)
    nothing = _error(bundle, known, [identity(M)] * k)
    best = min(errors, key=lambda name: errors[name])
    return (best, errors[best]) if errors[best] < (1 - _WORTH) * nothing else ("none", nothing)


def _left_out(
    bundle: Bundle, known: Sequence[Reference], clean: np.ndarray, methods: Sequence[str]
) -> dict[str, float]:
    """Error of each reference with the calibration that the others give."""
    others = [[reference for j, reference in enumerate(known) if j != i] for i in range(len(known))]
    return {
        method: _error(bundle, known, [fit_map(bundle, rest, clean, method) for rest in others]) for method in methods
    }


def _error(bundle: Bundle, known: Sequence[Reference], maps: Sequence[AffineMap]) -> float:
    """MAE of the shares of references, each with its own map."""
    if not known:
        return float("nan")
    traces = [fitted.apply(reference.trace) for reference, fitted in zip(known, maps, strict=True)]
    windows = [cut_windows(trace, bundle.spec.window, bundle.spec.stride) for trace in traces]
    ratios = np.asarray(encode(bundle.model, np.concatenate(windows)).a, float)
    parts = [slice(a, b) for a, b in pairwise(np.cumsum([0, *map(len, windows)]).tolist())]
    shares = np.stack([bundle.calibration.shares(ratios[part]) for part in parts])
    return float(np.mean(np.abs(shares - np.stack([reference.truth for reference in known]))))


def priors_of(bundle: Bundle) -> Priors:
    """How sessions are expected to differ from those of training."""
    noise = np.array(bundle.calibration.noise or (0.1,) * len(bundle.spec.air))
    offset = 0.05 if own_clean_air(bundle) else 1.0
    return Priors(np.array(bundle.spec.air), np.maximum(noise, 0.02), offset=offset)


def _recipe(recording: Recording) -> str:
    assert recording.label is not None, "references have labels"
    pairs = zip(recording.label.names, recording.label.ratios, strict=True)
    return " + ".join(f"{name} {100 * share:.0f} %" for name, share in pairs)


def _check(method: str, references: Sequence[Recording], clean_air: Sequence[Recording]) -> None:
    if method not in METHODS:
        raise ConfigError(f"no method {method!r}", remedy=f"Choose one of {', '.join(METHODS)}")
    if not references and not clean_air:
        raise ConfigError("there is nothing to calibrate on", remedy="Record clean air, or a mixture that you know")
    if method == "clean-air" and not clean_air:
        raise ConfigError("there is no recording of clean air", remedy="Give one with --clean-air")
    if not references and method not in ("auto", "none", "clean-air"):
        raise ConfigError(f"the method {method} needs a reference", remedy="Record a mixture that you know")
