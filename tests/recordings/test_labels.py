"""Recipes in file names."""

import pytest

from unmixnet.recordings.codes import Code
from unmixnet.recordings.labels import COMPONENTS, SUBSTANCES, label_of_file, parse_label, parse_recipe


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("almond_50_apple_50", {"almond": 0.5, "apple": 0.5}),
        ("Orange20_Clove80", {"orange": 0.2, "clove": 0.8}),
        ("almond", {"almond": 1.0}),
        ("Orange_100", {"orange": 1.0}),
        ("banana100", {"banana": 1.0}),
        ("almond10_orange30_clove60", {"almond": 0.1, "orange": 0.3, "clove": 0.6}),
        ("strawberry33_clove33_coriander33", {"strawberry": 1 / 3, "clove": 1 / 3, "coriander": 1 / 3}),
        ("brazil_nut", {"brazil_nut": 1.0}),
        ("brazil_nut_20_almond_80", {"brazil_nut": 0.2, "almond": 0.8}),
    ],
)
def test_a_recipe_is_read_in_all_its_spellings(text: str, expected: dict):
    mixture = parse_recipe(text)
    assert mixture is not None
    assert dict(zip(mixture.names, mixture.ratios, strict=True)) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", "50", "almond50_50", "almond_0", "almond50_almond50", "run-7", "a b"])
def test_what_spells_no_recipe_gives_none(text: str):
    assert parse_recipe(text) is None


def test_the_folder_is_never_asked_for_the_label():
    label, _ = label_of_file("test_unseen/cumin80_peach20/banana80_peach20.61n.ingestion-x.csv", COMPONENTS)
    assert label is not None and label.support == {"banana", "peach"}


def test_a_second_recipe_in_the_name_is_a_conflict():
    label, findings = label_of_file("banana80_mango20.banana80_peach20.61nov657.ingestion-x.csv", COMPONENTS)
    assert label is not None and label.support == {"banana", "mango"}
    assert [finding.code for finding in findings] == [Code.LABEL_CONFLICT]


def test_an_id_that_looks_like_a_word_is_no_conflict():
    _, findings = label_of_file("almond.dcfaebcdaefb.csv", SUBSTANCES)
    assert findings == ()


def test_an_unknown_substance_gives_no_label_and_a_note():
    label, findings = label_of_file("unobtainium.x.csv", COMPONENTS)
    assert label is None and findings[0].code is Code.NO_LABEL


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2-butanone:50 + acetone:50", {"2-butanone": 0.5, "acetone": 0.5}),
        ("ethanol + water", {"ethanol": 0.5, "water": 0.5}),
        ("isoamyl acetate", {"isoamyl acetate": 1.0}),
        ("2-butanone", {"2-butanone": 1.0}),
        ("almond20_clove80", {"almond": 0.2, "clove": 0.8}),
    ],
)
def test_labels_of_manifests_may_name_any_substance(text: str, expected: dict):
    mixture = parse_label(text)
    assert mixture is not None
    assert dict(zip(mixture.names, mixture.ratios, strict=True)) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["a:50 + a:50", "a:x", "+", "a:-1", "almond50_50"])
def test_a_label_that_cannot_be_meant_gives_none(text: str):
    assert parse_label(text) is None
