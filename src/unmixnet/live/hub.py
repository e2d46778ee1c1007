"""The hub: source → store → engine → every open page. A page that is slow never holds up the recorder."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from unmixnet.errors import UnmixError
from unmixnet.files.printable import printable
from unmixnet.inference.report.formatting import clipped
from unmixnet.live.fanout import Fanout, encode
from unmixnet.live.recorder import RETRY_S, Recorder
from unmixnet.live.recordings import LiveRecordings, label_json
from unmixnet.live.sample import Item, SampleSource, SourceEvent
from unmixnet.live.store import Store

if TYPE_CHECKING:
    from unmixnet.inference.bundle import Bundle
    from unmixnet.inference.session import SessionCalibration
    from unmixnet.live.engine import Engine
    from unmixnet.recordings.recording import Mixture

    MakeEngine = Callable[[Bundle, tuple[str, ...], SessionCalibration | None, float], Engine]

__all__ = ["Live", "LiveSettings"]

_GATHER_S = 0.04
"""Samples that arrive within this time [s] share one transaction and one message."""
_INBOX = 4096
"""Items between source and store; a full inbox makes the source wait."""
_MODEL_FAILED = "The model failed; the terminal shows why."
_T = TypeVar("_T")
_log = logging.getLogger("unmixnet.live")


@dataclass(frozen=True)
class LiveSettings:
    """Policy of a live session.

    Arguments:
        every_s: signal time between estimates [s].
        lesson_epochs: epochs of training on own recordings; None takes the default of `teach`.
        upload_bytes: largest file that is unmixed.
    """

    every_s: float = 1.0
    lesson_epochs: int | None = None
    upload_bytes: int = 20_000_000


class Live:
    """One source, one store, one model, and the open pages. Lives on one event loop.

    Arguments:
        source: where samples come from.
        store: where they are kept.
        bundle: the model that answers at first.
        make_engine: makes a compiled engine of a bundle, the channels and a calibration.
    """

    def __init__(
        self,
        source: SampleSource,
        store: Store,
        bundle: "Bundle",
        settings: LiveSettings | None = None,
        *,
        make_engine: "MakeEngine | None" = None,
    ) -> None:
        self.source, self.store, self.bundle = source, store, bundle
        self.settings = settings or LiveSettings()
        self._make_engine = make_engine or _warm_engine
        self.fanout = Fanout()
        self.recorder = Recorder(store, source.name, source.unit)
        self.recordings = LiveRecordings(store, self.recorder)
        self.calibration: SessionCalibration | None = None
        self.problem, self.ready = "", False
        self.state_parts: dict[str, Callable[[], Any]] = {}
        """Further parts of the state, by their JSON key."""
        self.truth: Mixture | None = None
        """What is in front of a simulated chamber."""
        self._inbox: asyncio.Queue[Item] = asyncio.Queue(_INBOX)
        self._recorder_thread = ThreadPoolExecutor(1, thread_name_prefix="recorder")
        self._worker_thread = ThreadPoolExecutor(1, thread_name_prefix="worker")
        self._building: asyncio.Task[None] | None = None

    # ---------------------------------------------------------------- running

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen for as long as the context lasts."""
        tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._write())]
        try:
            yield
        finally:
            self.fanout.close()
            for task in [*tasks, *([self._building] if self._building else [])]:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.in_recorder_thread(self._last_attempt)
            self._recorder_thread.shutdown(wait=True)
            self._worker_thread.shutdown(wait=False, cancel_futures=True)

    def _last_attempt(self) -> None:
        """Write the rows that still wait, and log an error if that is not possible."""
        self.recorder.flush(at_once=True)
        waiting = self.recorder.counts.waiting
        if waiting:
            _log.error("%d rows were never stored. %s", waiting, self.recorder.problem)

    async def in_recorder_thread(self, work: Callable[..., _T], *arguments: Any) -> _T:
        """Run a function in the thread of the recorder."""
        return await asyncio.get_running_loop().run_in_executor(self._recorder_thread, work, *arguments)

    async def in_worker_thread(self, work: Callable[..., _T], *arguments: Any) -> _T:
        """Run a long function beside the recorder; one at a time."""
        return await asyncio.get_running_loop().run_in_executor(self._worker_thread, work, *arguments)

    async def _listen(self) -> None:
        try:
            async for item in self.source.stream():
                await self._inbox.put(item)
        except UnmixError as error:
            await self._inbox.put(SourceEvent("lost", str(error)))
        except Exception:
            _log.exception("the source failed")
            await self._inbox.put(SourceEvent("lost", "The source failed; the terminal shows why."))

    async def _write(self) -> None:
        while True:
            items = [item] if (item := await self._next()) else []
            await asyncio.sleep(_GATHER_S)
            while not self._inbox.empty():
                items.append(self._inbox.get_nowait())
            try:
                await self._receive(items)
            except UnmixError as error:
                self.send("problem", {"text": str(error)})
            except Exception:  # a defect of ours must not end the stream
                _log.exception("a batch of %d items was not shown", len(items))
                self.send("problem", {"text": "Something went wrong here; the terminal shows what."})

    async def _next(self) -> Item | None:
        """The next item; None when it is time to try the store again."""
        try:
            async with asyncio.timeout(RETRY_S if self.recorder.problem else None):
                return await self._inbox.get()
        except TimeoutError:
            return None

    async def _receive(self, items: list[Item]) -> None:
        recorder = self.recorder
        before = (recorder.channels, recorder.problem, recorder.broken)
        for message in await self.in_recorder_thread(recorder.receive, items, self.source.channels):
            self.fanout.send(message)
        if recorder.channels and not before[0]:
            self.rebuild()
        if recorder.broken and not before[2]:
            self.ready, self.problem = False, _MODEL_FAILED
        if before != (recorder.channels, recorder.problem, recorder.broken):
            self.changed()
        if self.recordings.due and not recorder.problem:
            self.recordings.stop()
            self.changed()
        truth = getattr(self.source, "now", None)
        if truth != self.truth:
            self.truth = truth
            self.send("truth", label_json(truth))

    # ---------------------------------------------------------------- the pages

    def send(self, kind: str, value: Any) -> None:
        """A message for every page."""
        self.fanout.send(encode(kind, value))

    def changed(self) -> None:
        """Send the state to every page."""
        self.send("state", self.state())

    def state(self) -> dict[str, Any]:
        """Everything but the numbers that stream, as plain values."""
        return {
            "source": _source_json(self),
            "model": _model_json(self),
            "recording": self.recordings.running_json(),
            "recordings": self.recordings.listed(),
            "marks": list(self.recorder.marks),
            **{name: part() for name, part in self.state_parts.items()},
        }

    async def mark(self, text: str) -> None:
        """Set a mark at the newest sample, on every page and in the store."""
        if not self.recorder.channels:
            raise UnmixError("there are no samples yet", remedy="Wait for the first one")
        self.fanout.send(await self.in_recorder_thread(self.recorder.mark, "mark", text))

    async def clean_air(self) -> None:
        """Declare the air clean now."""
        if not self.recorder.channels:
            raise UnmixError("there are no samples yet", remedy="Wait for the first one")
        self.fanout.send(await self.in_recorder_thread(self.recorder.clean_air))

    # ---------------------------------------------------------------- the model

    @property
    def applied(self) -> "SessionCalibration | None":
        """The calibration of the answers; None for one that changes nothing, so that no answer mentions it."""
        return self.calibration if self.calibration is not None and self.calibration.method != "none" else None

    def rebuild(self) -> None:
        """Make a new engine for the present model, channels and calibration, beside the recorder."""
        if self._building is not None:
            self._building.cancel()
        self._building = asyncio.create_task(self._rebuild())

    async def _rebuild(self) -> None:
        self.ready, self.problem = False, ""
        try:
            arguments = (self.bundle, self.recorder.channels, self.applied, self.settings.every_s)
            engine = await self.in_worker_thread(self._make_engine, *arguments)
        except UnmixError as error:
            engine, self.problem = None, str(error)
        except Exception:
            _log.exception("the model %s failed", self.bundle.name)
            engine, self.problem = None, _MODEL_FAILED
        for message in await self.in_recorder_thread(self.recorder.use_engine, engine):
            self.fanout.send(message)
        if self.recorder.broken:
            engine, self.problem = None, _MODEL_FAILED
        self.ready = engine is not None
        self.changed()
        self.send("history", self.recorder.history())


def _warm_engine(
    bundle: "Bundle", channels: tuple[str, ...], calibration: "SessionCalibration | None", every_s: float
) -> "Engine":
    from unmixnet.live.engine import Engine

    engine = Engine.of(bundle, channels, calibration, every_s=every_s)
    engine.warm()
    return engine


def _source_json(live: Live) -> dict[str, Any]:
    """The source: its name, its counts, what it can release."""
    source, recorder = live.source, live.recorder
    return {
        "name": clipped(printable(source.name), 120),
        "status": recorder.status,
        "unit": clipped(printable(source.unit), 40),
        "channels": [clipped(printable(name), 60) for name in recorder.channels],
        **recorder.counts_json(),
        "room": recorder.backlog.most,
        "problem": recorder.problem,
        "can_release": hasattr(source, "release"),
        "truth": label_json(live.truth),
        "releases": [printable(name) for name in getattr(source, "components", ())],
    }


def _model_json(live: Live) -> dict[str, Any]:
    """The model: its components and channels, and whether it answers."""
    bundle = live.bundle
    return {
        "name": clipped(printable(bundle.name), 60),
        "components": [printable(name) for name in bundle.components],
        "channels": [printable(name) for name in bundle.preprocessing.channels],
        "window_s": bundle.spec.window_s,
        "ready": live.ready,
        "problem": live.problem,
    }
