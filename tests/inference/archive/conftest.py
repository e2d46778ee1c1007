"""The tiny bundle, and a stand-in for its network where only the bookkeeping is under test."""

import numpy as np
import pytest

from tests.inference.bundle import tiny
from tests.inference.bundle.tiny import shared_home  # noqa: F401
from unmixnet.inference.archive import task
from unmixnet.inference.archive.task import Answerer
from unmixnet.inference.bundle import Bundle
from unmixnet.inference.evidence import Evidence


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    return tiny.bundle()


class Quick(Answerer):
    """Answers with the shares of the channels' squares: as telling of the window as a network, and nothing compiles."""

    def _evidence(self, Y: np.ndarray) -> list[Evidence]:
        power = (Y**2).mean(axis=1) + 1e-3
        M, width = Y.shape[2], len(self.bundle.calibration.novelty.embedding.centre)
        ratios = power[:, : len(self.bundle.components)]
        return [
            Evidence(a[None] / a.sum(), a[None], np.zeros(width), np.zeros(3 * M), np.ones(M), y.mean(0)[None], a[None])
            for a, y in zip(ratios, Y, strict=True)
        ]


@pytest.fixture
def quick(monkeypatch, bundle) -> Bundle:
    """The bundle, answered for by the stand-in."""
    monkeypatch.setattr(task, "_answerer", lambda model, digest: Quick(bundle))
    return bundle
