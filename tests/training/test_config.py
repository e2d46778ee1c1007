"""A training file is understood completely or refused with its line and a remedy."""

import inspect
import re
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

import unmixnet
from unmixnet.errors import ConfigError
from unmixnet.model.settings import Settings
from unmixnet.training.augmentation import NuisanceSpread
from unmixnet.training.config import ModelSection, TrainConfig, TrainingSection, load_training, parse_training
from unmixnet.training.epoch import TrainingPlan
from unmixnet.training.losses import Weights
from unmixnet.training.objective import BatchOptions
from unmixnet.training.recipes import recipe

ROOT = Path(__file__).parents[2]
TEXT = """
[data]
protocol = "smellnet-mixture:clean:seen"
window_s = 20.0

[model]
size = "small"
step_s = 1.0

[training]
epochs = 3
rate = 2e-3
"""


def test_what_is_not_said_is_the_default():
    config = parse_training('[data]\nprotocol = "folder:all"\n')
    assert config.settings == Settings()
    assert config.plan == TrainingPlan()
    assert config.recipe.mixing == "none"
    assert config.recipe.weights == config.objective == Weights()


def restated(section: type) -> set[str]:
    """Fields of a data class that one of its bases has already."""
    inherited = {
        item.name for base in section.__mro__[1:] if hasattr(base, "__dataclass_fields__") for item in fields(base)
    }
    return set(inspect.get_annotations(section)) & inherited


def test_every_default_stands_in_one_place():
    """Sections inherit the data classes that use their values, so that a default cannot be stated twice."""
    assert not restated(ModelSection)
    assert not restated(TrainingSection)
    assert issubclass(ModelSection, Settings)
    assert issubclass(TrainingSection, TrainingPlan)
    assert issubclass(TrainingSection, BatchOptions)
    assert TrainConfig.model_fields["objective"].annotation is Weights
    assert TrainConfig.model_fields["objective"].default == Weights()
    for item in fields(NuisanceSpread):
        assert getattr(TrainingSection(), f"virtual_{item.name}") == item.default


def test_twin_a_default_that_is_stated_again_is_noticed():
    @dataclass(frozen=True)
    class Again(Weights):
        ident: float = 0.01

    assert restated(Again) == {"ident"}


RECIPES = sorted((Path(unmixnet.__file__).parent / "training" / "recipes").glob("*.toml"))


def defaults_in(text: str) -> set[str]:
    """Keys of a training file that say what would be so without them."""
    plain = parse_training('[data]\nprotocol = "folder:all"\n').model_dump()
    tables = tomllib.loads(text).items()
    return {key for name, table in tables for key, value in table.items() if plain[name][key] == value}


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_states_only_what_differs_from_the_defaults(path):
    assert defaults_in(path.read_text("utf-8")) == set()


def test_twin_a_recipe_that_repeats_a_default_is_noticed():
    text = RECIPES[0].read_text("utf-8").replace("[training]\n", "[training]\nclip = 1.0\n")
    assert defaults_in(text) == {"clip"}


def test_the_fingerprint_loss_is_off_but_for_measured_mixtures():
    on = {path.stem: parse_training(path.read_text("utf-8")).objective.ident for path in RECIPES}
    assert {name: value for name, value in on.items() if value != Weights().ident} == {"smellnet-mixture": 0.01}


def test_a_recipe_that_does_not_exist_is_answered_with_the_nearest():
    with pytest.raises(ConfigError, match="Did you mean 'simulated'"):
        recipe("simulted")
    with pytest.raises(ConfigError, match="Use one of high-coupling"):
        recipe("../config")


def test_virtual_recordings_need_calibrated_physics():
    with pytest.raises(ConfigError, match="calibrated physics"):
        parse_training(TEXT + "virtual = 0.5\n")


def test_changes_are_for_baselines_since_the_solver_explains_the_response():
    text = TEXT.replace("window_s", "difference = 25\nwindow_s")
    with pytest.raises(ConfigError, match=r"data\.difference"):
        parse_training(text)
    config = parse_training(text.replace('size = "small"', 'name = "mlp"'))
    assert config.preprocessing(("CO",)).lags == (25,)
    assert parse_training(TEXT).preprocessing(("CO",)).lags == ()


def test_what_is_said_reaches_settings_plan_and_recipe():
    config = parse_training(
        TEXT + 'calibration = 9\nvirtual = 0.5\nteacher = 1.0\nmixing = "linear"\n[objective]\nrec = 0.7\n'
    )
    assert (config.plan.epochs, config.plan.rate) == (3, 2e-3)
    assert config.window == 40
    assert config.stride == 20
    assert (config.recipe.virtual, config.recipe.teacher, config.recipe.mixing) == (0.5, 1.0, "linear")
    assert config.recipe.weights.rec == 0.7


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("rate = 2e-3", "rte = 2e-3", "Did you mean 'rate'"),
        ("window_s = 20.0", "windows_s = 20.0", "Did you mean 'window_s'"),
        ("[model]", "[modle]", "Did you mean 'model'"),
        ('size = "small"', 'size = "huge"', "found 'huge'"),
        ("epochs = 3", "epochs = 0", "greater than 0"),
        ("epochs = 3", 'epochs = "many"', "found 'many'"),
        ("rate = 2e-3", "rate = nan", "finite number"),
    ],
)
def test_a_mistake_is_answered_with_its_line_and_a_remedy(old, new, says):
    text = TEXT.replace(old, new)
    line = next(i for i, row in enumerate(text.splitlines(), 1) if new in row)
    with pytest.raises(ConfigError) as refused:
        parse_training(text, name="my.toml")
    assert f"my.toml:{line}:" in str(refused.value)
    assert says in str(refused.value)


def test_a_key_that_resembles_nothing_is_answered_with_all_that_there_are():
    with pytest.raises(ConfigError, match=r"Use one of epochs, patience.* seed"):
        parse_training(TEXT + "zzz = 1\n")


def test_a_file_without_its_protocol_is_refused():
    with pytest.raises(ConfigError, match=r"data\.protocol: this key is missing"):
        parse_training("[data]\nfold = 1\n")


def test_a_window_without_two_steps_is_refused():
    with pytest.raises(ConfigError, match="no two steps"):
        parse_training(TEXT.replace("window_s = 20.0", "window_s = 1.5"))


def test_any_change_changes_the_tag_and_a_comment_does_not():
    tag = parse_training(TEXT).tag
    assert parse_training("# said differently\n" + TEXT).tag == tag
    for new in ("epochs = 4", "epochs = 3\nseed = 1", "epochs = 3\n[objective]\nfreq = 0.2"):
        assert parse_training(TEXT.replace("epochs = 3\nrate = 2e-3\n", new + "\n")).tag != tag


def test_a_folder_is_found_beside_the_file_that_names_it(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('[data]\nprotocol = "folder:all"\nfolder = "mine"\n', encoding="utf-8")
    assert load_training(path).data.folder == str((tmp_path / "mine").resolve())


def documented() -> list[tuple[str, str]]:
    """Training files that the documentation shows or the package brings."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    blocks = [
        (page.name, block)
        for page in pages
        for block in re.findall(r"```toml\n(.*?)```", page.read_text("utf-8"), re.S)
    ]
    files = [(path.name, path.read_text("utf-8")) for path in sorted(Path(unmixnet.__file__).parent.rglob("*.toml"))]
    return [(name, text) for name, text in blocks + files if re.search(r"^\s*protocol\s*=", text, re.M)]


def test_training_files_of_the_documentation_are_understood():
    found = documented()
    assert found
    for name, text in found:
        parse_training(text, name=name)
