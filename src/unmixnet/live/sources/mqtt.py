"""A board that publishes its lines to an MQTT broker; the broker may be restarted."""

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from unmixnet.live.lines import LONGEST_LINE, LineParser
from unmixnet.live.sample import Item, Rejected, SourceError, SourceEvent, live_library

if TYPE_CHECKING:
    import aiomqtt

__all__ = ["RETAINED", "MqttAddress", "MqttSource", "mqtt_address"]

RETAINED = "kept by the broker, of unknown age"
"""Reason for which a retained message is rejected."""
_PORTS = {"mqtt": 1883, "mqtts": 8883}
_MOST_WAITING = 10_000
_KEEPALIVE_S, _TIMEOUT_S = 10, 5


@dataclass(frozen=True)
class MqttAddress:
    """Where lines are published; the password is never shown."""

    host: str
    port: int
    topic: str
    secure: bool = False
    user: str | None = None
    password: str | None = field(default=None, repr=False)


def mqtt_address(url: str) -> MqttAddress:
    """`mqtt://[user:password@]host[:port]/topic`, or `mqtts://` for TLS."""
    try:
        parts = urlsplit(url, allow_fragments=False)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    topic = unquote(parts.path.removeprefix("/")) + (f"?{parts.query}" if parts.query else "")
    if parts.scheme not in _PORTS or not host or not topic or set(topic) & set("+#\0"):
        # the URL is not quoted: it may hold a password
        raise SourceError(
            "an address that is not understood, expected mqtt://[user:password@]host[:port]/topic with one topic",
            where="--mqtt",
            remedy="Write for example mqtt://localhost/enose/lines, without the wildcards + and #",
        )
    user, password = (unquote(part) if part is not None else None for part in (parts.username, parts.password))
    return MqttAddress(host, port or _PORTS[parts.scheme], topic, parts.scheme == "mqtts", user, password)


class MqttSource:
    """Lines that one board publishes to one topic, one or several in a message.

    Arguments:
        url: as `mqtt_address` reads it.
        retry_s: time between attempts to find a broker again that went away [s].
    """

    def __init__(self, url: str, *, retry_s: float = 0.5) -> None:
        self.address, self.retry_s = mqtt_address(url), retry_s
        self.name = f"topic {self.address.topic} at {self.address.host}:{self.address.port}"
        self.unit = "counts"
        self.parser = LineParser()

    @property
    def channels(self) -> tuple[str, ...] | None:
        """Channels that the lines name; None before the first of them."""
        return self.parser.channels

    async def stream(self) -> AsyncIterator[Item]:
        """Samples for as long as the process lives; a broker that does not answer at first is an error."""
        aiomqtt = live_library("aiomqtt")
        kind, here = "connected", False
        while True:
            try:
                async with self._client() as client:
                    await client.subscribe(self.address.topic, qos=1)
                    yield SourceEvent(kind, f"Subscribed to {self.name}.")
                    kind, here = "reconnected", True
                    async for message in client.messages:
                        for item in self._items(message.payload, retained=message.retain):
                            yield item
            except (aiomqtt.MqttError, OSError) as error:
                if kind == "connected":
                    raise self._refused(error) from None
            if here:
                here = False
                yield SourceEvent("lost", f"{self.address.host} is gone; waiting for it to come back.")
            await asyncio.sleep(self.retry_s)

    def _client(self) -> "aiomqtt.Client":
        address = self.address
        # paho's messages about lost connections would repeat the events
        quiet = logging.getLogger("unmixnet.live.mqtt")
        quiet.setLevel(logging.CRITICAL)
        return live_library("aiomqtt").Client(
            address.host,
            address.port,
            username=address.user,
            password=address.password,
            tls_context=ssl.create_default_context() if address.secure else None,
            timeout=_TIMEOUT_S,
            keepalive=_KEEPALIVE_S,
            max_queued_incoming_messages=_MOST_WAITING,
            logger=quiet,
        )

    def _items(self, payload: object, *, retained: bool) -> Iterator[Item]:
        """The items of one message."""
        raw = payload if isinstance(payload, bytes) else str(payload).encode()
        if retained:
            yield Rejected(RETAINED, raw[:LONGEST_LINE].decode("utf-8", "replace"))
            return
        arrived_s = time.monotonic()
        for line in raw.split(b"\n"):
            item = self.parser.parse(line[: LONGEST_LINE + 1], arrived_s)
            if item is not None:
                yield item

    def _refused(self, error: Exception) -> SourceError:
        where = f"{self.address.host}:{self.address.port}"
        remedy = "Check that the broker runs, its address, and user and password"
        return SourceError(f"the broker does not answer ({error})", where=where, remedy=remedy)
