"""Who runs which command of the pages, and what is added so that it ends in minutes rather than hours."""

import shlex
from dataclasses import dataclass, field

QUICK, LONG, LIVE, CHECKOUT, INSTALL = "quick", "long", "live", "checkout", "install"
STANDS_FOR = {
    "FILE…": "FILE.csv",
    "FILE.toml": "jar.toml",
    "DATASET": "simulated",
    "SPLIT": "later",
    "FOLDER": "my_recordings",
    "COMMAND": "unmix",
    "10.0.0.1:6379": "{ray}",
    "PORT": "{board}",
    "mqtt://host/topic": "mqtt://127.0.0.1:{broker}/topic",
    "2000000": "20000",
}
"""Placeholders whose name says too little, machines that stand in for the reader's, and fewer rows."""
LONG_BLOCKS = ("docs/calibrated-simulator.md", "docs/scale.md")
"""Pages whose Python takes longer than `make test` should wait."""
NAMES = ("unmixnet live", "unmixnet data", "python -m studies", "python -m studies bench")
"""Sentences that speak of a command by its name: it wants more than that to do anything."""


@dataclass(frozen=True)
class Plan:
    """How commands that start with these words are run.

    Arguments:
        how: `quick` in `make test`, the others in `make soak`: `long` and `live` in a folder that has the files which
            the pages name, `checkout` in a copy of the repository, `install` with the wheel.
        more: what is added.
        data: the measured recordings are needed.
        codes: exit codes that are right.
    """

    starts: str
    how: str
    more: tuple[str, ...] = ()
    data: bool = False
    codes: tuple[int, ...] = field(default=(0,))


def _study(name: str, *more: str, data: bool = False) -> Plan:
    return Plan(f"python -m studies {name}", LONG, (*more, "--out", f"{name.split()[0]}-rows.json"), data)


_TINY = ("--quick", "--only", "mean", "--only", "mlp", "--work", "work")
PLANS = (
    # a warning is what --strict is there to report
    Plan("unmixnet check my_folder --strict", QUICK, codes=(0, 2)),
    *(Plan(f"unmixnet {name}", QUICK) for name in ("check", "audit", "data list", "devices", "unmix --help")),
    Plan("unmixnet data fetch", QUICK, ("--mirror", "{home}", "--to", "fetched", "--json")),
    Plan("unmixnet simulate", LONG),
    Plan("unmixnet fingerprints smellnet-mixture", LONG, data=True),
    *(
        Plan(f"unmixnet {name}", LONG)
        for name in ("calibrate-session", "demo", "evaluate", "export", "fingerprints", "train", "unmix", "validate")
    ),
    Plan("unmixnet unmix-archive", LONG),
    Plan("unmixnet live", LIVE, ("--port", "0", "--store", "{store}")),
    Plan("python -m studies bench solver", LONG, ("--quick",)),
    Plan("python -m studies bench cells", LONG, ("--repetitions", "1", "--output", "cells.json")),
    Plan("python -m studies bench training", LONG),
    Plan("unmixnet calibrate", LONG, ("--quick", "--seconds", "10"), data=True),
    _study("ablation", "--study", "high-coupling", "--quick", "--only", "mean", "--work", "work", data=True),
    _study("audit", data=True),
    _study("bundles", data=True),
    _study("efficiency", "--quick", data=True),
    _study("novelty", "--quick", "--dataset", "simulated", "--work", "work"),
    _study("peers", "--only", "plateaus", "--seeds", "1", data=True),
    _study("session", "--quick", "--draws", "1", "--work", "work", data=True),
    _study("simulated", "--study", "simulated", *_TINY),
    _study("smellnet", "--study", "new-session", *_TINY, data=True),
    _study("states", "--quick", "--world", "frozen", "--only", "adr-gnn", "--work", "work", data=True),
    _study("uci --only dynamic", "--hours", "2", "--rate", "5", "--work", "work", data=True),
    _study("uci", "--only", "traces", "--seeds", "1", "--work", "work", data=True),
    Plan("python -m studies figures", CHECKOUT, ("--redraw", "--out", "out/img")),
    Plan("python numpy_reader.py", LONG),
    Plan("python -m studies.tables", CHECKOUT),
    Plan("python -m studies.bench.scale", CHECKOUT, ("--quick",)),
    Plan("python -m studies.bench.reader", CHECKOUT),
    Plan("make", CHECKOUT),
    Plan("pip install", INSTALL),
    Plan("pipx install", INSTALL),
)


def plan_of(command: str) -> Plan | None:
    """The first plan that speaks of the command; None if nobody runs it."""
    return next((plan for plan in PLANS if f"{_read(command)} ".startswith(f"{plan.starts} ")), None)


def _read(command: str) -> str:
    return command.replace("COMMAND", STANDS_FOR["COMMAND"])


def words_of(command: str, **machines: str) -> list[str]:
    """The words to run, with what is added; `machines` are the addresses of those that stand in."""
    plan = plan_of(command)
    assert plan is not None
    # twice the same option: the one that is added counts
    words = [STANDS_FOR.get(word, word) for word in shlex.split(command)] + list(plan.more)
    return [word.format(**machines) if word.count("{") == 1 else word for word in words]
