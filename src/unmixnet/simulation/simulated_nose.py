"""The e-nose behind the simulated data sets: substances, coefficients, and the solution on a fine chamber."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from unmixnet.errors import ConfigError, SolveError
from unmixnet.simulation.builders import portable_enose
from unmixnet.simulation.chamber import Chamber
from unmixnet.simulation.refinement import Refinement, refine

if TYPE_CHECKING:
    from unmixnet.physics.rollout import Saved
    from unmixnet.physics.state import Process

__all__ = [
    "FOODS",
    "PARTS",
    "RATE_HZ",
    "ROWS",
    "VOLATILES",
    "Setting",
    "World",
    "fine_chamber",
    "solve",
    "true_process",
]

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
        scheme: of the solver; the recordings that exist are of the first order, upwind, their sensors in a sub-cell
            beside the middle of a cell.
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
    scheme: Literal["first order", "second order"] = "first order"

    @property
    def components(self) -> tuple[str, ...]:
        """Names of the substances, in the order of the labels."""
        return tuple(name for name, _ in self.volatiles)


FOODS = World("simulated", tuple(VOLATILES.items()))
"""Twelve foods at about 100 ppm, the order of SmellNet's mixtures."""


RATE_HZ, ROWS = 10.0, 600
PARTS = 4
"""Sub-cells of each cell of the hand-held e-nose."""
_BATCH = 32
"""Recordings that are solved at once."""


@dataclass(frozen=True)
class Setting:
    """What fixes a simulated data set: the number of sensors, of sessions (the last is for testing), seed and world."""

    sensors: int = 4
    sessions: int = 6
    seed: int = 0
    world: World = FOODS

    def __post_init__(self) -> None:
        if self.sensors < 1 or self.sessions < 2:
            raise ConfigError(
                f"{self.sensors} sensors and {self.sessions} sessions, expected at least one and two",
                where="simulated",
                remedy="Use load('simulated') or load('simulated-8')",
            )

    @property
    def chamber(self) -> Chamber:
        """The hand-held e-nose with these sensors: what a model may know of the chamber."""
        names = tuple(f"MOX{m + 1}" for m in range(self.sensors))
        return portable_enose(sensors=names, flow_m3_s=self.world.flow_m3_s)

    @property
    def components(self) -> tuple[str, ...]:
        """Substances, in the order of the labels."""
        return self.world.components


@cache
def fine_chamber(setting: Setting) -> Refinement:
    """The chamber that the recordings are made in."""
    return refine(setting.chamber, PARTS, centred=setting.world.scheme == "second order")


def solve(setting: Setting, shares: np.ndarray, *, save: Sequence[str] = ("y",), every: int = 1) -> "Saved":
    """What the solver gives for strength times ratios, (recording, K): leaves of shape (recording, row, ...).

    Arrays of cells, edges or sensors have the species last, as in a table.

    Arguments:
        save: as in `rollout`.
        every: keep each `every`-th row; row n is the state after n + 1 steps.
    """
    import jax
    import jax.numpy as jnp

    from unmixnet.physics.state import Status

    padded = np.resize(shares, (-(-len(shares) // _BATCH) * _BATCH, shares.shape[1]))
    with jax.enable_x64(False):
        run = _runner(setting, tuple(save), every)
        batches = [run(jnp.asarray(batch.T, float)) for batch in np.split(padded, len(padded) // _BATCH)]
    worst = Status(max(int(np.max(status)) for _, status in batches))
    if worst is not Status.OK:
        raise SolveError(worst.text, where="simulated", remedy="Use load('simulated') or load('simulated-8')")

    def join(*parts: Any) -> np.ndarray:
        whole = np.concatenate([np.asarray(part, float) for part in parts], axis=-1)[..., : len(shares)]
        # (row, species, place, recording), or without one of the middle axes
        return whole.transpose(-1, 0, *range(whole.ndim - 2, 0, -1))

    return jax.tree.map(join, *(saved for saved, _ in batches))


@lru_cache(maxsize=4)
def _runner(setting: Setting, save: tuple[str, ...], every: int) -> Any:
    """The compiled solver of a batch in single precision: shares (K, recording), leaves (row, ..., recording)."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from unmixnet.physics.rollout import Policy, rollout
    from unmixnet.physics.state import clean_air, with_samples
    from unmixnet.physics.transport import stages_needed

    chamber, dt = fine_chamber(setting).chamber, jnp.asarray(1 / RATE_HZ)
    geometry, process = with_samples((chamber.geometry(), true_process(setting, chamber)))
    policy = Policy(substeps_diffusion=setting.world.substeps, order=1)
    if setting.world.scheme == "second order":
        policy = Policy(order=2, stages=int(stages_needed(process, geometry, dt, slopes=True)))

    @jax.jit
    def run(share):
        this = eqx.tree_at(lambda p: p.source.amount, process, process.source.amount * share)
        start = clean_air(this, geometry)
        result = rollout(this, geometry, start, dt, ROWS, save=save, policy=policy)
        return jax.tree.map(lambda leaf: leaf[every - 1 :: every], result.saved), result.status

    return run


def true_process(setting: Setting, chamber: Chamber | None = None) -> "Process":
    """The coefficients that made the recordings, for `chamber` (by default the coarse one).

    `source.amount` is what a pure recording of strength one releases. The volatiles diffuse by Fuller's method;
    made-up sensors whose selectivities overlap, as those of metal oxides do, differ in what they adsorb, how
    long they keep it and how they answer. A sensor is the same however many there are beside it.
    """
    import jax.numpy as jnp

    from unmixnet.physics.conditions import Conditions
    from unmixnet.physics.maxwell_stefan import MaxwellStefan
    from unmixnet.physics.species import fuller_diffusivity, species
    from unmixnet.physics.state import Process, Schedule

    chamber = setting.chamber if chamber is None else chamber
    rows = [species(setting.world.carrier), *(species(volatile) for _, volatile in setting.world.volatiles)]
    conditions = Conditions.of()
    masses, volumes = (_array([getattr(row, key) for row in rows]) for key in ("molar_mass_g_mol", "diffusion_volume"))
    air = np.zeros((1, len(rows), len(chamber.cells)))
    air[:, 0] = 1
    surface, readout = _sensors(setting)
    return Process(
        source=_source(chamber, setting),
        flow=chamber.velocities(),
        diffusion=MaxwellStefan(
            fuller_diffusivity(masses, volumes, conditions.temperature, conditions.pressure),
            jnp.ones(len(chamber.edges)),
        ),
        wall=None,
        surface=surface,
        readout=readout,
        conditions=conditions,
        inlet=Schedule(_array([0.0]), _array(air)),
    )


def _source(chamber: Chamber, setting: Setting) -> Any:
    """A food fills its jar: every food has its own amount and pace, the whole headspace receives it."""
    from unmixnet.physics.source import RiseDecay, Source

    rng, K = np.random.default_rng([setting.seed, 3]), len(setting.components)
    amount = setting.world.amount_mol * np.exp(rng.normal(0, 0.3, K))
    rise, decay = (np.exp(rng.uniform(np.log(lo), np.log(hi), K)) for lo, hi in ((1, 15), (10, 80)))
    p_src = np.zeros(len(chamber.cells))
    p_src[chamber.cells_of("source")] = chamber.volume_m3[chamber.cells_of("source")]
    profile = RiseDecay(_array(rise), _array(decay), _array(ROWS / RATE_HZ))
    return Source(_array(amount), profile, _array(p_src / p_src.sum()), _array(np.zeros(K)), _array(np.zeros(K)))


def _sensors(setting: Setting) -> tuple[Any, Any]:
    """Surfaces and readouts; each sensor has its own draws."""
    from unmixnet.physics.adsorption import Surface
    from unmixnet.physics.readout import Logarithmic, Readout

    M, K = setting.sensors, len(setting.components)
    draws = [np.random.default_rng([setting.seed, 4, m]) for m in range(M)]
    log_ads, log_des, log_beta = (np.stack([rng.normal(0, sd, K) for rng in draws], axis=1) for sd in (0.8, 0.6, 0.5))
    tau = np.array([rng.uniform(2, 6) for rng in draws])
    surface = Surface(
        _array(setting.world.k_ads * np.exp(log_ads)), _array(0.1 * np.exp(log_des)), _array(np.full(M, 1e-10))
    )
    readout = Readout(
        beta=_array(np.exp(log_beta)),
        g=Logarithmic(_array(np.full(M, 3.0))),
        gain=_array(np.full(M, 4.0)),
        sign=_array(np.ones(M)),
        baseline=_array(np.zeros(M)),
        tau_rise=_array(tau),
        tau_recovery=_array(4 * tau),
        baseline_slopes=_array(np.zeros((2, M))),
        gain_slopes=_array(np.zeros((2, M))),
    )
    return surface, readout


def _array(value: Any) -> Any:
    import jax.numpy as jnp

    return jnp.asarray(np.asarray(value), float)
