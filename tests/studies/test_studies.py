"""Studies: every table has its null baselines, every variant changes what it says, folds stay clean."""

import dataclasses

import jax
import jax.numpy as jnp
import pytest
from pydantic import ValidationError

from studies.harness.definitions import STUDIES, chosen, grouped, study_folds
from studies.harness.jobs import Options, config_of, fold_jobs, idle, task_of
from studies.harness.variants import ABLATIONS, BASELINES, UNMIXNET, Classical, Inverse, Network, changed
from unmixnet.errors import ConfigError
from unmixnet.model.predict import predict_ratios
from unmixnet.model.spec import build_model
from unmixnet.recordings.datasets import load_dataset
from unmixnet.recordings.pieces import Fold, Piece
from unmixnet.recordings.protocols import Protocol
from unmixnet.recordings.samples import Task
from unmixnet.training.recipes import recipe

ALL = [study for studies in STUDIES.values() for study in studies]
WHOLE = [study for study in ALL if study not in STUDIES["ablation"]]
AIR = {"air": (0.0,) * 4, "sign": (1.0,) * 4}


@pytest.mark.parametrize("study", WHOLE, ids=lambda study: study.name)
def test_every_table_has_its_null_baselines_and_every_model(study):
    classical = {v.peer for v in study.variants if isinstance(v, Classical)}
    nulls = {"chance", "1-NN"} if task_of(study) is Task.CLASSES else {"chance", "mean", "1-NN"}
    assert nulls | {"extra-trees", "ridge"} <= classical
    names = [v.name for v in study.variants]
    assert {v.name for v in (*BASELINES, UNMIXNET)} <= set(names)
    assert len(names) == len(set(names))


def test_ablations_and_the_inverse_are_studied_where_the_truth_is_known():
    for study in STUDIES["simulated"]:
        assert {v.name for v in ABLATIONS} <= {v.name for v in study.variants}
        assert any(isinstance(v, Inverse) for v in study.variants)


@pytest.mark.parametrize("variant", [*ABLATIONS, *BASELINES], ids=lambda v: v.name)
@pytest.mark.parametrize("study", [STUDIES["simulated"][0], STUDIES["smellnet"][0]], ids=lambda study: study.name)
def test_a_variant_differs_from_the_recipe_in_what_it_says_and_in_nothing_else(study, variant):
    whole = dataclasses.replace(study, variants=(UNMIXNET, variant))
    plain = config_of(study, UNMIXNET, Options()).model_dump()
    other = config_of(study, variant, Options()).model_dump()
    different = {
        f"{section}.{key}"
        for section, values in other.items()
        for key, value in values.items()
        if value != plain[section][key]
    }
    assert different <= set(variant.changes)
    assert idle(whole, Options()) == ([] if different else [variant.name])


def test_an_ablation_that_changes_nothing_is_not_run_and_said_to_be_idle():
    study = STUDIES["simulated"][0]
    twice = dataclasses.replace(study, variants=(UNMIXNET, Network("same", {"model.diffusion": "exact"})))
    (fold,) = study_folds(study.protocols, None)
    assert idle(twice, Options()) == ["same"]
    assert [job.variant.name for job in fold_jobs(twice, fold, Options())] == ["unmixnet"]


@pytest.mark.parametrize("variant", ABLATIONS, ids=lambda v: v.name)
def test_an_ablation_reaches_the_model(variant):
    config = config_of(STUDIES["simulated"][0], variant, Options())
    names = tuple("abcd")
    model = jax.eval_shape(lambda: build_model(config.spec(names, names, **AIR), seed=0))
    for key, value in variant.changes.items():
        section, name = key.split(".")
        assert getattr(model.settings if section == "model" else config.recipe.weights, name) == value


def test_a_size_reaches_the_model():
    names = tuple("abcd")
    width = {}
    for size in ("small", "paper"):
        config = config_of(STUDIES["simulated"][0], UNMIXNET, Options(size=size))
        width[size] = jax.eval_shape(lambda c=config: build_model(c.spec(names, names, **AIR), seed=0)).species.shape[1]
    assert width["paper"] > width["small"]


@pytest.mark.parametrize("study", [STUDIES["simulated"][1], *STUDIES["smellnet"][::5]], ids=lambda study: study.name)
@pytest.mark.parametrize("variant", [*BASELINES, UNMIXNET], ids=lambda variant: variant.name)
def test_every_model_takes_the_windows_of_every_recipe(study, variant):
    config = config_of(study, variant, Options())
    channels, names = tuple(map(str, range(6))), tuple(map(str, range(50)))
    about = {"air": (0.0,) * 6, "sign": (1.0,) * 6}

    def answer():
        return predict_ratios(build_model(config.spec(names, channels, **about), seed=0), jnp.zeros((config.window, 6)))

    assert jax.eval_shape(answer).shape == (50,)


@pytest.mark.parametrize("changes", [{"model.diffusoin": "fick"}, {"model.diffusion": "guess"}])
def test_a_change_that_means_nothing_is_refused(changes):
    with pytest.raises(ValidationError):
        changed(recipe("simulated"), changes)


def test_quick_changes_only_how_long_it_trains():
    study = STUDIES["smellnet"][0]
    plain, quick = (config_of(study, UNMIXNET, Options(quick=quick)) for quick in (False, True))
    assert quick.training.epochs < 10 < plain.training.epochs
    assert quick.data == plain.data and quick.model == plain.model and quick.objective == plain.objective


@pytest.mark.parametrize("change", [("training.schooling", 7), ("objective.rec", 0.7), ("model.step_s", 0.5)])
def test_what_is_said_of_the_physics_does_not_make_a_baseline_anew(change):
    study = STUDIES["simulated"][0]
    fold = study_folds(study.protocols, None)[0]

    def keys(options: Options) -> dict[str, str]:
        return {job.variant.name: job.key for job in fold_jobs(study, fold, options)}

    before, after = keys(Options()), keys(Options(changes=(change,)))
    assert before["mlp"] == after["mlp"]
    assert before["unmixnet"] != after["unmixnet"]


def test_twin_what_a_baseline_uses_makes_it_anew():
    study = STUDIES["simulated"][0]
    fold = study_folds(study.protocols, None)[0]
    keys = [
        {job.variant.name: job.key for job in fold_jobs(study, fold, options)}["mlp"]
        for options in (Options(), Options(changes=(("training.batch", 16),)), Options(size="paper"))
    ]
    assert len(set(keys)) == 3


def test_other_networks_see_base_as_its_authors_do_and_unmixnet_does_not():
    (study,) = chosen("smellnet", ("base",))
    networks = {v.name: config_of(study, v, Options()) for v in study.variants if isinstance(v, Network)}
    seen = {name: config.data.difference for name, config in networks.items()}
    assert seen.pop("ldac") == seen.pop("unmixnet") == 0 and set(seen.values()) == {25}
    assert max(config.data.window_s for config in networks.values()) == networks["unmixnet"].data.window_s


def test_slow_networks_have_few_seeds_where_these_take_hours():
    for study in STUDIES["smellnet"]:
        few = {v.name: v.most_seeds for v in study.variants if isinstance(v, Network) and v.most_seeds < 10}
        slow = set() if study.name in ("official", "clean", "new-session") else {"scentformer", "ldac"}
        assert set(few) == slow | ({"cnn-lstm"} if study.name.startswith("base") else set())
    study = STUDIES["simulated"][0]
    jobs = fold_jobs(study, study_folds(study.protocols, None)[0], Options(seeds=3))
    count = {name: sum(job.variant.name == name for job in jobs) for name in ("mlp", "mean", "direct inverse")}
    assert count == {"mlp": 3, "mean": 1, "direct inverse": 1}


def test_the_encoder_alone_is_trained_until_it_has_learned_something():
    (study,) = chosen("ablation", ("high-coupling",))
    epochs = {v.name: config_of(study, v, Options()).training.epochs for v in study.variants if isinstance(v, Network)}
    alone = epochs.pop("no closure")
    assert len(set(epochs.values())) == 1 and alone > 10 * epochs["unmixnet"]


def test_an_unknown_study_or_model_names_the_known_ones():
    with pytest.raises(ConfigError, match="simulated-8"):
        chosen("simulated", ("simulted",))
    with pytest.raises(ConfigError, match="scentformer"):
        chosen("simulated", (), ("scentfomer",))
    (one,) = chosen("simulated", ("simulated",), ("mlp",))
    assert [v.name for v in one.variants] == ["mlp"]


@pytest.fixture(scope="module")
def one_out() -> Protocol:
    """Every support of the simulated data left out once."""
    data = load_dataset("simulated")
    pieces = tuple(Piece(entry.path, entry.label, entry.session) for entry in data.entries)
    supports = sorted({"+".join(sorted(piece.label.support)) for piece in pieces})
    folds = [
        Fold(
            support,
            tuple(p for p in pieces if "+".join(sorted(p.label.support)) != support),
            tuple(p for p in pieces if "+".join(sorted(p.label.support)) == support),
        )
        for support in supports
    ]
    return Protocol("simulated:unseen", "", "support", data, tuple(folds))


def _mixed_up(made: Protocol) -> bool:
    """Whether a fold trains on a support that it tests, or a recording is not tested once."""
    tested = [piece.path for fold in made.folds for piece in fold.test]
    shared = any({p.label.support for p in f.train} & {p.label.support for p in f.test} for f in made.folds)
    return shared or len(tested) != len(set(tested)) or len(tested) != len(made.data.entries)


def test_grouped_folds_test_every_recording_once_after_training_on_none_of_its_support(one_out):
    joined = grouped(one_out, 6)
    assert len(joined.folds) == 6 and not _mixed_up(joined)
    sizes = [len(fold.test) for fold in joined.folds]
    assert max(sizes) - min(sizes) <= max(len(fold.test) for fold in one_out.folds)


def test_twin_groups_by_recording_would_be_seen(one_out):
    pieces = [piece for fold in one_out.folds for piece in fold.test]
    cut = [pieces[i::6] for i in range(6)]
    folds = [Fold(str(i), tuple(p for p in pieces if p not in part), tuple(part)) for i, part in enumerate(cut)]
    assert _mixed_up(dataclasses.replace(one_out, folds=tuple(folds)))


def test_protocols_that_train_on_different_recordings_are_no_study():
    (fold,) = study_folds(("simulated:seen", "simulated:unseen"), None)
    assert fold.splits == {"simulated:seen": "test_seen", "simulated:unseen": "test_unseen"}
    with pytest.raises(ConfigError, match="different recordings"):
        study_folds(("simulated:seen", "simulated-8:seen"), None)


def test_only_networks_keep_weights():
    kept = [v.name for study in WHOLE for v in study.variants if isinstance(v, Network) and v.keep]
    assert set(kept) == {"unmixnet"}
