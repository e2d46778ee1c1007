"""The documentation site builds strictly, loads nothing from other servers, and says what the code says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="the site needs mkdocs-material; pip install 'unmixnet[docs]'")

ROOT = Path(__file__).parents[1]
FETCHES = re.compile(
    r"""<(?:script|link|img|iframe|source|video|audio)\b[^>]*(?:src|href)=["']?(?:https?:)?//[^"'\s>]+"""
)
STYLE_FETCHES = re.compile(r"""(?:url\(|@import)\s*["']?(?:https?:)?//[^)"']+""")


def mkdocs(config: Path, site: Path) -> subprocess.CompletedProcess:
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--config-file",
        str(config),
        "--site-dir",
        str(site),
    ]
    # a proxy that is not there: whatever uses the network fails
    nobody = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    environment = {**os.environ, **nobody, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = mkdocs(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def fetched(folder: Path) -> list[str]:
    """Whatever a browser would fetch from elsewhere."""
    pages = [link for page in folder.rglob("*.html") for link in FETCHES.findall(page.read_text(encoding="utf-8"))]
    return pages + [link for page in folder.rglob("*.css") for link in STYLE_FETCHES.findall(page.read_text())]


def test_every_page_of_the_folder_is_built(site):
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert len(pages) > 20
    assert [page for page in pages if not (site / page).is_file()] == []


def test_the_site_loads_nothing_from_other_servers(site):
    assert fetched(site) == []


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/math.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/css">',
        "<img alt=x src=http://example/a.png>",
    ],
)
def test_twin_a_page_that_loads_something_is_noticed(tmp_path, text):
    (tmp_path / "page.html").write_text(text)
    assert len(fetched(tmp_path)) == 1


def test_the_page_of_departures_has_every_one_that_a_docstring_of_the_physics_names(site):
    page = (site / "explanation" / "departures.html").read_text(encoding="utf-8")
    named = [
        path.relative_to(ROOT / "src" / "unmixnet").as_posix()
        for path in (ROOT / "src" / "unmixnet").rglob("*.py")
        if re.search(r"\*\*Departures? from the paper\*\*", path.read_text(encoding="utf-8"))
    ]
    assert len(named) > 7
    assert [name for name in named if f">{name}</a>" not in page] == []
    assert "diffusion runs uphill" in page


def test_the_page_of_commands_has_every_command_and_option(site):
    from typer.main import get_command

    from unmixnet.cli import app

    page = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    live = get_command(app).commands["live"]  # pyright: ignore
    assert [option for part in live.params if not part.hidden for option in part.opts if option not in page] == []
    assert all(f"unmixnet {name}<" in page for name in get_command(app).commands)  # pyright: ignore


def test_the_page_of_studies_has_every_study(site):
    from typer.main import get_command

    from studies.__main__ import app

    page = (site / "reference" / "studies.html").read_text(encoding="utf-8")
    assert all(f"python -m studies {name}<" in page for name in get_command(app).commands)  # pyright: ignore
    folders = {path.parent.name for path in (ROOT / "studies").glob("*/__init__.py")}
    assert len(folders) > 10 and [name for name in folders if f"<code>{name}</code>" not in page] == []


def without_a_place(site: Path, names: list[str]) -> list[str]:
    """Names that no page of the reference has."""
    text = "".join(page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.html"))
    return [name for name in names if f'id="{name}"' not in text]


def test_the_reference_has_every_module_of_the_library(site):
    package = ROOT / "src" / "unmixnet"
    paths = [path.relative_to(package) for path in package.glob("*/**/*.py") if not path.stem.startswith("_")]
    names = [".".join(("unmixnet", *path.with_suffix("").parts)) for path in paths if path.parts[0] != "cli"]
    assert len(names) > 100 and without_a_place(site, [*names, "unmixnet.errors", "unmixnet.metrics"]) == []


def test_the_reference_has_every_public_name(site):
    import unmixnet

    names = [f"unmixnet.{name}" for name in unmixnet.__all__ if callable(getattr(unmixnet, name))]
    assert "unmixnet.simulate" in names and without_a_place(site, names) == []


def test_twin_a_name_without_a_place_is_noticed(site):
    assert without_a_place(site, ["unmixnet.simulate", "unmixnet.dream"]) == ["unmixnet.dream"]


def test_the_reference_has_docstrings_with_their_equations(site):
    page = (site / "reference" / "physics.html").read_text(encoding="utf-8")
    assert 'id="unmixnet.physics.adsorption"' in page and "θ̇ = Q θ" in page


def test_examples_of_docstrings_are_shown_as_code(site):
    from mkdocs_hooks import fenced_doctests

    page = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert '<span class="gp">&gt;&gt;&gt; </span>' in page
    text = "First.\n\n>>> f([1])\n['a', 'b']\n\nLast."
    assert fenced_doctests(text) == "First.\n\n```pycon\n>>> f([1])\n['a', 'b']\n```\n\nLast."


def test_a_link_to_a_module_leads_into_the_reference(site):
    page = (site / "model.html").read_text(encoding="utf-8")
    assert "reference/model.html#unmixnet.model.trunk" in page and "../src/" not in page


def test_twin_a_link_that_leads_nowhere_stops_the_build(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# Home\n\n[lost](nowhere.md)\n")
    config = tmp_path / "mkdocs.yml"
    config.write_text("site_name: twin\ntheme: material\nplugins: []\nvalidation: { links: { not_found: warn } }\n")
    done = mkdocs(config, tmp_path / "site")
    assert done.returncode == 1 and "nowhere.md" in done.stderr
