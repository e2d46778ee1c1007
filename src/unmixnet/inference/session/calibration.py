r"""Correction of a session's effect on the sensors: an affine map of the signal before it enters the model.

    x̂_m = gain_m x_m + offset_m + Σ_n cross_mn x_n

x is the standardised signal (log-conductance or whatever the bundle's preprocessing makes of the readings, in standard
deviations of the training signal). `cross` is only there for ridge-to-identity.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unmixnet.errors import ConfigError

if TYPE_CHECKING:
    from unmixnet.inference.bundle import Bundle

__all__ = ["SCHEMA", "AffineMap", "SessionCalibration", "identity"]

SCHEMA = "unmixnet.session/1"
_LARGEST = 1_000_000
"""Largest size of a calibration file, in characters."""


@dataclass(frozen=True)
class AffineMap:
    """An affine map of M signals; `cross` is empty or (M, M)."""

    gain: tuple[float, ...]
    offset: tuple[float, ...]
    cross: tuple[tuple[float, ...], ...] = ()

    def apply(self, signal: np.ndarray) -> np.ndarray:
        """The signal (…, M) as it would have been in the sessions of the training."""
        out = signal * np.array(self.gain) + np.array(self.offset)
        if self.cross:
            out = out + signal @ np.array(self.cross).T
        return out.astype(signal.dtype)

    def undo(self, signal: np.ndarray) -> np.ndarray:
        """The signal that `apply` would turn into this one."""
        whole = np.diag(self.gain) + (np.array(self.cross) if self.cross else 0.0)
        return np.linalg.solve(whole, (signal - np.array(self.offset)).reshape(-1, len(self.gain)).T).T.reshape(
            signal.shape
        )


def identity(M: int) -> AffineMap:
    """The map that changes nothing."""
    return AffineMap((1.0,) * M, (0.0,) * M)


@dataclass(frozen=True)
class SessionCalibration:
    """A calibration of the sensors for one session.

    Arguments:
        channels: of the bundle, in its order.
        gain, offset, cross: see the module.
        method: how it was found.
        bundle, digest: the model that it was made for.
        date: when, ISO 8601.
        device: on which board.
        references: recordings that it rests on, with their labels, as text.
        before, after: MAE of the references' shares without it and with it; NaN without references.
        left_out: whether `after` was measured on references left out of the fit, one at a time.
    """

    channels: tuple[str, ...]
    gain: tuple[float, ...]
    offset: tuple[float, ...]
    method: str
    bundle: str
    digest: str
    date: str = ""
    device: str = ""
    references: tuple[str, ...] = ()
    before: float = float("nan")
    after: float = float("nan")
    left_out: bool = False
    cross: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        M = len(self.channels)
        numbers = np.array([*self.gain, *self.offset, *(value for row in self.cross for value in row)], float)
        square = not self.cross or [len(row) for row in self.cross] == [M] * M
        if not M or len(self.gain) != M or len(self.offset) != M or not square or not np.all(np.isfinite(numbers)):
            raise ConfigError(
                f"{len(self.gain)} gains and {len(self.offset)} offsets for {M} channels, expected one finite number "
                "for each",
                where="session calibration",
                remedy="Calibrate anew with `unmixnet calibrate-session`",
            )

    @property
    def map(self) -> AffineMap:
        """The map alone."""
        return AffineMap(self.gain, self.offset, self.cross)

    @property
    def sentence(self) -> str:
        """What was done, for the findings of an answer."""
        date = f"of {self.date[:10]} " if self.date else ""
        return f"The session calibration {date}({self.method}, {len(self.references)} references) was applied."

    def apply(self, signal: np.ndarray) -> np.ndarray:
        """The signal (…, M) as it would have been in the sessions of the training."""
        return self.map.apply(signal)

    def undone(self) -> "SessionCalibration":
        """The calibration that changes nothing."""
        none = identity(len(self.channels))
        return replace(self, gain=none.gain, offset=none.offset, cross=(), method="none", after=self.before)

    def check(self, bundle: "Bundle") -> None:
        """Refuse a bundle that this calibration was not made for."""
        if self.channels != bundle.preprocessing.channels or (
            self.digest and bundle.digest and self.digest != bundle.digest
        ):
            raise ConfigError(
                f"this session calibration was made for the model {self.bundle} ({self.digest[:8] or 'not stored'}) "
                f"with {', '.join(self.channels)}; the model is {bundle.name} ({bundle.digest[:8] or 'not stored'}) "
                f"with {', '.join(bundle.preprocessing.channels)}",
                where="session calibration",
                remedy="Calibrate this model with `unmixnet calibrate-session`, or use the other model",
            )

    def to_json(self) -> dict[str, Any]:
        """Plain values; a number that does not exist is null."""
        values = asdict(self)
        for name in ("before", "after"):
            values[name] = values[name] if math.isfinite(values[name]) else None
        return {"schema": SCHEMA, **_lists(values)}

    @classmethod
    def from_json(cls, value: Any) -> "SessionCalibration":
        """The calibration that `to_json` described; anything unknown, missing or not finite is an error."""
        try:
            values = dict(value)
            if values.pop("schema") != SCHEMA or set(values) - {item.name for item in fields(cls)}:
                raise ValueError(f"expected {SCHEMA} and no further keys")
            for name in ("channels", "references"):
                values[name] = tuple(map(str, values[name]))
            for name in ("gain", "offset"):
                values[name] = tuple(map(float, values[name]))
            values["cross"] = tuple(tuple(map(float, row)) for row in values["cross"])
            for name in ("before", "after"):
                values[name] = float("nan") if values[name] is None else float(values[name])
            for name in ("method", "bundle", "digest", "date", "device"):
                values[name] = str(values[name])
            return cls(**{**values, "left_out": bool(values["left_out"])})
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ConfigError(
                f"this is no session calibration ({type(error).__name__}: {error})",
                remedy="Use a file that `unmixnet calibrate-session` wrote",
            ) from None

    def to_text(self) -> str:
        """As JSON text."""
        return json.dumps(self.to_json(), allow_nan=False)

    @classmethod
    def from_text(cls, text: str) -> "SessionCalibration":
        """From JSON text."""
        try:
            if len(text) > _LARGEST:
                raise ValueError("it is too large")
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(
                f"this is no session calibration ({error})",
                remedy="Use a file that `unmixnet calibrate-session` wrote",
            ) from None
        return cls.from_json(value)


def _lists(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _lists(item) for name, item in value.items()}
    return [_lists(item) for item in value] if isinstance(value, tuple) else value
