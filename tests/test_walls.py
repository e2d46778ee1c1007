"""Three walls: physics knows no files and no learning, the model no files, the command line answers without jax."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import unmixnet

PACKAGE = Path(unmixnet.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
PHYSICS = sorted((PACKAGE / "physics").glob("*.py"))
ALLOWED = (
    "jax",
    "equinox",
    "jaxtyping",
    "numpy",
    "math",
    "enum",
    "typing",
    "collections.abc",
    "dataclasses",
    "re",
    "difflib",
)


def imports(source: str) -> set[str]:
    """Every module that a source imports, at the top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or "."} if node.level == 0 else {"." * node.level}
    return found


def beyond_the_wall(source: str) -> set[str]:
    """What a physics module imports or opens although it should not."""
    inside = ("unmixnet.physics", *ALLOWED)
    foreign = {name for name in imports(source) if not any(name == a or name.startswith(f"{a}.") for a in inside)}
    calls = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    opened = {f.id for f in calls if isinstance(f, ast.Name) and f.id in ("open", "print", "exec", "eval")}
    return foreign | opened


@pytest.mark.parametrize("path", PHYSICS, ids=lambda path: path.stem)
def test_physics_is_jax_in_jax_out(path):
    assert beyond_the_wall(path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize(
    "source",
    [
        "import pandas",
        "from unmixnet.cli import main",
        "import unmixnet.simulate",
        "def f():\n    from pathlib import Path",
        "from . import x",
        "open('x')",
    ],
)
def test_twin_a_breach_of_the_wall_is_seen(source):
    assert beyond_the_wall(source)


MODEL = sorted(path for path in (PACKAGE / "model").glob("*.py"))
_FILES = ("io", "json", "os", "pathlib", "pickle", "shutil", "tempfile", "tomllib", "safetensors", "pandas", "pyarrow")
_OUTSIDE = ("recordings", "cli", "files", "inference", "training.trainer", "model.baselines")


def files_in(source: str) -> set[str]:
    """What a module of the model imports or opens although it should know no files, no data and no command line."""
    barred = (*_FILES, *(f"unmixnet.{part}" for part in _OUTSIDE))
    foreign = {name for name in imports(source) if any(name == a or name.startswith(f"{a}.") for a in barred)}
    calls = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return foreign | {f.id for f in calls if isinstance(f, ast.Name) and f.id in ("open", "print", "exec", "eval")}


@pytest.mark.parametrize("path", MODEL, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_the_model_knows_no_files(path):
    assert files_in(path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize(
    "source",
    [
        "import json",
        "from pathlib import Path",
        "def f():\n    import os.path",
        "from unmixnet.recordings.recording import Recording",
        "import unmixnet.cli",
        "from unmixnet.training.trainer import Fit",
        "open('x')",
    ],
)
def test_twin_a_model_that_reads_files_is_seen(source):
    assert files_in(source)


def test_there_is_a_model_to_guard():
    assert {"encoder", "lifting", "unmixnet", "mixture", "flux"} <= {path.stem for path in MODEL}


def test_there_is_physics_to_guard():
    assert {"source", "advection", "diffusion", "adsorption", "readout", "rollout"} <= {path.stem for path in PHYSICS}


@pytest.mark.parametrize("name", ["utils", "helpers", "common", "misc"])
def test_no_module_is_named_after_nothing(name):
    assert name not in {path.stem for path in MODULES} | {path.name for path in PACKAGE.rglob("*") if path.is_dir()}


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}; import sys; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_the_command_line_answers_without_jax():
    loaded = loaded_by("import unmixnet.cli")
    assert "typer" in loaded
    assert not {"jax", "pandas", "matplotlib", "scipy"} & loaded


def test_twin_the_physics_does_load_jax():
    assert "jax" in loaded_by("import unmixnet.physics.rollout")
