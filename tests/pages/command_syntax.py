"""What the program takes of a command, without running it."""

import shlex

from typer.main import get_command

from studies.__main__ import app as studies
from tests.pages.plans import NAMES, STANDS_FOR
from unmixnet.cli import app

APPS = ("unmixnet ", "python -m studies ")
"""What a command of ours starts with: the library's, and that of the studies."""


def unknown(command: str) -> str:
    """What the program does not know about a command; nothing if it would take it."""
    of_studies = command.startswith(APPS[1])
    words = [STANDS_FOR.get(word, word) for word in shlex.split(command)[3 if of_studies else 1 :] if word != "…"]
    part = get_command(studies if of_studies else app)
    while words and hasattr(part, "commands"):
        if words[0] == "--help":
            return ""
        if words[0] not in part.commands:  # pyright: ignore
            return f"there is no command {words[0]}"
        part = part.commands[words.pop(0)]  # pyright: ignore
    if hasattr(part, "commands") or "--help" in words:
        return ""
    try:
        part.make_context(command, words)
    except Exception as error:
        return str(error)
    return ""


def short_of_words(command: str) -> bool:
    """Whether a command wants an argument that is not there: a sentence may speak of it so."""
    return any(word in unknown(command) for word in ("Missing", "requires an argument"))


def whole(command: str) -> bool:
    """Whether a sentence says all of a command, so that one could type it."""
    left_out = "…" in shlex.split(command) or command in NAMES
    return not left_out and not (command.startswith(APPS) and short_of_words(command))
