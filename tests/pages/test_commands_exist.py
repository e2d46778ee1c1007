"""Every command in README and docs exists, and somebody runs it: the short ones here, the long ones in `make soak`."""

import re

import pytest

from tests.pages.command_syntax import APPS, short_of_words, unknown, whole
from tests.pages.page_text import ROOT, everywhere, in_blocks, in_sentences
from tests.pages.plans import CHECKOUT, INSTALL, LIVE, LONG, PLANS, QUICK, plan_of

BLOCKS, SENTENCES = everywhere(in_blocks), everywhere(in_sentences)


def test_pages_have_commands():
    assert len(BLOCKS) > 30 and len(SENTENCES) > 20


@pytest.mark.parametrize("command", [command for command in BLOCKS if command.startswith(APPS)])
def test_a_command_of_a_block_is_one_that_the_program_takes(command):
    assert unknown(command) == ""


@pytest.mark.parametrize("command", [command for command in SENTENCES if command.startswith(APPS)])
def test_a_command_of_a_sentence_exists(command):
    assert unknown(command) == "" or short_of_words(command), "a sentence need not say everything"


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("unmixnet unmixx FILE.csv", "no command"),
        ("unmixnet unmix FILE.csv --reports out", "--reports"),
        ("unmixnet live --port many", "integer"),
    ],
)
def test_twin_a_misspelt_command_is_noticed(command, problem):
    assert problem in unknown(command)


def test_every_make_target_of_the_pages_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {command.split()[1] for command in (*BLOCKS, *SENTENCES) if command.startswith("make ")}
    assert named and named <= targets


# ---------------------------------------------------------------- somebody runs them


def alone(commands: list[str]) -> list[str]:
    """Commands that no test runs."""
    return [command for command in commands if plan_of(command) is None]


def test_every_command_is_run_by_somebody():
    assert alone([*BLOCKS, *filter(whole, SENTENCES)]) == [], "add a line to tests/pages/plans.py"


PAGE = """
    python -m studies dreams    # nobody knows it

```console
$ curl https://example.org/install \\
    --output it
It is installed.
```

```bash
# a comment
docker run it
```

Then `python -m studies bench dreams`, `git clone` and `unmixnet unmix`, a name; `unmixnet check FILE…` is known.
"""


def test_twin_a_command_that_nobody_runs_is_noticed_wherever_it_stands():
    assert alone(in_blocks(PAGE)) == [
        "curl https://example.org/install --output it",
        "docker run it",
        "python -m studies dreams",
    ]
    assert alone([*filter(whole, in_sentences(PAGE))]) == ["python -m studies bench dreams", "git clone"]


def test_every_plan_is_still_needed_and_has_a_test():
    plans = [plan_of(command) for command in (*BLOCKS, *SENTENCES)]
    assert [plan.starts for plan in PLANS if plan not in plans] == []
    assert {plan.how for plan in PLANS} == {QUICK, LONG, LIVE, CHECKOUT, INSTALL}
