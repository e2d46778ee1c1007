"""The work folder: every finished training is one small file, so that a long study can stop and go on anywhere.

A file is named after what made it: model, seed, and a hash of recipe and recordings. Another recipe or another split
makes another file, and a file that other code made is made anew; nothing is ever silently reused.
"""

import ast
import errno
import hashlib
import json
import os
import re
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

import unmixnet
from studies.harness.definitions import Study, StudyFold
from studies.harness.variants import Variant
from unmixnet.errors import UnmixError
from unmixnet.files.replacement import move_into_place, write_file

__all__ = ["VERSION", "Facts", "Finished", "Guess", "Job", "Work", "code_version", "fingerprint", "stripped"]

VERSION = 1
"""Raised when a file of the same recipe would come out differently: the old ones are then made anew."""


@dataclass(frozen=True, eq=False)
class Job:
    """One training: a model on one fold of a study, with a seed."""

    study: Study
    fold: StudyFold
    variant: Variant
    seed: int
    key: str
    """Hash of the recipe and the recordings."""
    code: str
    """Version of the code that the result depends on."""

    @property
    def place(self) -> Path:
        """Where its file lies in the work folder."""
        return Path(self.study.name, _slug(self.fold.name), f"{_slug(self.variant.name)}-{self.seed}-{self.key}.npz")


@dataclass(frozen=True)
class Facts:
    """What a training was like; zero or None where a model has no such thing."""

    parameters: int = 0
    epochs: int = 0
    best_epoch: int = 0
    validation: float | None = None
    """Best validation score: mean |â − a| of recordings."""
    seconds: float = 0.0
    commit: str = ""
    code: str = ""
    iterations: float | None = None
    """Mean steps of a sample, where samples are optimised one by one."""


@dataclass(frozen=True, eq=False)
class Guess:
    """Predictions of windows, shape (n, K), and the index of the test recording of each."""

    values: np.ndarray
    owner: np.ndarray


@dataclass(frozen=True, eq=False)
class Finished:
    """The result of a job: predictions for each protocol."""

    guesses: dict[str, Guess]
    facts: Facts


class Work:
    """A folder of finished jobs.

    Arguments:
        stale: whether results count that other versions of the code made.
    """

    def __init__(self, folder: Path, *, stale: bool = False) -> None:
        self.folder, self.stale = folder, stale

    def read(self, job: Job) -> Finished | None:
        """The result of a job; None if there is none, or none that counts."""
        try:
            with np.load(self.folder / job.place, allow_pickle=False) as kept:
                facts = Facts(**json.loads(str(kept["facts"])))
                if facts.code != job.code and not self.stale:
                    return None
                return Finished({p: Guess(kept[f"{p} values"], kept[f"{p} owner"]) for p in job.fold.tests}, facts)
        except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
            return None

    def write(self, job: Job, result: Finished) -> None:
        """Keep a result; the file appears when it is complete."""
        arrays: dict[str, np.ndarray] = {"facts": np.array(json.dumps(asdict(result.facts)))}
        for protocol, guess in result.guesses.items():
            arrays[f"{protocol} values"] = np.asarray(guess.values, np.float32)
            arrays[f"{protocol} owner"] = np.asarray(guess.owner, np.int32)
        self._put(job.place, arrays)

    def write_weights(self, job: Job, tensors: Mapping[str, np.ndarray]) -> None:
        """Keep the weights of a network beside its result."""
        self._put(_weights(job), tensors)

    def read_weights(self, job: Job) -> dict[str, np.ndarray] | None:
        """Weights that were kept with a result that counts; None if there are none."""
        path = self.folder / _weights(job)
        if self.read(job) is None or not path.is_file():
            return None
        with np.load(path, allow_pickle=False) as kept:
            return {name: kept[name] for name in kept.files}

    def digest(self, job: Job) -> str:
        """Hash of the weights that a job kept."""
        return hashlib.sha256((self.folder / _weights(job)).read_bytes()).hexdigest()[:12]

    def remembered(self, name: str, ingredients: Any, make: Callable[[], Any]) -> Any:
        """A plain value that takes long to compute: from its file if the same ingredients made it, else made anew."""
        key = hashlib.sha256(json.dumps([VERSION, ingredients], default=str).encode()).hexdigest()[:12]
        path = self.folder / f"{_slug(name)}-{key}.json"
        if path.is_file():
            return json.loads(path.read_text())
        value = make()
        write_file(path, json.dumps(value, allow_nan=True))
        return value

    def _put(self, place: Path, arrays: Mapping[str, np.ndarray]) -> None:
        target, content = self.folder / place, BytesIO()
        np.savez(content, **arrays)  # pyright: ignore[reportArgumentType]
        part = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(content.getvalue())
            move_into_place(part, target)
        except OSError as error:
            raise _unwritten(error, self.folder) from None
        finally:
            with suppress(OSError):
                part.unlink()


def _unwritten(error: OSError, folder: Path) -> UnmixError:
    """The error for a result that cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        problem, remedy = "the disk is full", "Make room and run the same command again: what is finished is kept"
    else:
        problem = f"a result cannot be written ({error.strerror or error})"
        remedy = "Check that the folder is there and may be written, and run the command again"
    return UnmixError(problem, where=str(folder), remedy=remedy)


def fingerprint(fold: StudyFold, *what: Any) -> str:
    """Hash of a fold's recordings and of whatever else a result depends on."""
    names = [[piece.path for piece in side] for side in (fold.train, *fold.tests.values())]
    text = json.dumps([VERSION, fold.data.name, names, list(fold.tests), what], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _weights(job: Job) -> Path:
    return job.place.with_suffix(".weights.npz")


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


SIGNAL = tuple(f"recordings/{name}.py" for name in ("preprocessing", "temporal"))
TRAINING = (
    *(f"training/{name}.py" for name in ("augmentation", "epoch", "examples", "objective", "run", "trainer")),
    *SIGNAL,
)
SCHOOLING = tuple(f"training/{name}.py" for name in ("gauss_newton", "pretraining"))
UNMIXNET = (*TRAINING, *SCHOOLING, "model", "training/losses.py", "physics")
BASELINE = (*TRAINING, "model/baselines")
INVERSE = (*UNMIXNET, "model/baselines/direct_inverse.py")
STEADY = ("peers/steady.py", *SIGNAL)
PEER = ("peers", "model/statistics.py", *SIGNAL)


@cache
def code_version(parts: tuple[str, ...]) -> str:
    """Hash of files and folders of the package or the studies; docstrings, comments and layout do not count."""
    package, studies, digest = Path(unmixnet.__file__).parent, Path(__file__).parents[1], hashlib.sha256()
    for part in parts:
        path = package / part if (package / part).exists() else studies / part
        files = [path] if path.suffix else sorted(path.glob("*.py"))
        if not files or not files[0].is_file():
            raise UnmixError(f"no code {part!r}", where="code_version", remedy="Name a file or folder that is there")
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
