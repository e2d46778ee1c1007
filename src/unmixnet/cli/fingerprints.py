"""`unmixnet fingerprints DATASET`: which components can this array tell apart?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmixnet.cli.output import figure_path, message, print_json, print_text

if TYPE_CHECKING:
    from unmixnet.recordings.coherence import Coherence
    from unmixnet.recordings.fingerprints import Fingerprints

__all__ = ["fingerprints"]


def fingerprints(
    dataset: Annotated[
        str, typer.Argument(help="smellnet-mixture, smellnet-base, simulated, or folder (with --data).")
    ],
    data: Annotated[Path | None, typer.Option(help="Data folder; else the variable UNMIXNET_DATA.")] = None,
    response: Annotated[str, typer.Option(help="level, relative, log-ratio or log-conductance.")] = "level",
    baseline: Annotated[str, typer.Option(help="none, recording or reference.")] = "none",
    align: Annotated[bool, typer.Option(help="Shift every recording to its onset.")] = False,
    figure: Annotated[
        Path | None, typer.Option(metavar="OUT.svg", callback=figure_path, help="Draw the coherence graph.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Coherence of the fingerprints of pure components, from measured training recordings.

    With --baseline recording, use --align too; SmellNet mixtures start exposed and have no baseline of
    their own.
    """
    from unmixnet.inference.fingerprints import pure_fingerprints
    from unmixnet.recordings.coherence import coherence, draw_coherence

    prints = pure_fingerprints(dataset, data, response=response, baseline=baseline, align=align)
    result = coherence(prints)
    if figure is not None:
        draw_coherence(result).savefig(figure)
        message(f"Wrote {figure}")
    if as_json:
        print_json("unmixnet.fingerprints/1", _values(prints, result))
    else:
        print_text(_text(result))


def _values(prints: "Fingerprints", result: "Coherence") -> dict[str, Any]:
    counts = zip(prints.components, prints.counts, strict=True)
    pairs = result.confusable()
    return {
        "components": [{"name": name, "recordings": count} for name, count in counts],
        "channels": prints.channels,
        "mu_raw": result.mu_raw,
        "mu_whitened": result.mu_whitened,
        "guaranteed": result.guaranteed,
        "confusable": [{"first": first, "second": second, "mu": mu} for first, second, mu in pairs],
    }


def _text(result: "Coherence") -> str:
    lines = [
        f"Coherence of {len(result.components)} fingerprints: {result.mu_raw:.4f} raw, "
        f"{result.mu_whitened:.4f} without the common mode and in units of noise.",
        f"Theorem 1 guarantees recovery of up to {result.guaranteed} component(s); more may work.",
        "Pairs that this array hardly tells apart (whitened coherence above 0.9):",
    ]
    lines += [f"  {mu:.3f}  {first} – {second}" for first, second, mu in result.confusable()] or ["  none"]
    return "\n".join(lines)
