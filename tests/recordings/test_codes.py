"""Every code is documented, and every code is given by something."""

import re
from pathlib import Path

import pytest

import unmixnet.recordings
from unmixnet.recordings.codes import ChannelHealth, Code, markdown

ROOT = Path(__file__).parents[2]


def test_the_page_of_codes_is_what_the_program_says():
    written = (ROOT / "docs" / "codes.md").read_text(encoding="utf-8")
    assert written == markdown(), "regenerate docs/codes.md from unmixnet.recordings.codes.markdown()"


@pytest.mark.parametrize("code", list(Code))
def test_every_code_is_one_documented_line(code: Code):
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code.value)
    assert code.meaning and "\n" not in code.meaning
    assert code.severity in ("note", "warning", "refusal")


@pytest.mark.parametrize("code", list(Code))
def test_every_code_is_given_somewhere(code: Code):
    folder = Path(unmixnet.recordings.__file__).parent
    sources = "".join(path.read_text() for path in folder.rglob("*.py") if path.name != "codes.py")
    from_health = code.value.replace("-", "_") in [health.value for health in ChannelHealth]
    assert f"Code.{code.name}" in sources or from_health


@pytest.mark.parametrize("health", [health for health in ChannelHealth if health is not ChannelHealth.OK])
def test_every_ill_health_has_a_code_of_its_own(health: ChannelHealth):
    assert Code(health.value.replace("_", "-")).severity == "warning"
