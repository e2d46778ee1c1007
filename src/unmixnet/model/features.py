"""Static features of a chamber for the coefficient networks: kind and volume of cells, length and area of edges.

They do not change in time, so transfer probabilities and edge factors are computed once per rollout.
"""

import numpy as np

from unmixnet.simulation.chamber import Chamber

__all__ = ["N_CELL", "N_EDGE", "cell_features", "edge_features"]

_KINDS = ("source", "gas", "wall", "sensor", "outlet", "fixed")
N_CELL = len(_KINDS) + 1
N_EDGE = 2 * N_CELL + 3


def cell_features(chamber: Chamber) -> np.ndarray:
    """h_v: kind (one of six) and ln(volume / 10 ml), shape (V, 7)."""
    kinds = [[float(cell.kind == kind) for kind in _KINDS] for cell in chamber.cells]
    return np.column_stack([kinds, np.log(chamber.volume_m3 / 1e-5)]).astype(np.float32)


def edge_features(chamber: Chamber) -> np.ndarray:
    """h_e: features of tail and head, ln(length / 2 cm), ln(area / 2 cm²), velocity / (1 cm/s), shape (E, 17)."""
    h, index = cell_features(chamber), chamber.index
    rows = [
        [
            *h[index[edge.tail]],
            *h[index[edge.head]],
            np.log(edge.length_m / 0.02),
            np.log(edge.area_m2 / 2e-4),
            edge.velocity_m_s / 0.01,
        ]
        for edge in chamber.edges
    ]
    return np.array(rows, np.float32).reshape(len(rows), N_EDGE)
