"""A model that was trained again on all recordings is calibrated by what it was before it knew them."""

from dataclasses import replace

import numpy as np

from studies.harness.variants import changed
from tests.inference.bundle import tiny
from unmixnet.model.predict import single_precision
from unmixnet.model.spec import build_model
from unmixnet.training.calibrate_bundle import evidence_in
from unmixnet.training.make_bundle import make_bundle
from unmixnet.training.trainer import Fit


def mlp(ready, seed):
    return build_model(ready.spec, seed=seed)


def test_what_is_chosen_on_validation_recordings_is_the_judges_and_only_the_gauge_is_the_models():
    ready, sources = tiny.prepared()
    ready = replace(ready, config=changed(ready.config, {"model.name": "mlp", "training.refit": True}))
    recordings = (*sources.train, *sources.validation)
    with single_precision():
        before, after = mlp(ready, 0), mlp(ready, 1)
        plain, plain_scores = make_bundle("before", ready, Fit(before, before, 0.0, 1, 1, ()), recordings)
        refit, scores = make_bundle("after", ready, Fit(after, before, 0.0, 1, 1, ()), recordings)
        alone, alone_scores = make_bundle("twin", ready, Fit(after, after, 0.0, 1, 1, ()), recordings)
        known = evidence_in(ready, after, ready.whole().train)
    assert refit.model is after
    assert scores == plain_scores != alone_scores
    mine, judged = refit.calibration, plain.calibration
    assert mine.novelty is not None and judged.novelty is not None and alone.calibration.novelty is not None
    assert (mine.temperature, mine.intervals, mine.novelty.scores) == (
        judged.temperature,
        judged.intervals,
        judged.novelty.scores,
    )
    assert mine.novelty.scores != alone.calibration.novelty.scores
    near = [mine.novelty.embedding.distance(one.embedding) for one in known]
    far = [judged.novelty.embedding.distance(one.embedding) for one in known]
    assert np.median(near) < 1.5 < np.median(far)
    assert "trained again" in refit.card
