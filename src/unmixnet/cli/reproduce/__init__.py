"""`unmixnet reproduce …`: every table, from the data to the numbers; one file for each command."""

import typer

from unmixnet.cli.reproduce.ablation import ablation
from unmixnet.cli.reproduce.audit import audit
from unmixnet.cli.reproduce.bundles import bundles
from unmixnet.cli.reproduce.efficiency import efficiency
from unmixnet.cli.reproduce.figures import figures
from unmixnet.cli.reproduce.novelty import novelty
from unmixnet.cli.reproduce.peers import peers
from unmixnet.cli.reproduce.session import session
from unmixnet.cli.reproduce.states import states
from unmixnet.cli.reproduce.studies import simulated, smellnet
from unmixnet.cli.reproduce.uci import uci

__all__ = ["app"]

app = typer.Typer(help="Reproduce every table, with its null baselines and controls.", no_args_is_help=True)
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
