"""`unmixnet reproduce …`: every table, from the data to the numbers; one file for each command."""

import typer

from studies.ablation.command import ablation
from studies.audit.command import audit
from studies.bundles.command import bundles
from studies.efficiency.command import efficiency
from studies.figures.command import figures
from studies.novelty.command import novelty
from studies.peers.command import peers
from studies.session.command import session
from studies.smellnet.command import simulated, smellnet
from studies.states.command import states
from studies.uci.command import uci

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
