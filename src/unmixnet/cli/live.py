"""`unmixnet live`: what is in the air now, on a page in the browser."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmixnet.cli.output import message, spinner

if TYPE_CHECKING:
    from unmixnet.inference.bundle import Bundle
    from unmixnet.live.sample import SampleSource

__all__ = ["live"]

MODEL, SIMULATED = "smellnet-mixture", "simulated"


def live(
    serial: Annotated[str | None, typer.Option(metavar="PORT", help="A board at a serial port.")] = None,
    mqtt: Annotated[str | None, typer.Option(metavar="URL", help="A topic, such as mqtt://host/topic.")] = None,
    replay: Annotated[Path | None, typer.Option(metavar="FILE", help="A recording to replay.")] = None,
    simulate: Annotated[bool, typer.Option("--simulate", help="A simulated e-nose.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0 takes any.")] = 8765,
    host: Annotated[str, typer.Option(help="Address to listen on; others than 127.0.0.1 need a token.")] = "127.0.0.1",
    name: Annotated[list[str] | None, typer.Option(help="Further name under which the page is opened.")] = None,
    token: Annotated[
        str | None, typer.Option(envvar="UNMIXNET_TOKEN", show_envvar=True, help="Token for access without a link.")
    ] = None,
    store: Annotated[Path, typer.Option(metavar="FILE", help="Where everything is kept.")] = Path(
        "out/live/recordings.db"
    ),
    model: Annotated[str | None, typer.Option(metavar="DIR|NAME", help="Folder or name of a bundle.")] = None,
    speed: Annotated[float, typer.Option(min=0.1, max=1000, help="Of a replay or a simulation.")] = 1.0,
    baud: Annotated[int, typer.Option(min=300, help="Of the serial port.")] = 115200,
    browser: Annotated[bool, typer.Option("--browser", help="Open the page in a browser.")] = False,
    lesson_epochs: Annotated[int | None, typer.Option(min=1, hidden=True)] = None,
) -> None:
    """Unmix a stream of readings on a page in the browser: record, mark, calibrate, teach, export.

    The page is for this machine only, and nothing leaves it. `unmixnet live --simulate` needs no hardware.
    """
    source = _source(serial, mqtt, replay, simulate, speed, baud)
    with spinner("starting"):
        from unmixnet.live.sample import live_library

        for part in ("starlette", "uvicorn", "sse_starlette"):
            live_library(part)
        from unmixnet.live.hub import Live, LiveSettings
        from unmixnet.live.server.app import listen, serve
        from unmixnet.live.server.auth import Authentication, check_address
        from unmixnet.live.server.page_files import check_page
        from unmixnet.live.store import Store

        check_page()
        check_address(host, token, tuple(name or ()))
    settings = LiveSettings(every_s=max(1.0, speed / 10), lesson_epochs=lesson_epochs)
    with listen(host, port) as listening, Store.open(store) as kept:
        auth = Authentication(host, listening.getsockname()[1], token=token, names=tuple(name or ()))
        bundle = _bundle(model, simulate)
        _welcome(auth.link(), host, browser)
        with suppress(KeyboardInterrupt):
            serve(Live(source, kept, bundle, settings), auth, listening, store.with_suffix(".models"))
    message(f"Stopped. Everything is in {store}.")


def _source(
    serial: str | None, mqtt: str | None, replay: Path | None, simulate: bool, speed: float, baud: int
) -> "SampleSource":
    from unmixnet.errors import ConfigError

    chosen = [given for given in (serial, mqtt, replay, simulate or None) if given is not None]
    if len(chosen) != 1:
        raise ConfigError(
            f"{len(chosen)} sources were given, expected one of --serial, --mqtt, --replay and --simulate",
            remedy="Start with `unmixnet live --simulate`; `unmixnet devices` lists serial ports",
        )
    if serial is not None:
        from unmixnet.live.sources.serial_port import SerialSource

        return SerialSource(serial, baud=baud)
    if mqtt is not None:
        from unmixnet.live.sources.mqtt import MqttSource

        return MqttSource(mqtt)
    if replay is not None:
        from unmixnet.live.sources.replay import ReplaySource

        return ReplaySource(replay, speed=speed)
    from unmixnet.live.sources.simulated import SimulatedSource

    return SimulatedSource(speed=speed)


def _bundle(name: str | None, simulate: bool) -> "Bundle":
    """The chosen model, or the packaged one that suits the source; one that does not is reported on the page."""
    with spinner("opening the model"):
        from unmixnet.inference.bundle import load_model, packaged

        first = SIMULATED if simulate or MODEL not in packaged() else MODEL
        return load_model(name or first)


def _welcome(link: str, host: str, browser: bool) -> None:
    """The link on stdout, since a program may want it; the rest on stderr."""
    from unmixnet.live.server.auth import is_loopback

    print(link, flush=True)
    message("Open this link in a browser; it works once. Stop with Ctrl-C.")
    if not is_loopback(host):
        message("Others on the network can reach this page with the token; what they send and see is not encrypted.")
    if browser:
        import webbrowser

        webbrowser.open(link)
