"""A trained model as one verified folder: weights, preprocessing, calibration, card.

bundle = load_model("smellnet-mixture")
digest = save_bundle("my-model", bundle)
"""

from unmixnet.inference.bundle.bundle import Bundle, find_bundle, packaged
from unmixnet.inference.bundle.calibration import Calibration
from unmixnet.inference.bundle.storage import load_bundle, load_model, save_bundle

__all__ = ["Bundle", "Calibration", "find_bundle", "load_bundle", "load_model", "packaged", "save_bundle"]
