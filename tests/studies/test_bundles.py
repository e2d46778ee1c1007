"""A bundle of a study is calibrated by another model only where it was trained again on all recordings."""

from types import SimpleNamespace

import pytest

from studies.harness.jobs import Options
from studies.harness.variants import UNMIXNET
from studies.harness.work import Facts
from studies.smellnet import bundles


@pytest.mark.parametrize(("refit", "validation", "judged"), [(True, 1, True), (False, 1, False), (True, None, False)])
def test_the_judge_is_the_model_itself_unless_it_was_trained_again(monkeypatch, refit, validation, judged):
    training = SimpleNamespace(refit=refit)
    bench = SimpleNamespace(
        config=SimpleNamespace(training=training), prepared=SimpleNamespace(validation=validation), recordings=()
    )
    job = SimpleNamespace(variant=UNMIXNET, seed=0)
    monkeypatch.setattr(bundles, "study_folds", lambda *_, **__: [None])
    monkeypatch.setattr(bundles, "fold_jobs", lambda *_: [job])
    monkeypatch.setattr(bundles, "config_of", lambda *_: None)
    monkeypatch.setattr(bundles, "NetworkBench", lambda *_: bench)
    monkeypatch.setattr(bundles, "trained", lambda *_, judge=False: object())
    monkeypatch.setattr(bundles, "make_bundle", lambda name, prepared, fit, recordings: fit)
    study, work = (
        SimpleNamespace(protocols=(), groups=None),
        SimpleNamespace(read=lambda _: SimpleNamespace(facts=Facts())),
    )
    fit = bundles.bundle_of(study, None, work, Options(), name="it")
    assert (fit.before_refit is not fit.model) == judged
