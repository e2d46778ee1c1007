"""The exported encoder and solver say what the model says, in another runtime."""

import json
import sys
from dataclasses import replace
from subprocess import run

import numpy as np
import pytest

from tests.live.signals import shipped
from unmixnet.errors import ConfigError
from unmixnet.examples import example_recording
from unmixnet.inference.evidence import presence_of
from unmixnet.inference.onnx import graph, numpy_reader
from unmixnet.inference.onnx.export import TOLERANCE, ExportError, check_onnx, export_onnx
from unmixnet.model.predict import encode
from unmixnet.recordings.reader import read_recording
from unmixnet.recordings.temporal import window_starts

pytestmark = pytest.mark.filterwarnings("ignore:The delegation of int:DeprecationWarning")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("jax2onnx")
BUNDLE = shipped()


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    return export_onnx(BUNDLE, tmp_path_factory.mktemp("onnx") / "encoder.onnx", windows=50)


@pytest.fixture(scope="module")
def session(exported):
    return onnxruntime.InferenceSession(exported.path)


def flat(n: int) -> np.ndarray:
    """Windows that hardly move, far from zero: where rounding is worst."""
    rng = np.random.default_rng(1)
    shape = (n, BUNDLE.spec.window, len(BUNDLE.preprocessing.channels))
    return (rng.normal(0, 2, (n, 1, shape[2])) + rng.normal(0, 0.005, shape)).astype(np.float32)


def test_the_encoder_is_the_same_within_1e_5_on_fifty_windows(exported):
    assert exported.difference <= TOLERANCE and exported.windows == 50
    assert exported.size == exported.path.stat().st_size


def test_flat_windows_are_read_within_1e_5_of_exact_arithmetic(exported):
    assert check_onnx(BUNDLE, exported.path.read_bytes(), windows=flat(50), exact=True).worst <= TOLERANCE


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_window_is_read_alike_alone_and_in_a_batch_of_any_size(session, n):
    Y = flat(5)
    alone = [np.concatenate(parts) for parts in zip(*(session.run(None, {"signal": y[None]}) for y in Y), strict=True)]
    for found, expected in zip(session.run(None, {"signal": Y[:n]}), alone, strict=True):
        np.testing.assert_allclose(found, expected[:n], atol=TOLERANCE)


def test_twin_a_changed_weight_is_noticed(exported):
    proto = onnx.load(exported.path)
    largest = max(proto.graph.initializer, key=lambda one: np.prod(one.dims))
    changed = onnx.numpy_helper.to_array(largest) * np.float32(1.05)
    largest.CopyFrom(onnx.numpy_helper.from_array(changed, largest.name))
    assert check_onnx(BUNDLE, proto.SerializeToString(), windows=5).worst > TOLERANCE


def test_twin_an_encoder_that_mixes_windows_is_noticed(exported):
    proto = onnx.load(exported.path)
    (last,) = (node for node in proto.graph.node if "ratios" in node.output)
    last.output[0] = "of_each"
    proto.graph.node.append(onnx.helper.make_node("CumSum", ["of_each", "first_axis"], ["ratios"]))
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array(0, np.int64), "first_axis"))
    found = check_onnx(BUNDLE, proto.SerializeToString(), windows=5).differences
    assert found["ratios"] > TOLERANCE and found["presence"] <= TOLERANCE


def test_a_file_that_says_something_else_is_not_written(tmp_path, monkeypatch, exported):
    monkeypatch.setattr("unmixnet.inference.onnx.export.translated", lambda bundle, solver: onnx.load(exported.path))
    with pytest.raises(ExportError, match="differs from the model"):
        export_onnx(BUNDLE, tmp_path / "never.onnx", windows=2, tolerance=-1.0)
    assert list(tmp_path.iterdir()) == []


def test_a_bundle_without_a_solver_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="which has no UnMixNet encoder"):
        export_onnx(replace(BUNDLE, model=None), tmp_path / "never.onnx")


@pytest.mark.parametrize("change", [{"diffusion": "regularised"}, {"edgewise": True}], ids=str)
def test_a_solver_that_factorises_is_refused_and_the_message_says_why(tmp_path, change):
    settings = replace(BUNDLE.model.settings, **change)
    with pytest.raises(ExportError, match=r"factorises dense matrices.*ONNX has no operator.*Export the encoder alone"):
        export_onnx(replace(BUNDLE, model=replace(BUNDLE.model, settings=settings)), tmp_path / "x.onnx", solver=True)
    assert list(tmp_path.iterdir()) == []


def test_the_command_tells_the_difference_of_every_output(tmp_path, monkeypatch, exported):
    from typer.testing import CliRunner

    from tests.cli.commands import json_object
    from unmixnet.cli import app

    monkeypatch.setattr("unmixnet.inference.onnx.export.translated", lambda bundle, solver: onnx.load(exported.path))
    place = tmp_path / "encoder.onnx"
    done = CliRunner().invoke(app, ["export", "simulated", "--onnx", str(place), "--windows", "4", "--json"])
    assert done.exit_code == 0, done.output
    told = json_object(done.stdout)
    assert told["windows"] == 4 and set(told["differences"]) == set(graph.ENCODER)
    assert place.stat().st_size == told["bytes"]


# ---------------------------------------------------------------- what a user finds in the file


def test_the_file_says_what_it_needs(session):
    known = numpy_reader.known_of(session)
    assert known["components"] == list(BUNDLE.components) and known["channels"] == list(BUNDLE.preprocessing.channels)
    assert (known["window"], known["stride"]) == (BUNDLE.spec.window, BUNDLE.spec.stride)
    assert known["rate_Hz"] == BUNDLE.spec.rate_Hz and known["digest"] == BUNDLE.digest
    assert known["preprocessing"]["mean"] == list(BUNDLE.preprocessing.mean)
    assert known["finish"] == {"temperature": BUNDLE.calibration.temperature, "support": BUNDLE.calibration.support}


ALONE = """
import runpy, sys
sys.modules.update(dict.fromkeys(["unmixnet", "jax", "equinox", "onnx", "scipy", "pandas"]))
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def expected_answer() -> tuple[np.ndarray, np.ndarray]:
    trace = BUNDLE.trace(read_recording(example_recording())).signal
    window = BUNDLE.spec.window
    read = encode(
        BUNDLE.model, np.stack([trace[s : s + window] for s in window_starts(len(trace), window, BUNDLE.spec.stride)])
    )
    return BUNDLE.calibration.shares(np.asarray(read.a)), presence_of(read).mean(axis=0)


def test_onnxruntime_and_numpy_alone_answer_as_unmix_does(exported):
    command = [sys.executable, "-c", ALONE, numpy_reader.__file__, str(exported.path), str(example_recording())]
    done = run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    told = json.loads(done.stdout)
    shares, presence = expected_answer()
    np.testing.assert_allclose(list(told["shares"].values()), shares, atol=TOLERANCE)
    np.testing.assert_allclose(list(told["presence"].values()), presence, atol=TOLERANCE)


def test_twin_another_mean_gives_another_answer(session):
    known = numpy_reader.known_of(session)
    readings, rate = numpy_reader.read_csv(str(example_recording()), known["channels"])
    known["preprocessing"]["mean"] = [mean + 0.1 for mean in known["preprocessing"]["mean"]]
    told = numpy_reader.answer(session, numpy_reader.windows_of(readings, rate, known))
    assert np.max(np.abs(np.array(list(told["shares"].values())) - expected_answer()[0])) > TOLERANCE


# ---------------------------------------------------------------- with the solver


@pytest.mark.soak
def test_encoder_and_solver_are_the_same_within_1e_5(tmp_path):
    done = export_onnx(BUNDLE, tmp_path / "solver.onnx", solver=True, windows=3)
    assert done.difference <= TOLERANCE and set(done.checked.differences) == {*graph.ENCODER, *graph.SOLVER}
    session = onnxruntime.InferenceSession(done.path)
    known = numpy_reader.known_of(session)
    readings, rate = numpy_reader.read_csv(str(example_recording()), known["channels"])
    told = numpy_reader.answer(session, numpy_reader.windows_of(readings, rate, known))
    assert told["unsolved"] == 0 and 0 < told["fit"] < 0.5
