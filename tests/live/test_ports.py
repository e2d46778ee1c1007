"""`unmixnet devices` lists what is plugged in, and whatever a board says of itself stays text."""

import json
import sys
from types import SimpleNamespace

import pytest

from unmixnet.cli.devices import devices
from unmixnet.errors import UnmixError
from unmixnet.live.sources.serial_port import list_ports

BOARD = {
    "device": "/dev/serial/by-id/usb-Arduino_Uno",
    "resolved_device": "/dev/ttyACM0",
    "vid": 0x2341,
    "pid": 0x43,
    "serial_number": "757",
    "manufacturer": "Arduino",
    "product": "[red]Uno\x1b[2J",
}
SOCKET = dict.fromkeys(BOARD) | {"device": "/dev/ttyS0", "resolved_device": "/dev/ttyS0"}


@pytest.fixture
def plugged(monkeypatch):
    import serialx

    ports = [SimpleNamespace(**SOCKET), SimpleNamespace(**BOARD)]
    monkeypatch.setattr(serialx, "list_serial_ports", lambda: ports)
    return ports


def test_boards_are_listed_and_empty_sockets_only_when_asked_for(plugged):
    assert [port.device for port in list_ports()] == ["/dev/ttyACM0"]
    assert [port.device for port in list_ports(everything=True)] == ["/dev/ttyACM0", "/dev/ttyS0"]


def test_the_json_is_one_object(plugged, capsys):
    devices(json_output=True, all_ports=False)
    printed = json.loads(capsys.readouterr().out)
    assert printed["schema"] == "unmixnet.devices/1"
    assert [device["port"] for device in printed["devices"]] == [BOARD["device"]]


def test_what_a_board_says_of_itself_stays_text(plugged, capsys):
    devices(json_output=False, all_ports=False)
    printed = capsys.readouterr()
    assert "[red]Uno" in printed.out.replace("\n", "") and "\x1b[2J" not in printed.out
    assert "unmixnet live --serial" in printed.err


def test_without_a_board_the_way_on_is_shown(plugged, capsys):
    plugged.clear()
    devices(json_output=False, all_ports=False)
    assert "unmixnet live --simulate" in capsys.readouterr().err


def test_without_the_library_the_way_to_it_is_shown(monkeypatch):
    monkeypatch.setitem(sys.modules, "serialx", None)
    with pytest.raises(UnmixError, match=r"pip install 'unmixnet\[live\]'"):
        list_ports()
