"""The exported encoder says what the encoder says, in another runtime."""

import json

import numpy as np
import pytest

from live.hearing import shipped
from unmixnet.export.onnx import TOLERANCE, ExportError, check_onnx, export_onnx

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("jax2onnx")
BUNDLE = shipped()


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    return export_onnx(BUNDLE, tmp_path_factory.mktemp("onnx") / "encoder.onnx", windows=20)


def test_the_encoder_is_the_same_within_1e_5_on_twenty_windows(exported):
    assert exported.difference <= TOLERANCE and exported.size == exported.path.stat().st_size


def test_the_file_says_what_it_needs(exported):
    known = {one.key: one.value for one in onnx.load(exported.path).metadata_props}
    assert json.loads(known["unmixnet.components"]) == list(BUNDLE.components)
    assert json.loads(known["unmixnet.preprocessing"])["channels"] == list(BUNDLE.ready.channels)
    assert known["unmixnet.digest"] == BUNDLE.digest


def test_twin_a_changed_weight_is_noticed(exported):
    proto = onnx.load(exported.path)
    largest = max(proto.graph.initializer, key=lambda one: np.prod(one.dims))
    changed = onnx.numpy_helper.to_array(largest) * np.float32(1.05)
    largest.CopyFrom(onnx.numpy_helper.from_array(changed, largest.name))
    assert check_onnx(BUNDLE, proto.SerializeToString(), windows=5) > TOLERANCE


def test_a_file_that_says_something_else_is_not_written(tmp_path):
    with pytest.raises(ExportError, match="differs from the model"):
        export_onnx(BUNDLE, tmp_path / "never.onnx", windows=2, tolerance=-1.0)
    assert list(tmp_path.iterdir()) == []
