"""Serving until somebody stops it: the socket is bound first, so that the link that is printed works."""

import os
import socket
from pathlib import Path

import uvicorn

from unmixnet.errors import UnmixError
from unmixnet.live.hub import Live
from unmixnet.live.server.app import create_app
from unmixnet.live.server.auth import Door

__all__ = ["ServeError", "listen", "serve"]


class ServeError(UnmixError):
    """A server that cannot listen."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
        # connections inherit it; without it every answer waits 40 ms for an acknowledgement
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    except OSError as error:
        raise ServeError(
            f"the address {host}, port {port}, cannot be used ({os.strerror(error.errno or 0)})",
            where="--port",
            remedy="Choose another one, or --port 0 for any that is free",
        ) from None


def serve(live: Live, door: Door, listening: socket.socket, models: Path) -> None:
    """Serve until Ctrl-C. No access log, since it would hold the keys of the links."""
    config = uvicorn.Config(
        create_app(live, door, models),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=2,
        lifespan="on",
    )
    uvicorn.Server(config).run(sockets=[listening])
