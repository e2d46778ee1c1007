"""Session calibration: correction of today's sensors from a few known references.

calibration = fit_session(bundle, references, clean_air)
answer = unmix(bundle, recording, session=calibration)
"""

from unmixnet.inference.session.calibration import SessionCalibration
from unmixnet.inference.session.fit import METHODS, fit_session

__all__ = ["METHODS", "SessionCalibration", "fit_session"]
