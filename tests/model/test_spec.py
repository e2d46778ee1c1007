"""What a trained model is, without its weights."""

import pytest

from unmixnet.errors import ConfigError
from unmixnet.model.settings import Settings
from unmixnet.model.spec import ModelSpec, build_model

TABLES = {
    "model": {"name": "unmixnet", "size": "small", "rate_Hz": 2.0, "step_s": 1.0},
    "data": {"task": "ratios", "window_s": 10.0, "stride_s": 5.0},
}


def spec(**model) -> ModelSpec:
    tables = TABLES | {"model": TABLES["model"] | model}
    return ModelSpec.of(tables, ("mango", "pear"), ("CO",), air=(0.0,), sign=(1.0,))


def test_what_a_file_leaves_out_is_the_default_of_the_settings():
    assert spec().settings == Settings()
    assert (spec().window, spec().stride) == (20, 10)


def test_an_unknown_setting_is_answered_with_the_nearest():
    with pytest.raises(ConfigError, match=r"unknown settings dropuot.* Did you mean 'dropout'"):
        spec(dropuot=0.1)


def test_an_unknown_network_is_answered_with_those_that_there_are():
    with pytest.raises(ConfigError, match=r"no network 'perceptron'.* unmixnet, mlp"):
        build_model(spec(name="perceptron"), seed=0)


def test_components_that_repeat_or_channels_without_a_level_are_refused():
    with pytest.raises(ConfigError, match="1 different"):
        ModelSpec.of(TABLES, ("mango", "mango"), ("CO",), air=(0.0,), sign=(1.0,))
    with pytest.raises(ConfigError, match="2 channels"):
        ModelSpec.of(TABLES, ("mango", "pear"), ("CO", "VOC"), air=(0.0,), sign=(1.0,))
