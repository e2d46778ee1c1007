"""`unmixnet devices`: the serial ports of this machine, and what is plugged into them."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from unmixnet.cli.output import message, print_json, print_table

if TYPE_CHECKING:
    from unmixnet.live.sources.serial_port import Port

__all__ = ["devices"]


def devices(
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    all_ports: Annotated[bool, typer.Option("--all", help="List ports with nothing plugged into them, too.")] = False,
) -> None:
    """List serial ports; use one with: unmixnet live --serial PORT."""
    from unmixnet.live.sources.serial_port import list_ports

    ports = list_ports(everything=all_ports)
    if json_output:
        print_json("unmixnet.devices/1", {"devices": [asdict(port) for port in ports]})
    else:
        _print(ports)


def _print(ports: "list[Port]") -> None:
    if not ports:
        message("No board found. Plug one in; if it is, try another USB cable: some only charge.")
        message("Without a board: unmixnet live --simulate")
        return
    rows = [[port.port, port.device, port.board or "unknown", port.serial_number or "–"] for port in ports]
    print_table("Serial ports", ["port", "device", "board", "serial number"], rows)
    message(f"Use one with: unmixnet live --serial {ports[0].port}")
