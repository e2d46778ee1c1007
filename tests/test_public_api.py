"""The public interface: what it holds, that its examples run, what it loads, and that only `UnmixError` leaves it."""

import doctest
import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import unmixnet as um
from unmixnet.files.replacement import write_file

PROMISED = {
    *("read_recording", "load_model", "unmix", "Answer", "simulate", "load_simulation", "Chamber"),
    *("chain", "box", "two_bulbs", "flow_through", "portable_enose"),
    *("UnmixRegressor", "OdorClassifier", "load_dataset", "UnmixError", "physics", "metrics"),
}
NAMES = sorted(set(um.__all__) - {"__version__", "physics", "metrics"})
HEAVY = ("unmixnet.training", "unmixnet.model.baselines", "unmixnet.live", "unmixnet.cli", "studies")
OTHERS = ("sklearn", "pandas", "matplotlib", "ray", "onnx", "rich")


# ---------------------------------------------------------------- names


def test_every_promised_name_is_there_and_listed_once():
    assert set(um.__all__) >= PROMISED and len(um.__all__) == len(set(um.__all__))
    assert sorted(um.__all__) == sorted(dir(um))
    for name in um.__all__:
        assert getattr(um, name) is not None
    with pytest.raises(AttributeError, match="unmixx"):
        _ = um.unmixx


@pytest.mark.parametrize("name", ["physics", "metrics"])
def test_a_namespace_lists_what_it_exports(name):
    space = getattr(um, name)
    assert space.__all__ and all(getattr(space, public) is not None for public in space.__all__)
    if name == "physics":
        modules = {module.name for module in pkgutil.iter_modules(space.__path__)}
        assert set(space.__all__) == modules
        assert all(getattr(space, module).__all__ for module in modules)


def test_every_other_package_says_that_it_is_private():
    packages = [module.name for module in pkgutil.iter_modules(um.__path__) if module.ispkg]
    silent = [name for name in packages if "rivate" not in (importlib.import_module(f"unmixnet.{name}").__doc__ or "")]
    assert silent == ["physics"]
    assert (Path(um.__file__).parent / "py.typed").is_file()


# ---------------------------------------------------------------- examples


@pytest.fixture(autouse=True)
def outside(tmp_path, monkeypatch):
    """Examples write into a folder of their own, in the precision of a fresh session."""
    monkeypatch.chdir(tmp_path)
    with jax.enable_x64(False):
        yield


def run_examples(name: str, thing: object) -> doctest.TestResults:
    """Run the examples of one docstring (not of methods), and require that there are some."""
    finder = doctest.DocTestFinder(recurse=False)
    (found,) = finder.find(thing, name, module=False)
    assert found.examples, f"{name} has no example"
    return doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL).run(found)


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_a_public_name_runs(name):
    assert run_examples(name, getattr(um, name)).failed == 0


@pytest.mark.parametrize("name", ["um.metrics.mae", "um.physics"])
def test_the_example_of_a_namespace_runs(name):
    thing = um.physics if name == "um.physics" else um.metrics.mae
    assert run_examples(name, thing).failed == 0


def test_twin_an_example_that_is_wrong_or_missing_is_noticed(capsys):
    def wrong():
        """One.

        >>> 1 + 1
        3
        """

    def missing():
        """None."""

    assert run_examples("wrong", wrong).failed == 1
    with pytest.raises(AssertionError, match="no example"):
        run_examples("missing", missing)
    capsys.readouterr()


# ---------------------------------------------------------------- what is loaded


def loaded(code: str) -> set[str]:
    """Modules that a fresh process has loaded after the code."""
    program = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def unwanted(modules: set[str]) -> set[str]:
    return {module for module in modules if f"{module}.".startswith(tuple(f"{name}." for name in HEAVY + OTHERS))}


def test_import_unmixnet_loads_neither_jax_nor_numpy():
    modules = loaded("import unmixnet")
    assert not modules & {"jax", "numpy", "scipy", "pydantic", "equinox"}
    assert {module for module in modules if module.startswith("unmixnet.")} == set()


UNMIX = "import unmixnet as um\num.unmix"
ANSWER = f"{UNMIX}(um.load_model('simulated'), um.read_recording(um.example_recording()))"


@pytest.mark.parametrize("code", [UNMIX, ANSWER], ids=["resolved", "called"])
def test_unmix_loads_no_training_no_baseline_no_study(code):
    modules = loaded(code)
    assert "unmixnet.inference.unmix" in modules and unwanted(modules) == set()


def test_twin_a_training_that_is_imported_on_the_way_is_noticed():
    modules = loaded(f"import unmixnet.model.baselines\n{UNMIX}\nimport unmixnet.training.config")
    assert {"unmixnet.model.baselines", "unmixnet.training"} <= unwanted(modules)


# ---------------------------------------------------------------- errors


@pytest.fixture(scope="module")
def model():
    return um.load_model("simulated")


@pytest.fixture(scope="module")
def recording():
    return um.read_recording(um.example_recording())


def damaged(folder: Path) -> Path:
    """A copy of a packaged model with one byte of its weights changed."""
    source = Path(inspect.getfile(um)).parent / "bundles" / "simulated"
    for file in source.iterdir():
        content = bytearray(file.read_bytes())
        if file.suffix == ".safetensors":
            content[-1] ^= 1
        write_file(folder / file.name, bytes(content))
    return folder


def something_else(folder: Path) -> Path:
    """A folder whose manifest belongs to another program."""
    write_file(folder / "manifest.json", '{"name": "my web page", "icons": []}')
    return folder


WRONG_MODELS = {
    "a wrong name": lambda _: "smelnet-mixture",
    "a damaged folder": lambda folder: damaged(folder / "model"),
    "a folder of something else": lambda folder: something_else(folder / "page"),
    "an empty folder": lambda folder: folder,
    "a file": lambda _: um.example_recording(),
    "a number": lambda _: 7,
    "nothing": lambda _: None,
    "bytes": lambda _: b"simulated",
    "an empty name": lambda _: "",
    "a name that no disk can hold": lambda _: "x" * 100_000,
    "a NUL character": lambda _: "a\0b",
}


@pytest.mark.parametrize("case", WRONG_MODELS)
def test_load_model_refuses_with_a_remedy(case, tmp_path):
    with pytest.raises(um.UnmixError) as caught:
        um.load_model(WRONG_MODELS[case](tmp_path))
    assert caught.value.remedy and len(str(caught.value)) < 1000


def emptied(recording):
    return replace(recording, readings=np.full_like(recording.readings, np.nan))


def shortened(recording, rows: int):
    return replace(recording, time_s=recording.time_s[:rows], readings=recording.readings[:rows])


def renamed(recording):
    return replace(recording, channels=("A", "B", "C", "D"))


WRONG_RECORDINGS = {
    "a path": lambda _: str(um.example_recording()),
    "an array": lambda recording: recording.readings,
    "nothing": lambda _: None,
    "other channels": renamed,
    "one channel of four": lambda recording: recording.select(["MOX1"]),
    "too short": lambda recording: shortened(recording, 50),
    "one row": lambda recording: shortened(recording, 1),
    "no row": lambda recording: shortened(recording, 0),
    "NaN everywhere": emptied,
}


@pytest.mark.parametrize("case", WRONG_RECORDINGS)
def test_unmix_refuses_a_recording_with_a_remedy(case, model, recording):
    with pytest.raises(um.UnmixError) as caught:
        um.unmix(model, WRONG_RECORDINGS[case](recording))
    assert caught.value.remedy


@pytest.mark.parametrize("wrong", [None, "simulated", 3, {}], ids=repr)
def test_unmix_refuses_what_is_no_model(wrong, recording):
    with pytest.raises(um.UnmixError, match="load_model"):
        um.unmix(wrong, recording)


@pytest.mark.parametrize("refine", [-1, 1.5, "3", None, float("nan")], ids=repr)
def test_unmix_refuses_a_senseless_number_of_steps(refine, model, recording):
    with pytest.raises(um.UnmixError, match="refine") as caught:
        um.unmix(model, recording, refine=refine)
    assert caught.value.remedy


def test_unmix_refuses_a_session_of_another_model_and_what_is_no_session(model, recording):
    from unmixnet.inference.session import SessionCalibration

    other = SessionCalibration(model.channels, (1.0,) * 4, (0.0,) * 4, "gain", "another", "ab" * 32)
    wrong: list[Any] = [other, "session.json", {"gain": 1}]
    for session in wrong:
        with pytest.raises(um.UnmixError, match="session") as caught:
            um.unmix(model, recording, session=session)
        assert caught.value.remedy
