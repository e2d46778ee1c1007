"""Where states are judged: real traces, traces of the frozen simulator, traces of a structurally different one.

All three have the recordings of SmellNet's clean protocol: recipes, sessions and splits. `real` keeps the measured
traces and takes the frozen simulator's states of the known recipe as reference; in `frozen` and `sips` the traces are
made too, and the reference is what really happened.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from studies.harness.definitions import StudyFold
from studies.states.physical import PhysicalStates, TraceNuisances
from studies.states.residuals import Laws
from studies.states.sips_simulator import SipsSimulator
from unmixnet.errors import ConfigError
from unmixnet.model.predict import single_precision
from unmixnet.recordings.codes import ChannelHealth
from unmixnet.recordings.datasets import Dataset, Entry
from unmixnet.recordings.pieces import Piece, Recall
from unmixnet.recordings.preprocessing import FULL_SCALE_COUNTS, log_conductance
from unmixnet.recordings.recording import Recording
from unmixnet.simulation.builders import portable_enose
from unmixnet.training.calibration import FrozenSimulator, is_frozen
from unmixnet.training.calibration.theta import NuisancePrior
from unmixnet.training.calibration.trajectories import solve_all

__all__ = ["WORLDS", "StateWorld", "frozen_states", "laws_of", "make_world", "simulator_for"]

WORLDS = ("real", "frozen", "sips")
RATE_HZ, ROWS = 10.0, 600
SPREAD = NuisancePrior()
"""Of amount and exposure in the simulated worlds, as the calibration expects them between recordings of one recipe."""
_SEED = 0


@dataclass(frozen=True, eq=False)
class StateWorld:
    """Recordings, and the states that a model of them is compared with.

    Arguments:
        name: one of `WORLDS`.
        fold: training and test recordings.
        states: reference of every recording, in the order of `place`.
        place: row of each recording, by its path.
        shares: strength times ratios of every recording, (n, K).
        laws: by which projected states are judged; None where the reference obeys others.
        same_graph: whether the reference lives on UnMixNet's own cells and edges.
        implied: states of any recipes (n, K) at strength one.
        spreads: of the traces' levels in log conductance, one number for each sensor: what recipes do, what sessions
            and takes do. Empty where the traces are measured.
    """

    name: str
    fold: StudyFold
    states: PhysicalStates
    place: dict[str, int]
    shares: np.ndarray
    laws: Laws | None
    same_graph: bool
    implied: Callable[[np.ndarray], PhysicalStates]
    spreads: dict[str, list[float]] = field(default_factory=dict)

    def of(self, pieces: Sequence[Piece]) -> PhysicalStates:
        """Reference states of some recordings."""
        return self.states.chosen(self.rows(pieces))

    def rows(self, pieces: Sequence[Piece]) -> list[int]:
        """Their places."""
        return [self.place[piece.path] for piece in pieces]


def make_world(name: str, simulator: FrozenSimulator, fold: StudyFold, recall: Recall, *, steps: int) -> StateWorld:
    """One of `WORLDS`, with states at the first `steps` seconds of every recording."""
    if tuple(fold.data.components) != simulator.components:
        raise ConfigError("the simulator has other substances", remedy="Calibrate one on smellnet-mixture")
    if name == "sips":
        return _sips(_Plan.of(fold, recall, simulator.channels), steps)
    same = simulator.chamber == portable_enose(sensors=simulator.channels)
    laws, implied = laws_of(simulator), partial(frozen_states, simulator, steps=steps)
    if name == "real":
        place, ratios = _recipes(fold)
        return StateWorld(name, fold, implied(ratios), place, ratios, laws, same, implied)
    plan = _Plan.of(fold, recall, simulator.channels)
    clean = _frozen_traces(simulator, plan)
    states = implied(plan.shares, exposure=plan.exposure)
    made = plan.fold_with(name, clean)
    return StateWorld(name, made, states, plan.place, plan.shares, laws, same, implied, plan.spreads(clean))


@dataclass(frozen=True, eq=False)
class _Plan:
    """What a simulated world plays: the recipes of the real recordings, with amounts, exposures and nuisances drawn."""

    fold: StudyFold
    channels: tuple[str, ...]
    place: dict[str, int]
    ratios: np.ndarray
    strength: np.ndarray
    exposure: np.ndarray
    level: np.ndarray
    """Mean log conductance of the real training recordings, (n, M)."""
    noise: TraceNuisances

    @classmethod
    def of(cls, fold: StudyFold, recall: Recall, channels: tuple[str, ...]) -> "_Plan":
        place, ratios = _recipes(fold)
        rng = np.random.default_rng([_SEED, 79])
        strength, exposure = (np.exp(rng.normal(0, sd, len(place))) for sd in (SPREAD.strength, SPREAD.exposure))
        return cls(fold, channels, place, ratios, strength, exposure, *_real_levels(fold, recall, channels))

    @property
    def shares(self) -> np.ndarray:
        return self.strength[:, None] * self.ratios

    @property
    def train(self) -> list[int]:
        return [self.place[piece.path] for piece in self.fold.train]

    def fold_with(self, name: str, clean: np.ndarray) -> StudyFold:
        """The fold whose recordings are these traces of log conductance and the nuisances."""
        sessions = {p.path: p.session or p.path for side in (self.fold.train, *self.fold.tests.values()) for p in side}
        added = self.noise.drawn([sessions[path] for path in self.place], ROWS, seed=_SEED)
        return replace(self.fold, data=_dataset(name, self.fold.data, self.place, self.channels, clean + added))

    def spreads(self, clean: np.ndarray) -> dict[str, list[float]]:
        """Standard deviations over training recordings: of the clean level, and of what is added to it."""
        names = ("session", "take", "slope", "white")
        added = {name: np.sqrt(np.diag(getattr(self.noise, name))).tolist() for name in names}
        return {"recipe": clean[self.train].mean(axis=1).std(axis=0).tolist(), **added}


def _recipes(fold: StudyFold) -> tuple[dict[str, int], np.ndarray]:
    """Every recording once: its row by its path, and the ratios (n, K)."""
    pieces = list({p.path: p for side in (fold.train, *fold.tests.values()) for p in side}.values())
    ratios = np.array([piece.label.vector(fold.data.components) for piece in pieces if piece.label])
    return {piece.path: i for i, piece in enumerate(pieces)}, ratios


def _sips(plan: _Plan, steps: int) -> StateWorld:
    """Traces and states of the structurally different simulator."""
    simulator = SipsSimulator.drawn(plan.channels, plan.ratios.shape[1], seed=_SEED)
    played = simulator.play(plan.ratios, seconds=round(ROWS / RATE_HZ), strength=plan.strength)
    clean = _matched(played.signal[:, :ROWS], plan.level, plan.train)

    def implied(ratios: np.ndarray) -> PhysicalStates:
        return _first(simulator.play(ratios, seconds=steps).states, steps)

    states, made = _first(played.states, steps), plan.fold_with("sips", clean)
    return StateWorld("sips", made, states, plan.place, plan.shares, None, False, implied, plan.spreads(clean))


def frozen_states(
    simulator: FrozenSimulator, shares: np.ndarray, *, steps: int, exposure: np.ndarray | None = None
) -> PhysicalStates:
    """States that the frozen simulator implies, of every cell; `simulate` gives those at the sensors alone."""
    chamber = simulator.chamber
    given = np.ones(len(shares)) if exposure is None else exposure
    settled = np.full((len(shares), len(chamber.sensors)), np.nan)
    with single_precision():
        run = simulator._run(steps)
        solutions = solve_all(simulator.process, run, np.asarray(shares, float), given, settled)
    N, J, theta = (solutions[name][:, :, 1:].swapaxes(2, 3).astype(float) for name in ("N", "J", "theta"))
    cells = np.array([chamber.index[sensor.cell] for sensor in chamber.sensors])
    return PhysicalStates(N / chamber.volume_m3[:, None], J, theta, N.sum(axis=2), cells)


def laws_of(simulator: FrozenSimulator) -> Laws:
    """What the states of a frozen simulator obey."""
    with single_precision():
        run = simulator._run(1)
        step = jnp.asarray(simulator.step_s, jnp.float32)
    substeps = run.policy.substeps_advection, run.policy.substeps_diffusion
    return Laws(simulator.process, run.geometry, step, *substeps)


def _real_levels(fold: StudyFold, recall: Recall, channels: Sequence[str]) -> tuple[np.ndarray, TraceNuisances]:
    """Mean log conductance of the training recordings (n, M), and how those of one recipe differ."""
    read = [recall(fold.data, piece).select(channels).readings[:ROWS] for piece in fold.train]
    traces = log_conductance(np.stack(read))
    recipes = [str(piece.label) for piece in fold.train]
    sessions = [piece.session or piece.path for piece in fold.train]
    return traces.mean(axis=1), TraceNuisances.measured(traces, recipes, sessions)


def _frozen_traces(simulator: FrozenSimulator, plan: _Plan) -> np.ndarray:
    """Log conductance at 10 Hz, (n, rows, M), in the units that the simulator was calibrated in."""
    played = simulator.simulate(plan.shares, seconds=ROWS / RATE_HZ, exposure=plan.exposure)
    signal = played.trace(RATE_HZ)[:, :ROWS]
    if simulator.preprocessing is not None and simulator.preprocessing.standardise:
        return signal * np.array(simulator.preprocessing.sd) + np.array(simulator.preprocessing.mean)
    return signal * plan.level.std(axis=0) + plan.level.mean(axis=0)


def _matched(signal: np.ndarray, level: np.ndarray, train: Sequence[int]) -> np.ndarray:
    """A signal moved and stretched until its training recordings have the mean and spread of the real ones."""
    mine = signal[list(train)].mean(axis=1)
    return (signal - mine.mean(axis=0)) / mine.std(axis=0) * level.std(axis=0) + level.mean(axis=0)


def _first(states: PhysicalStates, steps: int) -> PhysicalStates:
    names = ("concentration", "flux", "coverage", "mass")
    return replace(states, **{name: getattr(states, name)[:, :steps] for name in names})


def _dataset(name: str, like: Dataset, place: dict[str, int], channels: tuple[str, ...], traces: np.ndarray) -> Dataset:
    """A data set whose recordings are these traces of log conductance, as counts of a 10-bit converter."""
    counts = np.round(FULL_SCALE_COUNTS / (1 + np.exp(-traces)))
    # Finished trainings are found by the name of their data: other traces need another name.
    name = f"states-{name}-{hashlib.sha256(counts.astype(np.int16).tobytes()).hexdigest()[:12]}"

    def read(data: Dataset, entry: Entry) -> Recording:
        return Recording(
            time_s=np.arange(ROWS) / RATE_HZ,
            readings=counts[place[entry.path]].copy(),
            channels=channels,
            units=("counts",) * len(channels),
            sample_rate_Hz=RATE_HZ,
            device=name,
            path=entry.path,
            label=entry.label,
            health=(ChannelHealth.OK,) * len(channels),
        )

    return Dataset(name, like.root, like.entries, like.components, read)


def simulator_for(named: Path | None, work: Path, root: str | Path | None) -> FrozenSimulator:
    """Read it; without a name, the one in the work folder, which is calibrated first if there is none."""
    folder = named or work / "simulator"
    if named is None and not is_frozen(folder):
        _calibrate(folder, root)
    return FrozenSimulator.load(folder)


def _calibrate(folder: Path, root: str | Path | None) -> None:
    """As `unmixnet calibrate --quick` does, on the training recordings of the clean protocol; it can be resumed."""
    from unmixnet.model.predict import single_precision
    from unmixnet.training.calibration.calibrate import calibrate, frozen
    from unmixnet.training.calibration.command import QUICK
    from unmixnet.training.calibration.losses import schedule
    from unmixnet.training.calibration.setup import protocol_fold, setup_of

    with single_precision():
        setup, _ = setup_of(protocol_fold("smellnet-mixture:clean:seen", root))
        fit = calibrate(setup, schedule(QUICK, release=setup.jar.release), folder=folder)
        frozen(setup, fit).save(folder)
