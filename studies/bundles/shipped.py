"""The bundles that ship with the package, on recordings that none of them has seen: error, coverage and width.

Where sessions are new, an interval that was set on validation recordings shows what it is worth.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from unmixnet.inference.bundle import load_model
from unmixnet.inference.evaluate import evaluate, scoring_set

__all__ = ["SHIPPED", "shipped_scores"]

SHIPPED = {
    "simulated": ("simulated:seen", "simulated:unseen"),
    "smellnet-mixture": ("smellnet-mixture:clean:seen", "smellnet-mixture:clean:unseen"),
    "smellnet-base": ("smellnet-base:official",),
}
"""Bundles and the tests that they are scored on."""
Progress = Callable[[str, int], Callable[[], None]]


def shipped_scores(data: Path | None, progress: Progress) -> Iterator[dict[str, Any]]:
    """One record for each bundle and test: what `unmixnet evaluate` says."""
    for name, splits in SHIPPED.items():
        bundle = load_model(name)
        for split in splits:
            test = scoring_set(bundle, split, data, progress=progress)
            tick = progress(f"Scoring {name} on {split}", 1)
            found = evaluate(bundle, test).to_json()
            tick()
            yield {"bundle": name, "digest": bundle.digest, **found}
