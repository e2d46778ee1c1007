"""From references to a session calibration."""

from collections.abc import Sequence

from unmixnet.bundle.bundle import Bundle
from unmixnet.data.recording import Recording
from unmixnet.session.calibration import SessionCalibration

__all__ = ["METHODS", "fit_session"]

METHODS = ("auto",)


def fit_session(
    bundle: Bundle,
    references: Sequence[Recording] = (),
    clean_air: Sequence[Recording] = (),
    *,
    method: str = "auto",
    device: str = "",
) -> SessionCalibration:
    """A calibration from labelled recordings and recordings of clean air."""
    raise NotImplementedError
