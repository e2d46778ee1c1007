"""What README and docs tell the reader to type: commands of blocks and of sentences, and blocks of Python and TOML."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "firmware/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
)
PROGRAMS = ("unmixnet", "python", "make", "pip", "pipx", "ray", "git", "npm", "mkdocs", "pytest", "curl", "sudo")
"""Their lines are commands also where no `$ ` stands before them."""
SHELLS = ("bash", "sh", "shell")
_FENCE = re.compile(r"^ *```+ *\{?\.?(\w*)\}?[^\n]*\n(.*?)^ *```+ *$", re.DOTALL | re.MULTILINE)
_STARTS = re.compile(rf"(?:{'|'.join(PROGRAMS)}) ")


def in_blocks(page: str) -> list[str]:
    """Commands that stand in blocks, fenced or indented, without comments."""
    lines = [line for language, block in _FENCE.findall(page) for line in _lines(language, block)]
    rest = _FENCE.sub("", page)
    lines += [line.strip() for line in _joined(rest) if line.startswith("    ") and _STARTS.match(line.strip())]
    return [plain(line) for line in lines]


def _lines(language: str, block: str) -> Iterator[str]:
    typed = language in SHELLS
    for line in _joined(block):
        if line.startswith("$ "):
            yield line[2:]
        elif (typed and line.strip() and not line.startswith("#")) or (not language and _STARTS.match(line)):
            yield line


def _joined(text: str) -> list[str]:
    return re.sub(r"\\\n\s*", "", text).splitlines()


def in_sentences(page: str) -> list[str]:
    """Commands between single backquotes."""
    quoted = re.findall(r"`([^`]+)`", _FENCE.sub("", page))
    return [plain(" ".join(text.split())) for text in quoted if _STARTS.match(text)]


def plain(line: str) -> str:
    """A command without its comment, and with what may be left out."""
    return re.sub(r" \[(--[^\]]+)\]", r" \1", re.sub(r"\s+#.*$", "", line)).strip()


def blocks(page: str, language: str) -> list[str]:
    """Blocks of a language, but for those that are filled in from a file."""
    return [block for marked, block in _FENCE.findall(page) if marked == language and "--8<--" not in block]


def everywhere(reader: Callable[[str], list[str]]) -> list[str]:
    """What a reader finds on any page, each once."""
    return sorted({text for page in PAGES for text in reader(page.read_text(encoding="utf-8"))})


def with_page(language: str) -> list[tuple[str, str]]:
    """Every block of a language with the name of its page."""
    pages = [(page, blocks(page.read_text(encoding="utf-8"), language)) for page in PAGES]
    return [(page.relative_to(ROOT).as_posix(), block) for page, several in pages for block in several]
