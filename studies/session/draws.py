"""Which labelled recordings of its session a test recording is given: k references of other recipes, drawn anew."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.recordings.pieces import Piece

__all__ = ["Draw", "drawn"]


@dataclass(frozen=True, eq=False)
class Draw:
    """References of one test recording.

    Arguments:
        test: index of the recording under test.
        references: indices among the recordings that may be references.
        labels: what they are said to hold, (k, K); their own shares, or in the control those of others.
    """

    test: int
    references: np.ndarray
    labels: np.ndarray


def drawn(
    tests: Sequence[Piece],
    pool: Sequence[Piece],
    shares: np.ndarray,
    k: int,
    *,
    seed: int,
    wrong: np.ndarray | None = None,
) -> list[Draw]:
    """One draw for every test: recordings of its session whose recipe is another; fewer where there are no k.

    Arguments:
        shares: of the pool, (n, K).
        wrong: shares to draw labels from in place of the true ones, for the control.
    """
    rng = np.random.default_rng([seed, k])
    sessions = np.array([piece.session for piece in pool])
    recipes = np.array([_recipe(piece) for piece in pool])
    found = []
    for i, piece in enumerate(tests):
        free = np.flatnonzero((sessions == piece.session) & (recipes != _recipe(piece)))
        if not len(free):
            raise ConfigError(
                "no other recipe was recorded in the session of this recording",
                where=piece.path,
                remedy="Leave such recordings out",
            )
        chosen = rng.choice(free, min(k, len(free)), replace=False)
        labels = shares[chosen] if wrong is None else wrong[rng.integers(len(wrong), size=len(chosen))]
        found.append(Draw(i, chosen, labels))
    return found


def _recipe(piece: Piece) -> str:
    assert piece.label is not None, "recordings of a study have labels"
    pairs = sorted(zip(piece.label.names, np.round(piece.label.ratios, 3), strict=True))
    return " ".join(f"{name}:{share:g}" for name, share in pairs)
