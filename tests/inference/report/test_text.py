"""At the terminal: the whole answer, and nothing that the terminal would obey."""

import dataclasses
import io
import re

import numpy as np
import pytest
from rich.console import Console
from rich.markup import MarkupError
from rich.table import Table

from unmixnet.inference.report import print_answer, rows, sentences
from unmixnet.inference.report.terminal import COLUMNS, closure_sentence

from .hostile import HOSTILE
from .synthetic_answers import made_up


def printed(answer, width: int = 120) -> str:
    out = io.StringIO()
    print_answer(answer, Console(file=out, width=width, force_terminal=False))
    return out.getvalue()


def test_the_rows_name_share_interval_and_presence(mixture):
    assert len(COLUMNS) == 4
    assert rows(mixture) == [
        ["strawberry", "62 %", "50–74 %", ">99 %"],
        ["mango", "30 %", "19–42 %", ">99 %"],
        ["clove", "5 %", "0–11 %", "86 %"],
        ["9 more", "3 %", "", ""],
    ]
    assert len(rows(mixture, everything=True)) == 12


def test_the_terminal_shows_every_sentence(every_kind):
    for answer in every_kind.values():
        flat = re.sub(r"\s+", " ", printed(answer))
        assert all(sentence in flat for sentence in sentences(answer))


def test_the_closure_is_said_like_this(mixture):
    assert "mass is conserved to 3e-16" in closure_sentence(mixture)


def test_twin_a_leak_of_mass_is_said_first(mixture):
    leaking = dataclasses.replace(mixture, closure=dataclasses.replace(mixture.closure, mass_error=0.03))
    assert closure_sentence(leaking) == "The physics does not close: mass balance is off by 0.03."


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_printed_and_not_obeyed(name):
    odd = made_up(np.array([0.7, 0.3]), (name, "mango"), findings=(name,))
    text = printed(odd, width=8000)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    assert rows(odd)[0][0] in text


def test_twin_markup_in_a_name_would_be_obeyed_without_care():
    careless = Table("component")
    careless.add_row("[/bold]")
    with pytest.raises(MarkupError):
        Console(file=io.StringIO()).print(careless)
