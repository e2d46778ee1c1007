"""A JSON value has one spelling, and what JSON would change in silence is refused."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmixnet.files import ArtefactError
from unmixnet.files.canonical_json import DEEPEST, decode, decode_canonical, encode

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


def nested(depth: int) -> list:
    value: list = []
    for _ in range(depth - 1):
        value = [value]
    return value


@given(VALUES)
def test_every_value_comes_back_equal(value):
    assert decode_canonical(encode(value, "x.json"), "x.json") == value


@given(st.dictionaries(st.text(max_size=4), st.integers(), min_size=2, max_size=5), st.randoms())
def test_the_order_of_keys_does_not_matter(value, random):
    keys = list(value)
    random.shuffle(keys)
    assert encode({key: value[key] for key in keys}, "x.json") == encode(value, "x.json")


@pytest.mark.parametrize("indent", [None, 1])
def test_another_spelling_of_the_same_value_is_refused(indent):
    value = {"b": [1, 2.5], "a": "θ"}
    raw = json.dumps(value, indent=indent).encode()
    assert decode(raw, "x.json") == value
    with pytest.raises(ArtefactError, match="canonical"):
        decode_canonical(raw, "x.json")


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        [float("inf")],
        {1: "a"},
        {"a": {None: 1}},
        np.float32(1),
        np.int64(1),
        np.zeros(2),
        {1, 2},
        b"bytes",
        object(),
        "\ud800",
        {"\udfff": 1},
        10**5000,
        nested(DEEPEST + 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_json_cannot_hold_is_refused_at_writing(value):
    with pytest.raises(ArtefactError) as caught:
        encode(value, "config.json")
    assert caught.value.where == "config.json" and caught.value.remedy


def test_twin_json_itself_would_change_keys_in_silence():
    assert json.loads(json.dumps({1: "a"})) != {1: "a"}


def test_a_value_that_contains_itself_is_refused():
    value: list = []
    value.append(value)
    with pytest.raises(ArtefactError, match="nested"):
        encode(value, "config.json")


def test_the_deepest_value_that_can_be_written_can_be_read():
    assert decode_canonical(encode(nested(DEEPEST), "x.json"), "x.json") == nested(DEEPEST)


def test_brackets_in_text_are_no_nesting():
    value = {"text": "[" * 500 + '"\\' + "{" * 500}
    assert decode_canonical(encode(value, "x.json"), "x.json") == value


def test_a_tuple_becomes_a_list():
    assert encode({"shape": (1, 2)}, "x.json") == b'{"shape":[1,2]}\n'
