"""The `unmixnet` command. Subcommands import what they need when they run, so `--help` answers at once.

Private: nothing here is part of the public interface.
"""

import os
import sys
from contextlib import suppress
from typing import Annotated, Any

import typer

from unmixnet import __version__
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


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"unmixnet {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """What is in the air, in which proportions, and by which physical process."""


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
    """Run a command line and leave the process.

    An `UnmixError`, or a file that the system refuses, becomes one line on stderr and exit code 2; Ctrl-C (130) and a
    pipe that its reader closed (1) end the command without a word.
    """
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    keep_programs()
    _open_closed_streams()
    try:
        code = _exit_code(command)
    except UnmixError as error:
        error_message(error)
        code = 2
    except BrokenPipeError:
        _close_pipes()
        code = 1
    except OSError as error:
        error_message(_refused_file(error))
        # a disk that is full would fail once more when the interpreter flushes
        _close_pipes()
        code = 2
    except KeyboardInterrupt:
        code = _INTERRUPTED
    if code == _INTERRUPTED and "jax" in sys.modules:
        _leave_at_once()
    sys.exit(code)


_INTERRUPTED = 130
"""Exit code after Ctrl-C, as of a shell."""


def _leave_at_once() -> None:
    """End without the interpreter's clean-up, which crashes while XLA compiles in another thread."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(_INTERRUPTED)


def _exit_code(command: typer.Typer) -> Any:
    """Run a command to its end; what it printed is written before the interpreter ends, so that errors show here."""
    try:
        command()
    except SystemExit as end:
        sys.stdout.flush()
        return end.code


def _open_closed_streams() -> None:
    """Python has no stdout or stderr where the shell closed it (`>&-`)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def _close_pipes() -> None:
    """Let the interpreter flush what is left to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            os.dup2(nowhere, stream.fileno())


def _refused_file(error: OSError) -> UnmixError:
    where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    return UnmixError(error.strerror or str(error), where=where, remedy="Choose another file or folder")
