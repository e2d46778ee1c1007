"""A trained model as one verified folder: weights, preprocessing, calibration, card.

bundle = load_bundle(find_bundle("smellnet-mixture"))
digest = save_bundle("my-model", bundle)
"""

from unmixnet.bundle.bundle import Bundle
from unmixnet.bundle.calibrate import calibrate
from unmixnet.bundle.calibration import Calibration
from unmixnet.bundle.find import find_bundle, packaged
from unmixnet.bundle.storage import load_bundle, save_bundle

__all__ = ["Bundle", "Calibration", "calibrate", "find_bundle", "load_bundle", "packaged", "save_bundle"]
