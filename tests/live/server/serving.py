"""A server in a thread, as a browser meets it."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn

from unmixnet.live.hub import Live, LiveSettings
from unmixnet.live.server import Authentication, create_app
from unmixnet.live.server.app import listen
from unmixnet.live.server.security import SecurityMiddleware
from unmixnet.live.store import Store

from .fakes import MadeUpSource, bundle, make_engine


@dataclass(frozen=True)
class Served:
    """A running server, and a client that has come in."""

    live: Live
    auth: Authentication
    app: SecurityMiddleware
    url: str
    client: httpx.Client

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")

    def without_session(self, **how) -> httpx.Client:
        """A client without a session."""
        return httpx.Client(base_url=self.url, timeout=10, **how)


@contextmanager
def serving(
    folder: Path,
    source=None,
    *,
    settings: LiveSettings | None = None,
    make_engine=make_engine,
    model=None,
    **auth,
) -> Iterator[Served]:
    """Serve a made-up board and model, unless others are given; `make_engine` None is the real engine."""
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    with Store.open(folder / "store.db") as store:
        live = Live(source or MadeUpSource(), store, model or bundle(), settings, make_engine=make_engine)
        at = Authentication("127.0.0.1", port, **auth)
        app = create_app(live, at, folder / "models")
        config = uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=url, headers={"Origin": url}, timeout=20) as client:
            assert client.get(at.link().removeprefix(url)).status_code == 200
            try:
                yield Served(live, at, app, url, client)
            finally:
                server.should_exit = True
                thread.join(10)
