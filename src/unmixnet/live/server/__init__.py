"""The server of the page: routes behind one security layer, and a stream for every reader."""

from unmixnet.live.server.app import create_app
from unmixnet.live.server.auth import Authentication, AuthenticationError

__all__ = ["Authentication", "AuthenticationError", "create_app"]
