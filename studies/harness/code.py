"""The version of the code that a result depends on: a hash of its statements, whatever its comments say."""

import ast
import hashlib
from functools import cache
from pathlib import Path

import unmixnet

__all__ = ["code_version", "stripped"]

SIGNAL = tuple(f"recordings/{name}.py" for name in ("preprocess", "response", "temporal"))
TRAINING = (
    *(f"training/{name}.py" for name in ("epoch", "examples", "objective", "mixing", "run", "trainer")),
    *SIGNAL,
)
SCHOOLING = tuple(f"training/{name}.py" for name in ("pretraining", "gauss_newton", "schooling", "virtual"))
UNMIXNET = (*TRAINING, *SCHOOLING, "model", "training/losses", "physics")
BASELINE = (*TRAINING, "model/baselines")
INVERSE = (*UNMIXNET, "model/baselines/direct_inverse.py")
STEADY = ("steady", *SIGNAL)
PEER = ("peers", "model/statistics.py", *SIGNAL)


@cache
def code_version(parts: tuple[str, ...]) -> str:
    """Hash of files and folders of the package or the studies; docstrings, comments and layout do not count."""
    package, studies, digest = Path(unmixnet.__file__).parent, Path(__file__).parents[1], hashlib.sha256()
    for part in parts:
        path = package / part if (package / part).exists() else studies / part
        files = [path] if path.suffix else sorted(path.glob("*.py"))
        for file in files:
            digest.update(stripped(file.read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:12]


def stripped(source: str) -> str:
    """The statements of a source, without docstrings and other strings that stand alone."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [line for line in body if not _is_text(line)] or [ast.Pass()]  # pyright: ignore
    return ast.dump(tree)


def _is_text(line: ast.AST) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)
