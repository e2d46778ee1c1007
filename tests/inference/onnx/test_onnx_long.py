"""Long counts of the export: every packaged bundle, on a thousand windows, measured where there are recordings."""

import os

import numpy as np
import pytest

from unmixnet.inference.bundle import Bundle
from unmixnet.inference.evaluate import scoring_set
from unmixnet.inference.onnx.export import TOLERANCE, check_onnx
from unmixnet.inference.onnx.graph import translated
from unmixnet.inference.onnx.numpy_reader import windows_of

pytestmark = [pytest.mark.soak, pytest.mark.filterwarnings("ignore:The delegation of int:DeprecationWarning")]
pytest.importorskip("onnxruntime")
pytest.importorskip("jax2onnx")
NAMES = ("simulated", "smellnet-base", "smellnet-mixture")


@pytest.fixture(scope="module", params=NAMES)
def bundle(request) -> Bundle:
    return load_model(request.param)


@pytest.fixture(scope="module")
def encoder(bundle) -> bytes:
    return translated(bundle, solver=False).SerializeToString()


@pytest.fixture(scope="module")
def recordings(bundle):
    """Test recordings of the protocol that the bundle was trained by."""
    name = bundle.training["data"]["protocol"]
    root = os.environ.get("UNMIXNET_DATA")
    if not root and not name.startswith("simulated"):
        pytest.skip("set UNMIXNET_DATA to the folder with the recordings")
    return scoring_set(bundle, name, root).recordings


@pytest.fixture(scope="module")
def measured_windows(bundle, recordings) -> np.ndarray:
    """A thousand windows of them, from any row; the same ones more than once where there are fewer."""
    T, rng = bundle.spec.window, np.random.default_rng(0)
    signals = [bundle.trace(recording).signal for recording in recordings]
    places = [(i, start) for i, signal in enumerate(signals) for start in range(len(signal) - T + 1)]
    return np.stack([signals[i][s : s + T] for i, s in (places[k] for k in rng.integers(len(places), size=1000))])


def tell(measured, bundle: Bundle, against: str, checked) -> None:
    for name in ("ratios", "presence"):
        measured(
            f"{bundle.name}: ONNX Runtime − {against}, {name}, {checked.windows} windows", checked.differences[name]
        )


def test_the_encoder_on_a_thousand_random_windows(bundle, encoder, measured):
    checked = check_onnx(bundle, encoder, windows=1000)
    tell(measured, bundle, "jax in single precision, random walks", checked)
    assert checked.worst <= TOLERANCE


def test_the_encoder_on_a_thousand_windows_of_recordings(bundle, encoder, measured_windows, measured):
    exact = check_onnx(bundle, encoder, windows=measured_windows, exact=True)
    tell(measured, bundle, "model in double precision, recordings", exact)
    single = check_onnx(bundle, encoder, windows=measured_windows)
    tell(measured, bundle, "jax in single precision, recordings", single)
    assert exact.worst <= TOLERANCE and single.worst <= TOLERANCE


def test_encoder_and_solver_on_a_hundred_windows_of_recordings(bundle, measured_windows, measured):
    data = translated(bundle, solver=True).SerializeToString()
    found = check_onnx(bundle, data, windows=measured_windows[:100], solver=True).differences
    measured(f"{bundle.name}: reconstructed, ONNX Runtime − jax, 100 windows", found["reconstructed"])
    assert found["reconstructed"] <= 1e-4 and found["status"] == found["direct_solves"] == 0


def test_the_example_cuts_the_windows_that_unmix_cuts(bundle, recordings):
    import json

    told = {one.key.removeprefix("unmixnet."): one.value for one in translated(bundle, solver=False).metadata_props}
    known = {key: json.loads(told[key]) for key in ("preprocessing", "rate_Hz", "window", "stride")}
    for recording in recordings[:10]:
        chosen = recording.select(bundle.preprocessing.channels)
        signal = bundle.trace(recording).signal
        found = windows_of(chosen.readings, chosen.sample_rate_Hz, known)
        np.testing.assert_allclose(found[0], signal[: len(found[0])], atol=1e-6)
