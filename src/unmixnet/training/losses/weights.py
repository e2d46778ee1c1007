r"""The λ of the objective.

L = λ_mix L_mix + λ_class L_class + λ_rec L_rec + λ_MS L_MS + λ_cons L_cons + λ_ads L_ads
    + λ_freq L_freq + λ_id L_ident + λ_S S
"""

import math
from dataclasses import dataclass, fields

from unmixnet.errors import ConfigError

__all__ = ["Weights"]


@dataclass(frozen=True)
class Weights:
    """Weight of every term; 0 leaves it out.

    Arguments:
        mix: presence and ratios, where a mixture is known.
        class_: cross-entropy, where a class is known instead.
        rec: reconstruction.
        ms: Maxwell–Stefan residual; vanishes for the full solver, for which it is a diagnostic.
        cons: conservation; likewise.
        ads: sensor boundary; likewise.
        freq: slow and fast parts of the reconstruction residual.
        ident: incoherence of the pure fingerprints.
        entropy: entropy of an inferred source place.
        virtual: presence and ratios of virtual recordings.
    """

    mix: float = 1.0
    class_: float = 1.0
    rec: float = 0.3
    ms: float = 0.0
    cons: float = 0.0
    ads: float = 0.0
    freq: float = 0.1
    ident: float = 0.01
    entropy: float = 0.01
    virtual: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a weight that would reward an error."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not (value >= 0 and math.isfinite(value)):
                raise ConfigError(
                    f"a weight is a finite number, not negative, saw {value}",
                    where=field.name,
                    remedy="Use 0 to leave a term out",
                )
