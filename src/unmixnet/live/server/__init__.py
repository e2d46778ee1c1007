"""The page's server: guarded routes, and a stream for every reader."""

from unmixnet.live.server.app import create_app
from unmixnet.live.server.auth import Door, DoorError

__all__ = ["Door", "DoorError", "create_app"]
