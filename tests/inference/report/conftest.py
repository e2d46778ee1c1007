"""Answers that several tests look at, made once."""

import pytest

from unmixnet.inference.report import Answer

from .synthetic_answers import empty, made_up, nothing, unlike


@pytest.fixture(scope="session")
def mixture() -> Answer:
    return made_up()


@pytest.fixture(scope="session")
def every_kind(mixture) -> dict[str, Answer]:
    """Answers of every verdict, and one of nothing at all."""
    return {"mixture": mixture, "nothing": nothing(), "unlike": unlike(), "empty": empty()}
