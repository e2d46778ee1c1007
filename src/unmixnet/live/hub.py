"""The hub: source → store → engine → every open page. A page that is slow never holds up the recorder."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from unmixnet.errors import UnmixError
from unmixnet.live.fanout import Fanout, encode
from unmixnet.live.listener import RETRY_S, Listener
from unmixnet.live.messages import model_json, source_json
from unmixnet.live.recordings import Takes, label_json
from unmixnet.live.sample import Item, Source, SourceEvent
from unmixnet.live.store import Store

if TYPE_CHECKING:
    from unmixnet.inference.bundle import Bundle
    from unmixnet.inference.session import SessionCalibration
    from unmixnet.live.engine import Engine
    from unmixnet.recordings.recording import Mixture

    MakeEngine = Callable[[Bundle, tuple[str, ...], SessionCalibration | None, float], Engine]

__all__ = ["Live", "LiveSettings"]

_GATHER_S = 0.04
"""Samples that arrive within this time [s] share one transaction and one frame."""
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
        lesson_epochs: epochs of a lesson; None is what `teach` thinks best.
        upload_bytes: largest file that is unmixed.
    """

    every_s: float = 1.0
    lesson_epochs: int | None = None
    upload_bytes: int = 20_000_000


class Live:
    """One source, one store, one model, and everybody who looks on. Lives on one event loop.

    Arguments:
        source: where samples come from.
        store: where they are kept.
        bundle: the model that answers at first.
        make_engine: makes a compiled engine of a bundle, the channels and a calibration.
    """

    def __init__(
        self,
        source: Source,
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
        self.listener = Listener(store, source.name, source.unit)
        self.takes = Takes(store, self.listener)
        self.calibration: SessionCalibration | None = None
        self.trouble, self.ready = "", False
        self.parts: dict[str, Callable[[], Any]] = {}
        """Further parts of the state, by name: lessons, answers."""
        self.truth: Mixture | None = None
        """What is in front of a simulated chamber."""
        self._inbox: asyncio.Queue[Item] = asyncio.Queue(_INBOX)
        self._recorder = ThreadPoolExecutor(1, thread_name_prefix="recorder")
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="worker")
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
            await self.recorder(self._last_attempt)
            self._recorder.shutdown(wait=True)
            self._worker.shutdown(wait=False, cancel_futures=True)

    def _last_attempt(self) -> None:
        """Write what still waits, and say so if that is not possible."""
        self.listener.flush(at_once=True)
        waiting = self.listener.counts.waiting
        if waiting:
            _log.error("%d rows were never stored. %s", waiting, self.listener.trouble)

    async def recorder(self, work: Callable[..., _T], *given: Any) -> _T:
        """Run something in the thread of the recorder."""
        return await asyncio.get_running_loop().run_in_executor(self._recorder, work, *given)

    async def worker(self, work: Callable[..., _T], *given: Any) -> _T:
        """Run something long beside the recorder; one at a time."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, work, *given)

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
                await self._hear(items)
            except UnmixError as error:
                self.send("trouble", {"text": str(error)})
            except Exception:  # a defect of ours must not end the stream
                _log.exception("a batch of %d items was not shown", len(items))
                self.send("trouble", {"text": "Something went wrong here; the terminal shows what."})

    async def _next(self) -> Item | None:
        """The next item; None when it is time to try the store again."""
        try:
            async with asyncio.timeout(RETRY_S if self.listener.trouble else None):
                return await self._inbox.get()
        except TimeoutError:
            return None

    async def _hear(self, items: list[Item]) -> None:
        heard = self.listener
        before = (heard.channels, heard.trouble, heard.broken)
        for frame in await self.recorder(heard.hear, items, self.source.channels):
            self.fanout.send(frame)
        if heard.channels and not before[0]:
            self.rebuild()
        if heard.broken and not before[2]:
            self.ready, self.trouble = False, _MODEL_FAILED
        if before != (heard.channels, heard.trouble, heard.broken):
            self.changed()
        if self.takes.due and not heard.trouble:
            self.takes.stop()
            self.changed()
        truth = getattr(self.source, "now", None)
        if truth != self.truth:
            self.truth = truth
            self.send("truth", label_json(truth))

    # ---------------------------------------------------------------- telling

    def send(self, kind: str, value: Any) -> None:
        """A frame for every page."""
        self.fanout.send(encode(kind, value))

    def changed(self) -> None:
        """Tell every page the state anew."""
        self.send("state", self.state())

    def state(self) -> dict[str, Any]:
        """Everything but the numbers that stream, as plain values."""
        return {
            "source": source_json(self),
            "model": model_json(self),
            "recording": self.takes.running_json(),
            "recordings": self.takes.listed(),
            "marks": list(self.listener.marks),
            **{name: part() for name, part in self.parts.items()},
        }

    async def mark(self, text: str) -> None:
        """Set a mark at the newest sample, on every page and in the store."""
        if not self.listener.channels:
            raise UnmixError("there are no samples yet", remedy="Wait for the first one")
        self.fanout.send(await self.recorder(self.listener.mark, "mark", text))

    async def clean_air(self) -> None:
        """Tell the engine that the air is clean now."""
        if not self.listener.channels:
            raise UnmixError("there are no samples yet", remedy="Wait for the first one")
        self.fanout.send(await self.recorder(self.listener.clean_air))

    # ---------------------------------------------------------------- the model

    @property
    def applied(self) -> "SessionCalibration | None":
        """The calibration that answers are made with; one that changes nothing need not be named in them."""
        return self.calibration if self.calibration is not None and self.calibration.method != "none" else None

    def rebuild(self) -> None:
        """Make the engine anew for the present model, channels and calibration, beside the recorder."""
        if self._building is not None:
            self._building.cancel()
        self._building = asyncio.create_task(self._rebuild())

    async def _rebuild(self) -> None:
        self.ready, self.trouble = False, ""
        try:
            given = (self.bundle, self.listener.channels, self.applied, self.settings.every_s)
            engine = await self.worker(self._make_engine, *given)
        except UnmixError as error:
            engine, self.trouble = None, str(error)
        except Exception:
            _log.exception("the model %s failed", self.bundle.name)
            engine, self.trouble = None, _MODEL_FAILED
        for frame in await self.recorder(self.listener.use, engine):
            self.fanout.send(frame)
        if self.listener.broken:
            engine, self.trouble = None, _MODEL_FAILED
        self.ready = engine is not None
        self.changed()
        self.send("history", self.listener.history())


def _warm_engine(
    bundle: "Bundle", channels: tuple[str, ...], calibration: "SessionCalibration | None", every_s: float
) -> "Engine":
    from unmixnet.live.engine import Engine

    engine = Engine.of(bundle, channels, calibration, every_s=every_s)
    engine.warm()
    return engine
