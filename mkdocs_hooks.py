"""Hooks of the documentation site: what pages take from the sources, and links that leave the folder of the pages.

    <!-- commands -->       every command of `unmixnet` with its arguments and options, from the program itself
    <!-- studies -->        the same for `python -m studies`
    <!-- departures -->     every **Departure from the paper** that a docstring names
    <!-- public -->         the public names of the package, from their docstrings
    <!-- modules NAME … -->  the reference of packages: every module and package below, from its docstrings

A link to a module leads to its place in the reference, a link to another file of the repository to a page that shows
it; the contents in mkdocs.yml may name such a file, too (`../studies/NAME.md`). A link that leads nowhere stays as it
is, and `mkdocs build --strict` refuses it.
"""

import ast
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent
DOCS = ROOT / "docs"
SOURCES = ROOT / "src"
OUTSIDE = re.compile(r"\]\(((?:\.\./)+[^)#\s]+)\)")
MODULES = re.compile(r"<!-- modules ([\w. ]+) -->")
LANGUAGES = {".toml": "toml", ".ino": "cpp", ".py": "python", ".csv": "text", ".cff": "yaml", ".yml": "yaml"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Append pages that the contents do not name, so that a new page is found before somebody has placed it."""
    named = set(re.findall(r"[\w/.-]+\.md", str(config.nav)))
    pages = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
    if more := [page for page in pages if page not in named]:
        config.nav = [*(config.nav or []), {"More": more}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for every file of the repository that a page or the contents name and the reference does not have."""
    links = [(page, link) for page in sorted(DOCS.rglob("*.md")) for link in OUTSIDE.findall(_text(page))]
    outside = re.findall(r"(?:\.\./)+[\w/.-]+", str(config.nav))
    config.nav = _nav_inside(config.nav)
    for page, link in [*links, *((DOCS / "index.md", link) for link in outside)]:
        target = (page.parent / link).resolve()
        place = _page_of_file(target)
        if _shown(target) and files.get_file_from_path(place) is None:
            files.append(File.generated(config, place, content=_as_page(target)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in what comes from the sources, and lead links to where the site has them."""
    parts: dict[str, Callable[[], str]] = {
        "<!-- commands -->": commands,
        "<!-- studies -->": study_commands,
        "<!-- departures -->": departures,
        "<!-- public -->": public_names,
    }
    for mark, part in parts.items():
        if mark in markdown:
            markdown = markdown.replace(mark, part())
    markdown = MODULES.sub(_modules_of_mark, markdown)
    here = DOCS / page.file.src_uri
    return OUTSIDE.sub(lambda link: f"]({_led(here, link[1])})", markdown)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


# ---------------------------------------------------------------- links


def _led(here: Path, link: str) -> str:
    target = (here.parent / link).resolve()
    if DOCS in target.parents:
        return link
    place = _page_of_file(target) if _shown(target) else _reference().get(_module(target), "")
    if not place:
        return link
    page, _, anchor = place.partition("#")
    relative = os.path.relpath(DOCS / page, here.parent)
    return f"{relative}#{anchor}" if anchor else relative


def _nav_inside(entry: Any) -> Any:
    """The contents, with the page of a file in place of a path that leaves the folder of the pages."""
    if isinstance(entry, dict):
        return {title: _nav_inside(part) for title, part in entry.items()}
    if isinstance(entry, list):
        return [_nav_inside(part) for part in entry]
    outside = isinstance(entry, str) and entry.startswith("../")
    return _page_of_file((DOCS / entry).resolve()) if outside else entry


def _reference() -> dict[str, str]:
    """Where the reference has a module: `unmixnet.model.trunk` → `reference/model.md#unmixnet.model.trunk`."""
    places = {}
    for page in sorted((DOCS / "reference").glob("*.md")):
        text = MODULES.sub(_modules_of_mark, _text(page))
        for name in re.findall(r"^::: ([\w.]+)$", text, re.MULTILINE):
            places[name] = f"reference/{page.name}#{name}"
    return places


def _modules_of_mark(mark: re.Match[str]) -> str:
    return "\n".join(modules(name) for name in mark[1].split())


def modules(package: str) -> str:
    """What makes mkdocstrings show a package: its own docstring, its modules, then the packages below it."""
    folder = SOURCES.joinpath(*package.split("."))
    names = [f"{package}.{path.stem}" for path in sorted(folder.glob("*.py")) if not path.stem.startswith("_")]
    below = [f"{package}.{path.parent.name}" for path in sorted(folder.glob("*/__init__.py"))]
    own = f"::: {package}\n    options:\n      members: []\n"
    return "\n".join([own, *(f"::: {name}\n" for name in names), *map(modules, below)])


def public_names() -> str:
    """The classes and functions that `unmixnet` exports, under the names by which they are imported."""
    import unmixnet

    exported = {name: getattr(unmixnet, name) for name in sorted(unmixnet.__all__, key=str.lower)}
    return "\n".join(f"::: unmixnet.{name}\n" for name, thing in exported.items() if callable(thing))


def _module(path: Path) -> str:
    if SOURCES not in path.parents:
        return ""
    return ".".join(path.relative_to(SOURCES).with_suffix("").parts)


def _shown(path: Path) -> bool:
    """Whether a file has a page of its own: any text of the repository but the modules of the reference."""
    inside = ROOT in path.parents and DOCS not in path.parents and path.is_file()
    return inside and not (path.suffix == ".py" and SOURCES in path.parents)


def _page_of_file(path: Path) -> str:
    return "reference/files/" + "-".join(path.relative_to(ROOT).parts if ROOT in path.parents else ()) + ".md"


def _as_page(path: Path) -> str:
    text, name = path.read_text(encoding="utf-8"), path.relative_to(ROOT)
    if path.suffix == ".md":
        return text
    return f"# {path.name}\n\n`{name}`\n\n````{LANGUAGES.get(path.suffix, 'text')}\n{text}````\n"


# ---------------------------------------------------------------- docstrings


class Doctests(griffe.Extension):
    """Shows examples in docstrings as code, where brackets are not taken for links."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Fence the doctests of an object."""
        if obj.docstring:
            obj.docstring.value = fenced_doctests(obj.docstring.value)


def fenced_doctests(text: str) -> str:
    """A docstring with a fence around each of its doctests, which end at an empty line."""
    return re.sub(r"(?m)^>>> (?:.+\n?)+", lambda block: f"```pycon\n{block[0].rstrip()}\n```\n", text)


# ---------------------------------------------------------------- departures


def departures() -> str:
    """A list: file, and what its docstrings say under **Departure from the paper**."""
    lines = []
    for path in sorted(SOURCES.rglob("*.py")):
        for departure in _departures_of(path):
            link = os.path.relpath(path, DOCS / "explanation")
            lines.append(f"[{path.relative_to(SOURCES / 'unmixnet')}]({link})\n:   {departure}\n")
    return "\n".join(lines)


def _departures_of(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in (node for node in ast.walk(tree) if isinstance(node, kinds)):
        text = ast.get_docstring(node) or ""
        for paragraph in re.findall(r"\*\*Departures? from the paper\*\*:\s*(.+?)(?:\n\s*\n|\Z)", text, re.DOTALL):
            sentence = " ".join(paragraph.split())
            yield sentence[:1].upper() + sentence[1:] if sentence[:1].isascii() else sentence  # ν is not N


# ---------------------------------------------------------------- commands


def commands() -> str:
    """Every command of `unmixnet` with a table of what it takes."""
    from unmixnet.cli import app

    return _commands(app, "unmixnet")


def study_commands() -> str:
    """Every command of `python -m studies` with a table of what it takes."""
    if str(ROOT) not in sys.path:  # the studies are not installed
        sys.path.append(str(ROOT))
    from studies.__main__ import app

    return _commands(app, "python -m studies")


def _commands(app: Any, program: str) -> str:
    from typer.main import get_command

    return "\n".join(_command(command, path) for path, command in _walk(get_command(app), program))


def _walk(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, part in getattr(command, "commands", {}).items():
        if not part.hidden:
            yield f"{path} {name}", part
            yield from _walk(part, f"{path} {name}")


def _command(command: Any, path: str) -> str:
    description = textwrap.dedent(command.help or "").strip()
    if getattr(command, "commands", None):
        return f"## {path}\n\n{description}\n"
    shown = [part for part in command.params if not getattr(part, "hidden", False) and "--help" not in part.opts]
    rows = [_row(part) for part in shown]
    table = ["| takes | meaning | default |", "|---|---|---|", *rows] if rows else []
    return "\n".join([f"## {path}", "", description, "", *table, ""])


def _row(parameter: Any) -> str:
    option = parameter.param_type_name == "option"
    names = [*parameter.opts, *parameter.secondary_opts] if option else [parameter.metavar or parameter.name]
    shown = ", ".join(f"`{name}`" for name in names)
    if option and parameter.metavar:
        shown += f" {parameter.metavar}"
    value = parameter.default
    # click marks "nothing" by an object of its own
    usual = isinstance(value, (str, int, float, Path)) and not isinstance(value, bool)
    default = "required" if parameter.required else f"`{value}`" if usual else ""
    meaning = " ".join((getattr(parameter, "help", None) or "").split())
    cells = (cell.replace("|", "\\|") for cell in (shown, meaning, default))
    return f"| {' | '.join(cells)} |"
