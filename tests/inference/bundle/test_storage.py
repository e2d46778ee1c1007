"""A bundle comes back from disk as it was; anything else is refused."""

import dataclasses
import json
import shutil
import time

import numpy as np
import pytest

from tests.files.damage import undetected
from unmixnet.errors import ConfigError
from unmixnet.files import Artefact, ArtefactError, read_artefact, write_artefact
from unmixnet.inference.bundle import load_bundle, save_bundle
from unmixnet.model.predict import encode, respond

from . import tiny

Y = np.random.default_rng(0).normal(size=(3, 10, 3)).astype(np.float32)


def test_predictions_after_a_round_trip_are_the_same_to_the_last_bit(bundle, tmp_path):
    digest = save_bundle(tmp_path / "copy", bundle)
    again = load_bundle(tmp_path / "copy")
    assert digest == bundle.digest == again.digest
    one, two = encode(bundle.model, Y), encode(again.model, Y)
    for name in ("a", "z_logits", "h_Y", "log_strength"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    for field in ("spec", "preprocessing", "calibration", "card", "recordings", "training"):
        assert getattr(bundle, field) == getattr(again, field)


def test_twin_a_changed_weight_changes_the_digest_and_the_prediction(bundle, tmp_path):
    import equinox as eqx

    bent = eqx.tree_at(lambda m: m.species, bundle.model, bundle.model.species + 0.1)
    assert save_bundle(tmp_path / "bent", dataclasses.replace(bundle, model=bent)) != bundle.digest
    assert not np.array_equal(encode(load_bundle(tmp_path / "bent").model, Y).a, encode(bundle.model, Y).a)


def test_baselines_are_stored_as_well(tmp_path):
    made = tiny.baseline()
    save_bundle(tmp_path / "copy", made)
    again = load_bundle(tmp_path / "copy")
    np.testing.assert_array_equal(respond(made.model, Y).logits, respond(again.model, Y).logits)
    assert not again.has_solver and tiny.bundle().has_solver


def test_loading_takes_less_than_a_second(bundle):
    load_bundle(tiny.folder() / "bundle")
    began = time.process_time()
    load_bundle(tiny.folder() / "bundle")
    assert time.process_time() - began < 1


def test_the_bundle_does_not_say_where_it_was_trained(bundle):
    text = (tiny.folder() / "bundle" / "config.json").read_text()
    assert str(tiny.folder()) not in text and json.loads(text)["config"]["data"]["folder"] is None


def test_the_card_states_purpose_data_scores_and_limits(bundle):
    for part in ("# tiny", "almond, clove, mint", "NO2, VOC, CO", "24 recordings", "mean of training", "Limits."):
        assert part in bundle.card


def test_every_corruption_is_detected(bundle, tmp_path):
    shutil.copytree(tiny.folder() / "bundle", tmp_path / "sound")
    assert undetected(tmp_path / "sound", 40, seed=0) == []


def forged(folder, change) -> None:
    """A bundle whose manifest is right and whose content is not."""
    kept = read_artefact(tiny.folder() / "bundle")
    tensors, documents = dict(kept.tensors), json.loads(json.dumps(dict(kept.documents)))
    change(tensors, documents)
    write_artefact(folder, Artefact("bundle", tensors, documents))


FORGERIES = {
    "a config of another kind": lambda t, d: d.update({"config.json": {"width": 3}}),
    "a config that is a list": lambda t, d: d.update({"config.json": []}),
    "a later format": lambda t, d: d["config.json"].update(format=2),
    "an unknown key": lambda t, d: d["config.json"]["config"]["model"].update(depth=3),
    "an unknown model": lambda t, d: d["config.json"]["config"]["model"].update(name="oracle"),
    "one component more": lambda t, d: d["config.json"]["components"].append("rose"),
    "a sensor less": lambda t, d: d["config.json"]["air"].pop(),
    "a level that is text": lambda t, d: d["config.json"]["air"].__setitem__(0, "low"),
    "no preprocessing": lambda t, d: d.pop("preprocessing.json"),
    "an unfitted preprocessing": lambda t, d: d["preprocessing.json"].update(mean=[]),
    "a preprocessing of another array": lambda t, d: d["preprocessing.json"].update(channels=["CO"]),
    "no calibration": lambda t, d: d.update({"calibration.json": None}),
    "a tensor that is NaN": lambda t, d: t.update(species=np.full_like(t["species"], np.nan)),
    "a tensor of another shape": lambda t, d: t.update(species=t["species"][:2]),
    "a tensor too few": lambda t, d: t.pop("species"),
    "a tensor too many": lambda t, d: t.update(extra=np.zeros(3, np.float32)),
    "double precision": lambda t, d: t.update(species=t["species"].astype(np.float64)),
    "another size": lambda t, d: d["config.json"]["config"]["model"].update(size="paper"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_sound_files_that_describe_no_model_are_refused(bundle, tmp_path, name):
    forged(tmp_path / "forged", FORGERIES[name])
    with pytest.raises(ArtefactError):
        load_bundle(tmp_path / "forged")


def test_twin_the_forger_alone_breaks_nothing(bundle, tmp_path):
    forged(tmp_path / "forged", lambda tensors, documents: None)
    assert load_bundle(tmp_path / "forged").digest == bundle.digest


def test_a_checkpoint_is_no_bundle(tmp_path):
    write_artefact(tmp_path / "c", Artefact("checkpoint", {"x": np.zeros(2, np.float32)}, {}))
    with pytest.raises(ArtefactError, match="expected a 'bundle'"):
        load_bundle(tmp_path / "c")


def test_parts_that_do_not_fit_together_are_refused(bundle):
    with pytest.raises(ConfigError, match="3 components"):
        dataclasses.replace(bundle, calibration=dataclasses.replace(bundle.calibration, prior=(1.0,)))


@pytest.mark.soak
def test_two_thousand_corrupted_bundles_are_all_detected(bundle, tmp_path, measured):
    shutil.copytree(tiny.folder() / "bundle", tmp_path / "sound")
    passed = undetected(tmp_path / "sound", 2000, seed=1)
    measured("corrupted bundles that were detected", 2000 - len(passed))
    assert not passed
