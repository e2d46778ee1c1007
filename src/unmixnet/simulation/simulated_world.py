"""What a family of simulated recordings is about: which substances, how much of them, and how many recipes."""

from dataclasses import dataclass

__all__ = ["FOODS", "VOLATILES", "World"]

VOLATILES = {
    "banana": "isoamyl acetate",
    "orange": "limonene",
    "pear": "hexyl acetate",
    "apple": "ethyl butyrate",
    "mango": "myrcene",
    "peach": "gamma-decalactone",
    "strawberry": "ethyl acetate",
    "clove": "eugenol",
    "coriander": "linalool",
    "garlic": "diallyl disulfide",
    "almond": "benzaldehyde",
    "cumin": "cuminaldehyde",
}
"""The volatile that each food stands for."""


@dataclass(frozen=True)
class World:
    """Substances and recipes of a family of data sets.

    Arguments:
        name: of the data set.
        volatiles: components of the labels, in their order, each with the species that it stands for.
        amount_mol: what a pure recording of strength one releases, in the geometric mean over substances.
        k_ads: adsorption rate of a sensor, in the geometric mean [m³/(mol s)].
        strength_sd: sd of the logarithm of a recording's strength.
        seen, unseen: pairs of substances in training, and pairs held out; as many triples are held out, too.
        repeats: recordings of every recipe that is held out, each in a session of its own.
        substeps: of diffusion in a step of the solver.
        carrier: the gas that fills the chamber.
        flow_m3_s: the draught through it.
    """

    name: str
    volatiles: tuple[tuple[str, str], ...]
    amount_mol: float = 4e-7
    k_ads: float = 60.0
    strength_sd: float = 0.2
    seen: int = 24
    unseen: int = 12
    repeats: int = 1
    substeps: int = 1
    carrier: str = "air"
    flow_m3_s: float = 2e-6

    @property
    def components(self) -> tuple[str, ...]:
        """Names of the substances, in the order of the labels."""
        return tuple(name for name, _ in self.volatiles)


FOODS = World("simulated", tuple(VOLATILES.items()))
"""Twelve foods at about 100 ppm, the order of SmellNet's mixtures."""
