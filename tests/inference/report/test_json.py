"""JSON: one object, no NaN, the numbers of the answer."""

import dataclasses
import json

import numpy as np
import pytest

from unmixnet.inference.report import ClosureReport, to_json

from .hostile import HOSTILE


def strict(text: str):
    """Parse as a strict program would: NaN and Infinity are not JSON."""

    def refuse(word: str):
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("kind", ["mixture", "nothing", "unlike", "empty"])
@pytest.mark.parametrize("states", [False, True])
def test_the_answer_is_one_strict_json_object(every_kind, kind, states):
    read = strict(json.dumps(to_json(every_kind[kind], states=states), allow_nan=False))
    assert isinstance(read, dict) and ("states" in read) == states
    assert read["verdict"] == str(every_kind[kind].verdict) and read["trusted"] == every_kind[kind].trusted


def test_what_does_not_exist_is_null(mixture):
    holed = mixture.measured.copy()
    holed[3, 2] = np.nan
    lost = dataclasses.replace(
        mixture,
        measured=holed,
        low=np.full(12, np.nan),
        strength=np.inf,
        novelty=np.nan,
        closure=ClosureReport(np.nan, np.inf, 0.0, 0.0),
    )
    read = strict(json.dumps(to_json(lost, states=True), allow_nan=False))
    assert read["strength"] is None and read["novelty"] is None and read["closure"]["flux_residual"] is None
    assert read["traces"]["measured"][3][2] is None and read["components"][0]["low"] is None


def test_twin_nan_left_in_would_be_refused(mixture):
    whole = to_json(mixture) | {"fit": float("nan")}
    with pytest.raises(ValueError):
        json.dumps(whole, allow_nan=False)
    with pytest.raises(ValueError, match="not JSON"):
        strict(json.dumps(whole))


def test_the_numbers_survive(mixture):
    read = to_json(mixture, states=True)
    assert [c["name"] for c in read["components"][:3]] == ["strawberry", "mango", "clove"]
    assert [c["share"] for c in read["components"]] == pytest.approx(np.sort(mixture.ratios)[::-1], abs=5e-5)
    assert np.array(read["traces"]["reconstructed"]) == pytest.approx(mixture.reconstructed, rel=1e-5)
    assert np.array(read["windows"]["ratios"]) == pytest.approx(mixture.window_ratios, abs=5e-5)
    assert np.array(read["states"]["flux_mol_m2_s"]) == pytest.approx(
        mixture.states.flux_mol_m2_s, rel=1e-5, abs=1e-300
    )


def test_long_recordings_keep_their_times(mixture):
    late = dataclasses.replace(mixture, time_s=mixture.time_s + 604800.0)
    assert np.diff(to_json(late)["traces"]["time_s"]) == pytest.approx(0.1, abs=1e-6)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_names_come_back_as_they_were(mixture, name):
    odd = dataclasses.replace(mixture, recording=name, channels=(name, *mixture.channels[1:]))
    read = strict(json.dumps(to_json(odd), allow_nan=False, ensure_ascii=False).encode("utf-8").decode("utf-8"))
    assert read["recording"] == read["traces"]["channels"][0]
    if "\udc80" not in name:
        assert read["recording"] == name
