"""UnMixNet taught by UCI episodes: what it calls a concentration, and that teaching helps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from studies.uci.episodes import series_of, splits_of
from studies.uci.estimates import score_rows
from studies.uci.supervised import released, supervised_unmixnet
from studies.uci.transfer import provider, run_transfer, untrained
from tests.studies.uci.test_dynamic import recording
from unmixnet.inference.bundle import load_model
from unmixnet.model.encoder import Inference


def test_a_concentration_is_strength_times_presence_times_share():
    logits = jnp.array([[9.0, -40.0, 9.0]])
    a = jnp.array([[0.5, 0.25, 0.25]])
    one = Inference(logits[0], a[0], jnp.zeros(2), jnp.zeros((1, 2)), jnp.log(jnp.array(2.0)), jnp.ones(()))
    read = jax.tree.map(lambda leaf: leaf[None], one)
    np.testing.assert_allclose(released(read, 2), [[1.0, 0.0]], atol=1e-3)


@pytest.mark.soak
def test_teaching_beats_the_same_model_untaught(measured):
    made = recording()
    split = {split.name: split for split in splits_of(series_of(made, "made up"), made)}["forward"]
    bundle = load_model("smellnet-mixture")
    taught = supervised_unmixnet(bundle, steps=400)(split)
    scores = {}
    for name, states in (("taught", taught), ("untaught", provider(untrained(bundle), split.calibration))):
        estimate = run_transfer(split, name, states, (0, 1))
        rows = {row.metric: row.mean for row in score_rows(split, estimate, (0, 1), "made up")}
        scores[name] = rows["R²"]
        measured(f"R² of {name} UnMixNet on a made-up recording", rows["R²"])
    assert scores["taught"] > 0.8
    assert scores["taught"] > scores["untaught"] + 0.1
