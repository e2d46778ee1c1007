"""Test session: double precision, checked types, reproducible draws, and the record of the long counts."""

import os
import signal
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# a session that was started in the background ignores Ctrl-C, and so would every program that it starts
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import jax
import jaxtyping
import pytest
from hypothesis import HealthCheck, settings

jax.config.update("jax_enable_x64", True)
# Shapes and types are checked in tests, and only there, wherever arrays carry them; not in the reader, whose speed is
# a law of its own.
_OF_TRAINING = ("augmentation", "epoch", "losses", "objective")
_SHAPED = ("physics", "model", *(f"training.{part}" for part in _OF_TRAINING))
jaxtyping.install_import_hook([f"unmixnet.{part}" for part in _SHAPED], "beartype.beartype")

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("fast", max_examples=25, deadline=None, derandomize=True, suppress_health_check=_QUIET)
settings.register_profile("soak", max_examples=2000, deadline=None, suppress_health_check=_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


@pytest.fixture(scope="module", autouse=True)
def _forget_programs():
    """Compiled programs of a finished module would otherwise fill the memory of a small machine."""
    yield
    jax.clear_caches()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder with the measured recordings; tests that need it are skipped without it."""
    folder = os.environ.get("UNMIXNET_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set UNMIXNET_DATA to the folder with the recordings")
    return Path(folder)


# ---------------------------------------------------------------- the record of the long counts


@pytest.fixture
def measured(record_property):
    """Note a measured number beside the outcome of a test: `measured(what, value)`."""
    return lambda what, value: record_property("measured", {"what": what, "value": value})


_SOAK: list[dict] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep what the long counts measured."""
    if report.when == "call" and "soak" in report.keywords:
        numbers = [value for key, value in report.user_properties if key == "measured"]
        _SOAK.append(
            {
                "name": report.nodeid.split("::")[-1],
                "outcome": report.outcome,
                "seconds": round(report.duration, 2),
                "measured": numbers,
            }
        )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write studies/results/soak.json after a session of long counts."""
    if _SOAK and not hasattr(session.config, "workerinput"):
        from tests.soak_record import record
        from unmixnet.files.provenance import provenance

        root = session.config.rootpath
        record(root / "studies" / "results" / "soak.json", _SOAK, root / "tests", provenance("make soak"))
