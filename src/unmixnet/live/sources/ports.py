"""The serial ports of this machine."""

from dataclasses import dataclass
from typing import Any

from unmixnet.live.sample import SourceError
from unmixnet.live.sources.extra import live_part

__all__ = ["Port", "list_ports"]

_LONGEST_TEXT = 80


@dataclass(frozen=True)
class Port:
    """A serial port.

    Arguments:
        port: the name to use; one that stays the same when the board is plugged in elsewhere, if the system has it.
        device: the device file behind it.
        board: maker and product, as the board says; "" if it says nothing.
        serial_number: of the board, "" if it has none.
        vid, pid: USB identifiers of maker and product; None if it is no USB device.
    """

    port: str
    device: str
    board: str
    serial_number: str
    vid: int | None
    pid: int | None


def list_ports(*, everything: bool = False) -> list[Port]:
    """Ports that a board is plugged into; `everything` adds the sockets at the back of the machine."""
    serialx = live_part("serialx")
    try:
        found = serialx.list_serial_ports()
    except (OSError, serialx.SerialException) as error:
        raise SourceError(
            f"the ports cannot be listed ({error})", remedy="Name the port yourself: unmixnet live --serial PORT"
        ) from None
    ports = sorted((_port(info) for info in found), key=lambda port: port.port)
    return [port for port in ports if everything or port.vid is not None]


def _port(info: Any) -> Port:
    board = " ".join(part for part in (info.manufacturer, info.product) if part)
    return Port(
        str(info.device),
        str(info.resolved_device),
        _printable(board),
        _printable(info.serial_number or ""),
        info.vid,
        info.pid,
    )


def _printable(text: str) -> str:
    """What a board says of itself, on one line: anybody can build a board that says anything."""
    return "".join(char for char in text if char.isprintable())[:_LONGEST_TEXT]
