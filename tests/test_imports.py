"""The arrows between packages, and three walls: physics knows no files and no learning, the model no files; streams,
server and command line know no equations. Imports inside functions and under TYPE_CHECKING count like any other."""

import ast
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import unmixnet

ROOT = Path(__file__).parents[1]
PACKAGE = Path(unmixnet.__file__).parent
LAYERS = (
    {"errors"},
    {"files", "metrics"},
    {"physics"},
    {"simulation"},
    {"recordings", "model"},
    {"inference"},
    {"training"},
    {"live"},
    {"cli"},
)
DATA = {"bundles", "examples"}
"""Folders of packaged files."""


def modules_of(folder: Path) -> dict[str, str]:
    """Source of every module below a package, by its dotted name."""
    sources = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        sources[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text(encoding="utf-8")
    return sources


LIBRARY = modules_of(PACKAGE)
STUDIES = modules_of(ROOT / "studies")


def imports(source: str) -> set[str]:
    """Every module that a source may import: statements anywhere in it, and module names in strings.

    Of `from a import b` both `a` and `a.b` are given, since `b` may be a module; of a relative import its dots.
    """
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level:
            names.add("." * node.level)
        elif isinstance(node, ast.ImportFrom):
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
            names |= {ast.unparse(node.args[0]).removeprefix("f").strip("'\"")}
    return names


def below(names: set[str], *packages: str) -> set[str]:
    """Those names that are one of the packages or within it."""
    return {name for name in names if any(name == package or name.startswith(f"{package}.") for package in packages)}


# ---------------------------------------------------------------- arrows


def layer_of(module: str) -> int | None:
    """Place of a module of the library from below; None for the facade `unmixnet` and for packaged files."""
    parts = module.split(".")
    return next((i for i, layer in enumerate(LAYERS) if len(parts) > 1 and parts[1] in layer), None)


def wrong_arrows(modules: Mapping[str, str]) -> set[str]:
    """Imports of the library that go upward, sideways between packages of one layer, or into the studies."""
    wrong = set()
    for module, source in modules.items():
        here = layer_of(module)
        for name in imports(source):
            there = layer_of(name) if name.startswith("unmixnet.") else None
            sideways = there == here and module.split(".")[1] != name.split(".")[1] if here is not None else False
            upward = here is not None and there is not None and (there > here or sideways)
            if upward or below({name}, "studies", "tests"):
                wrong.add(f"{module} -> {name}")
    return wrong


def facade_imports(modules: Mapping[str, str]) -> set[str]:
    """Modules that import a public name from `unmixnet` instead of from its home; only the version stands there."""
    return {
        module
        for module, source in modules.items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module == "unmixnet"
        if module != "unmixnet" and {alias.name for alias in node.names} - {"__version__", *set.union(*LAYERS)}
    }


def cycles(modules: Mapping[str, str]) -> list[set[str]]:
    """Groups of modules that import each other in a circle."""
    graph = {name: (imports(source) & set(modules)) - {name, "unmixnet"} for name, source in modules.items()}
    # `from package import module` imports the module; the package around it counts only for what it defines itself
    for name, source in modules.items():
        for node in ast.walk(ast.parse(source)):
            if not (isinstance(node, ast.ImportFrom) and node.module in graph[name]):
                continue
            if all(f"{node.module}.{alias.name}" in modules for alias in node.names):
                graph[name] -= {node.module}
    reachable = {name: _reachable(graph, name) for name in graph}
    circles = {frozenset({name} | {m for m in reachable[name] if name in reachable[m]}) for name in graph}
    return [set(circle) for circle in circles if len(circle) > 1]


def _reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    seen, waiting = set(), list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += graph[name]
    return seen


def test_every_package_has_its_place():
    top = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert top - {"__init__", "__main__"} == set.union(*LAYERS, DATA)


def test_no_import_goes_upward_or_into_the_studies():
    assert wrong_arrows(LIBRARY) == set()


def test_no_module_imports_the_facade():
    assert facade_imports(LIBRARY) == set()


@pytest.mark.parametrize("modules", [LIBRARY, STUDIES], ids=["library", "studies"])
def test_no_modules_import_each_other_in_a_circle(modules):
    assert cycles(modules) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("unmixnet.physics.step", "from unmixnet.simulation.chamber import Chamber"),
        ("unmixnet.model.encoder", "def f():\n    from unmixnet.recordings import reader"),
        ("unmixnet.recordings.reader", "import unmixnet.model.predict"),
        ("unmixnet.inference.unmix", "if TYPE_CHECKING:\n    from unmixnet.training.run import train"),
        ("unmixnet.inference.unmix", "import_module('unmixnet.training.run')"),
        ("unmixnet.inference.unmix", "from unmixnet import training"),
        ("unmixnet.training.run", "from studies.harness import definitions"),
        ("unmixnet.cli.train", "import studies"),
        ("unmixnet.errors", "import unmixnet.files"),
    ],
)
def test_twin_a_wrong_arrow_is_seen(module, source):
    assert wrong_arrows({module: source})


def test_twin_a_circle_is_seen():
    lazy = "def f():\n    from unmixnet.files.a import x"
    assert cycles({"unmixnet.files.a": "from unmixnet.files import b", "unmixnet.files.b": lazy, "unmixnet.files": ""})
    assert facade_imports({"unmixnet.cli.unmix": "from unmixnet import unmix"})


# ---------------------------------------------------------------- walls

_NUMERICS = ("jax", "numpy", "equinox", "jaxtyping", "math")
_PLAIN = ("enum", "typing", "collections.abc", "dataclasses", "re", "difflib")
_FILES = ("io", "json", "os", "pathlib", "pickle", "shutil", "tempfile", "tomllib", "safetensors", "pyarrow", "pandas")
_EQUATIONS = ("jax", "equinox", "optax", "diffrax", "scipy", "unmixnet.physics", "unmixnet.model")


def calls(source: str, *names: str) -> set[str]:
    """Which of these functions a source calls."""
    functions = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return {function.id for function in functions if isinstance(function, ast.Name) and function.id in names}


def physics_breach(source: str) -> set[str]:
    """What a module of the physics imports or opens although it is jax in, jax out."""
    names = imports(source)
    return names - below(names, "unmixnet.physics", *_NUMERICS, *_PLAIN) | calls(
        source, "open", "print", "exec", "eval"
    )


def model_breach(source: str) -> set[str]:
    """What a module of the model imports or opens although it knows no files."""
    return below(imports(source), *_FILES, "unmixnet.files") | calls(source, "open", "print", "exec", "eval")


def equations_in(module: str, source: str) -> set[str]:
    """What a stream, the server or a command imports although it knows no equations."""
    barred = below(imports(source), *_EQUATIONS)
    if module.startswith("unmixnet.live."):
        # one source of samples is the simulated e-nose
        simulated = module == "unmixnet.live.sources.simulated"
        barred |= set() if simulated else below(imports(source), "unmixnet.simulation")
    return barred


def within(*packages: str) -> list[str]:
    return sorted(below(set(LIBRARY), *(f"unmixnet.{package}" for package in packages)))


@pytest.mark.parametrize("module", within("physics"))
def test_physics_is_jax_in_jax_out(module):
    assert physics_breach(LIBRARY[module]) == set()


@pytest.mark.parametrize("module", within("model"))
def test_the_model_knows_no_files(module):
    assert model_breach(LIBRARY[module]) == set()


@pytest.mark.parametrize("module", within("live", "cli"))
def test_streams_server_and_command_line_know_no_equations(module):
    assert equations_in(module, LIBRARY[module]) == set()


@pytest.mark.parametrize(
    "source",
    [
        "import pandas",
        "from unmixnet.cli import main",
        "import unmixnet.simulation.simulate",
        "def f():\n    from pathlib import Path",
        "from . import x",
        "open('x')",
    ],
)
def test_twin_physics_that_opens_files_is_seen(source):
    assert physics_breach(source)


@pytest.mark.parametrize(
    "source", ["import json", "from pathlib import Path", "def f():\n    import os.path", "open('x')"]
)
def test_twin_a_model_that_opens_files_is_seen(source):
    assert model_breach(source)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("unmixnet.live.engine", "from unmixnet.physics.rollout import rollout"),
        ("unmixnet.live.hub", "def f():\n    import jax.numpy as jnp"),
        ("unmixnet.live.server.routes", "from unmixnet.simulation.simulate import simulate"),
        ("unmixnet.cli.unmix", "from unmixnet.model.predict import solve"),
    ],
)
def test_twin_an_equation_in_a_stream_is_seen(module, source):
    assert equations_in(module, source)


def test_the_laws_and_the_model_are_found_by_name():
    laws = {"source", "advection", "diffusion", "maxwell_stefan", "adsorption", "readout", "rollout"}
    assert {f"unmixnet.physics.{law}" for law in laws} <= set(LIBRARY)
    assert {f"unmixnet.model.{part}" for part in ("encoder", "lifting", "unmixnet", "spec")} <= set(LIBRARY)


@pytest.mark.parametrize("name", ["utils", "helpers", "common", "misc"])
def test_no_module_is_named_after_nothing(name):
    assert not {module for module in {**LIBRARY, **STUDIES} if name in module.split(".")}


# ---------------------------------------------------------------- what is loaded


def loaded_by(statement: str) -> set[str]:
    """Modules that a fresh interpreter holds after a statement."""
    code = f"{statement}; import sys; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_the_command_line_answers_without_jax():
    loaded = loaded_by("import unmixnet.cli")
    assert "typer" in loaded
    assert not {"jax", "numpy", "matplotlib", "scipy"} & loaded


def test_twin_the_physics_does_load_jax():
    assert "jax" in loaded_by("import unmixnet.physics.rollout")
