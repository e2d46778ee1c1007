"""`python -m studies …`: every table, figure and benchmark, from the data to the numbers."""

import typer

from studies.ablation.command import ablation
from studies.bench import command as bench
from studies.efficiency.command import efficiency
from studies.figures.command import figures
from studies.novelty.command import novelty
from studies.peers.command import peers
from studies.session.command import session
from studies.smellnet.command import audit, bundles, simulated, smellnet
from studies.states.command import states
from studies.uci.command import uci
from unmixnet.cli import run

__all__ = ["app"]

app = typer.Typer(
    name="python -m studies",
    help="Reproduce every table, with its null baselines and controls.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (
    audit,
    peers,
    simulated,
    smellnet,
    session,
    ablation,
    efficiency,
    novelty,
    uci,
    states,
    bundles,
    figures,
):
    app.command()(command)
app.add_typer(bench.app, name="bench")

if __name__ == "__main__":
    run(app)
