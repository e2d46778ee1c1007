"""Confusions of pairs, and what foretells them: fingerprints, sessions, another model."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from studies.figures.failures import confusion, mantel, overlap, popularity
from studies.figures.plain_values import plain, rounded
from studies.figures.stored import Table
from unmixnet.recordings.coherence import Coherence
from unmixnet.recordings.fingerprints import Fingerprints
from unmixnet.recordings.pieces import Piece

__all__ = ["confusion_record", "fingerprint_record", "session_mates"]


def fingerprint_record(prints: Fingerprints, result: Coherence) -> dict[str, Any]:
    """Coherences of all pairs, their distance in noise, and the first two directions of the whitened fingerprints."""
    W = prints.whitened
    unit = W / np.linalg.norm(W, axis=0)
    away = np.linalg.norm(W[:, :, None] - W[:, None, :], axis=0) / np.sqrt(len(W))
    _, size, V = np.linalg.svd(W, full_matrices=False)
    return {
        "components": list(prints.components),
        "channels": list(prints.channels),
        "recordings": list(prints.counts),
        "raw": rounded(result.raw),
        "whitened": rounded(result.whitened),
        "cosine": rounded(unit.T @ unit),
        "distance": rounded(away),
        "map": rounded((size[:2, None] * V[:2]).T / np.sqrt(len(W))),
        "variance": rounded(size**2 / np.sum(size**2)),
        "mu_raw": result.mu_raw,
        "mu_whitened": result.mu_whitened,
        "guaranteed": result.guaranteed,
    }


def session_mates(pieces: Sequence[Piece], names: Sequence[str]) -> np.ndarray:
    """How far two substances were recorded in the same sessions."""
    sessions = sorted({piece.session or "" for piece in pieces})
    counts = np.zeros((len(names), len(sessions)))
    for piece in pieces:
        for name in piece.label.support if piece.label else ():
            counts[names.index(name), sessions.index(piece.session or "")] += 1
    return overlap(counts)


def confusion_record(
    tables: dict[str, Table], names: Sequence[str], prints: dict[str, Any], mates: np.ndarray
) -> dict[str, Any]:
    """Confusions of ours and of the best peer, and how far each table of pairs foretells them.

    Arguments:
        mates: how far two substances were recorded in the same sessions, in the order of `names`.
    """
    order = [prints["components"].index(name) for name in names]
    pairs = {key: np.array(prints[key])[np.ix_(order, order)] for key in ("whitened", "raw", "cosine", "distance")}
    pairs["nearness"] = -pairs.pop("distance")
    pairs["same sessions"] = mates
    rows, matrices = [], []
    for name, table in tables.items():
        made = {model: confusion(*table.flat(model)) for model in table.compared}
        for model, C in made.items():
            beyond = C / np.maximum(popularity(C), 1e-12)
            guess, truth = table.flat(model)
            mixed = np.sum(truth > 0, axis=1) > 1
            kinds = {"share": C, "beyond popularity": beyond, "mixtures only": confusion(guess[mixed], truth[mixed])}
            matrices.append({"protocol": name, "model": model, "C": rounded(C), "beyond": rounded(beyond)})
            about = {"protocol": name, "model": model, "recordings": len(table.recordings)}
            for what, table_of_pairs in kinds.items():
                for by, P in pairs.items():
                    rows.append({**about, "by": by, "what": what, **plain(mantel(table_of_pairs, P))})
                left = mantel(table_of_pairs, pairs["nearness"], given=mates)
                rows.append({**about, "by": "nearness, given same sessions", "what": what, **plain(left)})
            if model != table.best_peer:
                told = plain(mantel(C, made[table.best_peer]))
                rows.append({**about, "by": "the best peer's confusions", "what": "share", **told})
    return {"names": list(names), "rows": rows, "matrices": matrices}
