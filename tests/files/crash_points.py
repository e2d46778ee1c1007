"""Kill a writer before each of its calls to the system in turn: `crash_points.py FOLDER DEPTH [DEFECT]`.

A depth of 2 also kills the writer that comes after the killed one, at each of its calls. Prints, as JSON, how many
deaths there were, after which of them nothing could be read, and after which of them the next write failed or left
something behind. A process of its own, since it forks: the test session has threads.
"""

import contextlib
import io
import itertools
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from unmixnet.files import Artefact, ArtefactError, read_artefact, write_artefact
from unmixnet.files import artefact as writing
from unmixnet.files import replacement as places


def artefact(number: int) -> Artefact:
    return Artefact("checkpoint", {"step": np.array(number)}, {"config.json": {"width": 3}})


def in_place() -> None:
    """Defect: files are written where the old ones stand."""

    def fill(path: Path, files: dict[str, bytes]) -> None:
        path.mkdir(exist_ok=True)
        for name, raw in files.items():
            (path / name).write_bytes(raw)

    writing.fill, writing.swap = fill, lambda path: None  # type: ignore[assignment]


def remove_first() -> None:
    """Defect: the old artefact goes before the new one comes."""

    def swap(path: Path) -> None:
        shutil.rmtree(path, ignore_errors=True)
        os.rename(places.incoming(path), path)

    writing.swap = swap


def leave_debris() -> None:
    """Defect: what a crash left stays."""
    writing.settle = lambda path: None


DEFECTS = {"in_place": in_place, "remove_first": remove_first, "leave_debris": leave_debris}


def dies_at(point: int, act: Callable[[], object]) -> bool:
    """Whether a child that is killed before system call number `point` of `act` got as far as that."""
    child = os.fork()
    if child == 0:
        calls = itertools.count()

        def kill(_frame, event: str, function) -> None:
            of_system = getattr(function, "__module__", None) in ("posix", "fcntl", "_io")
            of_file = isinstance(getattr(function, "__self__", None), io.IOBase)
            if event == "c_call" and (of_system or of_file) and next(calls) == point:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(kill)
        act()
        sys.setprofile(None)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
        raise RuntimeError(f"the writer failed at point {point} of its own accord")
    return os.WIFSIGNALED(status)


def step(folder: Path) -> int | None:
    try:
        return int(read_artefact(folder).tensors["step"])
    except ArtefactError:
        return None


class Trial:
    """Deaths of writers in one folder, and what was found after each."""

    def __init__(self, parent: Path) -> None:
        self.parent, self.folder = parent, parent / "model"
        self.deaths = 0
        self.unreadable: list[tuple[int, ...]] = []
        self.unclean: list[tuple[int, ...]] = []

    def every(self, depth: int, before: tuple[int, ...] = ()) -> None:
        """All sequences of up to `depth` deaths."""
        for point in itertools.count():
            if not self.run((*before, point)):
                return
            if depth > 1:
                self.every(depth - 1, (*before, point))

    def run(self, points: tuple[int, ...]) -> bool:
        """Die at each of the points, look, write again, look; False if the last point was beyond the last call."""
        shutil.rmtree(self.parent, ignore_errors=True)
        shutil.copytree(self.parent.with_name("sound"), self.folder)
        if not all(dies_at(point, lambda: write_artefact(self.folder, artefact(1))) for point in points):
            return False
        self.deaths += 1
        if step(self.folder) not in (0, 1):
            self.unreadable.append(points)
            return True
        with contextlib.suppress(ArtefactError):
            write_artefact(self.folder, artefact(2))
        if step(self.folder) != 2 or [*self.parent.iterdir()] != [self.folder]:
            self.unclean.append(points)
        return True


def main(folder: Path, depth: int, defect: str | None) -> None:
    write_artefact(folder / "sound", artefact(0))
    if defect:
        DEFECTS[defect]()
    trial = Trial(folder / "trial")
    trial.every(depth)
    print(json.dumps({"deaths": trial.deaths, "unreadable": trial.unreadable, "unclean": trial.unclean}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None)
