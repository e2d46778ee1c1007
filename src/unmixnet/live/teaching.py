"""Teaching: a model of the user's own substances, trained in a process of its own so that the stream goes on."""

import asyncio
import json
import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmixnet.errors import UnmixError
from unmixnet.files.printable import printable
from unmixnet.files.replacement import replacing
from unmixnet.live.hub import Live
from unmixnet.live.session_calibration import SessionCalibrator

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from unmixnet.inference.bundle import Bundle
    from unmixnet.recordings.recording import Recording

__all__ = ["Teaching", "TeachingError"]

_NOTE = "lesson.json"
_log = logging.getLogger("unmixnet.live")


class TeachingError(UnmixError):
    """A training that cannot begin, or that failed."""


class Teaching:
    """The training that is running, and the models of earlier ones.

    Arguments:
        calibrator: a calibration belongs to a model, and changes with it.
        folder: where models are kept, each under a number; no user-given name becomes a path.
    """

    def __init__(self, live: Live, calibrator: SessionCalibrator, folder: Path) -> None:
        self.live, self.calibrator, self.folder = live, calibrator, folder
        self.shipped = live.bundle
        self.running: dict[str, Any] | None = None
        self.failed = ""
        self.used: int | None = None
        self._process: BaseProcess | None = None
        self._task: asyncio.Task[None] | None = None
        live.state_parts["lessons"] = self.state

    def state(self) -> dict[str, Any]:
        """The running training and the models, as plain values."""
        status = {"running": self.running, "failed": self.failed, "used": self.used}
        return {**status, "first": printable(self.shipped.name), "models": self._models()}

    def start(self, name: str, numbers: Sequence[int]) -> None:
        """Begin to train on these recordings."""
        if self.running is not None:
            raise TeachingError(f"{self.running['name']!r} is being trained", remedy="Wait, or stop it")
        recordings = [self.live.store.recording(number) for number in dict.fromkeys(numbers)]
        unlabelled = [recording.path for recording in recordings if recording.label is None]
        if unlabelled:
            raise TeachingError(
                f"{len(unlabelled)} recordings have no label", remedy="Leave them out, or record them anew"
            )
        self.failed = ""
        self.running = {"name": name, "started": time.time(), "stage": "starting", "done": 0, "of": 1}
        self._task = asyncio.create_task(self._train(name, recordings))
        self.live.changed()

    def stop(self) -> None:
        """Stop the training."""
        if self._process is not None:
            self._process.terminate()

    async def close(self) -> None:
        """Leave no process behind."""
        self.stop()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def use(self, number: int | None) -> None:
        """Answer with a taught model, or with the one that the session began with."""
        if number is None:
            bundle = self.shipped
        elif number in {model["id"] for model in self._models()}:
            bundle = await self.live.in_worker_thread(_load, self._place(number) / "bundle")
        else:
            raise TeachingError(f"there is no model {number}", remedy="Choose one from the list")
        self.live.bundle, self.used = bundle, number
        self.calibrator.restore()
        self.live.rebuild()
        self.live.changed()

    def _place(self, number: int) -> Path:
        return self.folder / f"lesson-{number}"

    def _models(self) -> list[dict[str, Any]]:
        notes = sorted(self.folder.glob(f"lesson-*/{_NOTE}")) if self.folder.is_dir() else []
        return sorted((json.loads(note.read_text(encoding="utf-8")) for note in notes), key=lambda model: model["id"])

    async def _train(self, name: str, recordings: "list[Recording]") -> None:
        number = 1 + max((model["id"] for model in self._models()), default=0)
        place = self._place(number)
        try:
            result = await asyncio.to_thread(self._watch, name, recordings, place, asyncio.get_running_loop())
            note = {"id": number, "name": name, "recordings": len(recordings), **result}
            with replacing(place / _NOTE) as part:
                part.write_text(json.dumps(note, allow_nan=False) + "\n", encoding="utf-8")
        except UnmixError as error:
            self.failed = str(error)
        except Exception:
            _log.exception("the training of model %s failed", number)
            self.failed = "The training failed; the terminal shows why."
        finally:
            self.running, self._process = None, None
            self.live.changed()

    def _watch(
        self, name: str, recordings: "list[Recording]", place: Path, loop: asyncio.AbstractEventLoop
    ) -> dict[str, Any]:
        """Start the process and pass on its progress; runs in a thread."""
        context = multiprocessing.get_context("spawn")  # a fork would copy the threads of jax, and hang
        ours, theirs = context.Pipe(duplex=False)
        arguments = (theirs, name, recordings, str(place), self.live.settings.lesson_epochs)
        process = context.Process(target=_teach, args=arguments, daemon=True)
        process.start()
        self._process = process
        theirs.close()
        while True:
            try:
                kind, value = ours.recv()
            except EOFError:
                raise _ended(process) from None
            if kind == "progress":
                loop.call_soon_threadsafe(self._progress, value)
            elif kind == "failed":
                raise TeachingError(value)
            else:
                process.join()
                return value

    def _progress(self, value: dict[str, Any]) -> None:
        if self.running is not None:
            self.running = {**self.running, **value}
            self.live.send("lesson", self.running)


def _ended(process: BaseProcess) -> TeachingError:
    """Why a process ended without a result."""
    process.join()
    if process.exitcode == -signal.SIGTERM:
        return TeachingError("the training was stopped", remedy="Start it again when you like")
    return TeachingError("the training failed; the terminal shows why", remedy="Try fewer recordings, or shorter ones")


def _load(place: Path) -> "Bundle":
    from unmixnet.inference.bundle import load_bundle

    return load_bundle(place)


def _teach(out: "Connection", name: str, recordings: "list[Recording]", place: str, epochs: int | None) -> None:
    """The child process: teach, and report progress."""
    if hasattr(os, "nice"):
        os.nice(10)  # the recorder comes first
    from unmixnet.training.few_shot import EPOCHS, train_few_shot

    def watch(stage: str, done: int, of: int) -> None:
        out.send(("progress", {"stage": stage, "done": done, "of": of}))

    try:
        taught = train_few_shot(recordings, name=name, folder=Path(place), watch=watch, epochs=epochs or EPOCHS)
        summary = taught.to_json()
        summary.pop("bundle")  # a path on this machine, which is not for the page
        out.send(("taught", summary))
    except UnmixError as error:
        out.send(("failed", str(error)))
