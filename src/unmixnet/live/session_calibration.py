"""Session calibration on the page: clean air and known references adapt gains and offsets; each step can be undone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unmixnet.errors import UnmixError
from unmixnet.live.hub import Live

if TYPE_CHECKING:
    from unmixnet.inference.session import SessionCalibration

__all__ = ["SessionCalibrator", "SessionCalibratorError"]


class SessionCalibratorError(UnmixError):
    """A calibration without recordings, or while another one runs."""


class SessionCalibrator:
    """The active calibration of this source with this model, kept in the store."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.busy = False
        live.state_parts["calibration"] = self.state

    @property
    def device(self) -> str:
        """A calibration belongs to a board and a model."""
        return f"{self.live.source.name} with {self.live.bundle.name} {self.live.bundle.digest[:8]}"

    def state(self) -> dict[str, Any]:
        """The active calibration as plain values."""
        active = self.live.calibration
        return {"busy": self.busy, "active": None if active is None else active.to_json()}

    def restore(self) -> None:
        """Use the calibration that the store holds for this board and model."""
        kept = self.live.store.calibration(self.device)
        self.live.calibration = None if kept is None else _of_text(kept.text)

    async def calibrate(self, references: Sequence[int], clean_air: Sequence[int]) -> None:
        """Fit on recordings of the store, and use the result."""
        if not references and not clean_air:
            raise SessionCalibratorError(
                "there is nothing to calibrate on", remedy="Choose a recording of clean air or of a known mixture"
            )
        if self.busy:
            raise SessionCalibratorError("a calibration is running", remedy="Wait for it")
        self.busy = True
        self.live.changed()
        try:
            fitted = await self.live.in_worker_thread(self._fit, list(references), list(clean_air))
            self.live.store.add_calibration(self.device, fitted.to_text())
            self._use(fitted)
        finally:
            self.busy = False
            self.live.changed()

    def undo(self) -> None:
        """Go back to the calibration before, or to none."""
        self.live.store.undo_calibration(self.device)
        self.restore()
        self._use(self.live.calibration)
        self.live.changed()

    def _use(self, calibration: "SessionCalibration | None") -> None:
        self.live.calibration = calibration
        self.live.rebuild()

    def _fit(self, references: list[int], clean_air: list[int]) -> "SessionCalibration":
        from unmixnet.inference.session import fit_session

        read = self.live.store.recording
        return fit_session(self.live.bundle, [read(n) for n in references], [read(n) for n in clean_air])


def _of_text(text: str) -> "SessionCalibration":
    from unmixnet.inference.session import SessionCalibration

    return SessionCalibration.from_text(text)
