"""The `unmixnet` command. Subcommands import what they need when they run, so `--help` answers at once."""

import os
import sys

import typer

from unmixnet.cli import (
    archive,
    audit,
    calibrate,
    calibrate_session,
    check,
    data,
    demo,
    devices,
    evaluate,
    export,
    fingerprints,
    live,
    simulate,
    train,
    unmix,
    validate,
)
from unmixnet.cli.compilation_cache import keep_programs
from unmixnet.cli.output import error_message
from unmixnet.errors import UnmixError

__all__ = ["app", "main", "run"]

app = typer.Typer(
    name="unmixnet",
    help="What is in the air, in which proportions, and by which physical process.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.command("demo")(demo.demo)
app.command("unmix")(unmix.unmix)
app.command("unmix-archive")(archive.unmix_archive)
app.command("train")(train.train)
app.command("evaluate")(evaluate.evaluate)
app.command("live")(live.live)
app.command("devices")(devices.devices)
app.command("calibrate-session")(calibrate_session.calibrate_session)
app.command("export")(export.export)
app.command("calibrate")(calibrate.calibrate)
app.command("simulate")(simulate.simulate)
app.command("validate")(validate.validate)
app.command("check")(check.check)
app.command("audit")(audit.audit)
app.command("fingerprints")(fingerprints.fingerprints)
app.add_typer(data.app, name="data")


def main() -> None:
    """Run the command line."""
    run(app)


def run(command: typer.Typer) -> None:
    """Run a command line; an `UnmixError` becomes one line on stderr and exit code 2."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    keep_programs()
    try:
        command()
    except UnmixError as error:
        error_message(error)
        sys.exit(2)
