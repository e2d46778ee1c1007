"""`unmixnet live` says what is missing before it opens anything."""

import pytest
import typer
from typer.testing import CliRunner

from unmixnet.cli.live import live
from unmixnet.errors import UnmixError
from unmixnet.live.server import page_files as files

app = typer.Typer()
app.command()(live)


def refusal(*arguments: str) -> str:
    result = CliRunner().invoke(
        app, [*arguments, "--port", "0", "--store", "/nowhere/at/all.db"], env={"UNMIXNET_TOKEN": ""}
    )
    assert isinstance(result.exception, UnmixError), result.output
    return str(result.exception)


def test_it_wants_exactly_one_source():
    assert "--simulate" in refusal()
    assert "2 sources" in refusal("--serial", "/dev/ttyUSB0", "--mqtt", "mqtt://host/topic")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])
def test_an_address_that_others_reach_needs_a_token(host):
    assert "UNMIXNET_TOKEN" in refusal("--serial", "/dev/ttyUSB0", "--host", host)


def test_a_page_that_was_not_built_says_what_to_do(monkeypatch):
    monkeypatch.setattr(files, "_files", dict)
    assert "make page" in refusal("--serial", "/dev/ttyUSB0")


def test_a_port_that_is_taken_is_told(monkeypatch, tmp_path):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(
            app, ["--serial", "/dev/ttyUSB0", "--port", port, "--store", str(tmp_path / "x.db")]
        )
        assert "--port 0" in str(result.exception)
