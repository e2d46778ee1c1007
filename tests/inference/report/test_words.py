"""The sentences say what the numbers say."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmixnet.inference.report import ClosureReport, Verdict, headline
from unmixnet.inference.report.formatting import factor, interval, percent, power, scientific
from unmixnet.inference.report.words import (
    caution,
    explained,
    familiarity_words,
    fit_words,
    laws,
    leading,
    strength_words,
)

from .synthetic_answers import CLOSED, made_up

NAMES = ("strawberry", "mango", "clove", "pear")


def shares(*ratios: float, width: float = 0.05, presence: float = 0.99):
    """An answer with these shares, intervals of this half-width, and all components present that have a share."""
    r = np.array(ratios)
    there = np.where(r > 0, presence, 0.01)
    return made_up(r, NAMES[: len(r)], low=np.maximum(r - width, 0), high=np.minimum(r + width, 1), presence=there)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (shares(0.62, 0.30, 0.08), "Mostly strawberry (62 %), with some mango (30 %) and a little clove (8 %)"),
        (shares(0.30, 0.62, 0.08), "Mostly mango (62 %), with some strawberry (30 %) and a little clove (8 %)"),
        (shares(0.62, 0.38, width=0.2), "Probably mostly strawberry (62 %), with some mango (38 %)"),
        (shares(0.48, 0.44, 0.04, 0.04), "Strawberry (48 %) and mango (44 %), too close to say which is more"),
        (shares(0.4, 0.35, 0.25), "A mixture of strawberry (40 %), mango (35 %) and clove (25 %)"),
        (shares(1.0), "Strawberry, the only component that the model knows"),
        (shares(0.97, 0.03), "Almost pure strawberry (97 %)"),
        (shares(0.7, 0.3, presence=0.2), "Mostly strawberry (70 %)"),
        (shares(0.6, 0.4, width=0.6), "Not clear; the best guess is strawberry (60 %) and mango (40 %)"),
    ],
)
def test_the_headline_is_one_sentence_from_the_shares(answer, said):
    assert headline(answer) == said


def test_many_components_are_called_many():
    many = made_up(np.append(0.2, np.full(20, 0.04)), tuple(f"c{i}" for i in range(21)))
    assert "stands out" in headline(many)
    flat = made_up(np.full(50, 0.02), tuple(f"c{i}" for i in range(50)))
    assert headline(flat).startswith("No component stands out")
    led = made_up(np.array([0.2, 0.16, *np.full(16, 0.04)]), tuple(f"c{i}" for i in range(18)))
    assert headline(led) == "A mixture of many, led by c0 (20 %) and c1 (16 %)"


def test_a_verdict_takes_the_place_of_the_shares(every_kind):
    assert headline(every_kind["nothing"]) == "Nothing above background"
    assert headline(every_kind["unlike"]) == "Unlike anything I was trained on"
    for name in ("nothing", "unlike"):
        assert "should not be trusted" in caution(every_kind[name])
        assert not any(component in headline(every_kind[name]) for component in every_kind[name].components)


def test_twin_a_mixture_carries_no_caution(mixture):
    assert caution(mixture) == "" and "strawberry" in headline(mixture)


@pytest.mark.parametrize("verdict", Verdict)
def test_the_verdict_is_said_in_its_own_words(mixture, verdict):
    said = headline(dataclasses.replace(mixture, verdict=verdict)).lower()
    assert (verdict.lower() in said) == (verdict is not Verdict.MIXTURE)


@given(share=st.floats(0.0, 1.0), lag=st.floats(-3.0, 3.0))
def test_what_is_explained_is_the_share_of_variance(share, lag):
    t = np.linspace(0, 6 * np.pi, 600, endpoint=False)
    wave = np.sin(t)[:, None] * np.ones(4)
    answer = dataclasses.replace(made_up_once(), measured=wave + lag, reconstructed=share * wave + lag)
    total, each = explained(answer)
    assert total == pytest.approx(1 - (1 - share) ** 2, abs=1e-9)
    assert each == pytest.approx(np.full(4, total), abs=1e-9)


def made_up_once(kept: list = []):  # noqa: B006
    if not kept:
        kept.append(made_up())
    return kept[0]


def test_a_still_trace_explains_nothing_and_a_gap_does_not_matter(mixture):
    still = dataclasses.replace(mixture, measured=np.full_like(mixture.measured, 7.0))
    assert math.isnan(explained(still)[0]) and "do not move" in fit_words(still)
    holed = mixture.measured.copy()
    holed[50:60, 1] = np.nan
    assert explained(dataclasses.replace(mixture, measured=holed))[0] == pytest.approx(explained(mixture)[0], abs=0.01)


def test_twin_a_wrong_reconstruction_is_not_called_an_explanation(mixture):
    wrong = dataclasses.replace(mixture, reconstructed=2 * mixture.measured.mean(axis=0) - mixture.measured)
    assert fit_words(wrong) == "The physics does not explain the signal."
    assert fit_words(mixture) == "The physics explains 99 % of the signal."


def test_mass_is_conserved_to_its_error():
    held = {law.name: law for law in laws(CLOSED)}
    assert held["Mass balance"].sentence == "mass is conserved to 3e-16"
    assert {law.state for law in held.values()} == {"closes"}


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(ClosureReport)])
@pytest.mark.parametrize(
    ("violation", "state"), [(1e-3, "nearly"), (0.2, "open"), (math.nan, "open"), (math.inf, "open")]
)
def test_twin_each_broken_law_is_seen(field, violation, state):
    broken = [law for law in laws(dataclasses.replace(CLOSED, **{field: violation})) if law.state != "closes"]
    assert [law.state for law in broken] == [state]


def test_strength_and_familiarity_in_words(mixture):
    assert strength_words(mixture).startswith("1.4 times as strong as a typical training recording")
    assert strength_words(dataclasses.replace(mixture, strength=1.1)).startswith("As strong as")
    assert "ordinary: 41 %" in familiarity_words(mixture)
    assert "strange: 0.2 %" in familiarity_words(dataclasses.replace(mixture, novelty=0.002))
    assert "strange: None" in familiarity_words(dataclasses.replace(mixture, novelty=0.0))
    lost = dataclasses.replace(mixture, strength=math.nan, novelty=math.nan)
    assert "not known" in strength_words(lost) and "not known" in familiarity_words(lost)


def test_the_leading_components_are_few_and_in_order(mixture):
    assert [mixture.components[k] for k in leading(mixture)] == ["strawberry", "mango", "clove"]
    flat = made_up(np.full(50, 0.02), tuple(f"c{i}" for i in range(50)), presence=np.ones(50))
    assert leading(flat, 6) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (percent(0.624), "62 %"),
        (percent(0.001), "<1 %"),
        (percent(0.999), ">99 %"),
        (percent(0.0), "0 %"),
        (percent(1.0), "100 %"),
        (percent(math.nan), "–"),
        (interval(0.512, 0.719), "51–72 %"),
        (interval(0.511, 0.512), "51 %"),
        (interval(math.nan, 0.5), "–"),
        (factor(1.38), "1.4"),
        (factor(0.0423), "0.042"),
        (factor(123.0), "120"),
        (scientific(3.1e-16), "3e-16"),
        (scientific(0.0), "0"),
        (scientific(0.2), "0.2"),
        (power(3.1e-16), "3 × 10<sup>−16</sup>"),
        (power(0.0), "0"),
    ],
)
def test_numbers_read_like_this(shown, said):
    assert shown == said


def test_a_signal_that_is_nearly_nothing_has_no_digits_to_count(every_kind):
    faint = dataclasses.replace(every_kind["nothing"], strength=9.9e-5)
    assert strength_words(faint).startswith("Not a hundredth as strong as a typical training recording")
    assert "not a hundredth as strong" in caution(faint)
