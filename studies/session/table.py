"""How far the error falls when k recordings of the session are labelled: every model, every way, and wrong labels."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from studies.harness.benches import NetworkBench
from studies.harness.definitions import Study, chosen, study_folds
from studies.harness.jobs import Options, config_of, jobs_of
from studies.harness.run import run_jobs
from studies.harness.variants import UNMIXNET
from studies.harness.work import Work
from studies.peers.models import PEERS
from studies.peers.steady import steady_posterior
from studies.session.models import (
    MAPS,
    Draw,
    KnownSessions,
    Predictor,
    SolverMaps,
    added,
    answered,
    drawn,
    mapped,
    of_labels,
    through_law,
)
from studies.smellnet.bundles import bundle_of
from unmixnet.inference.scores import Row, score
from unmixnet.model.predict import window_ratios
from unmixnet.recordings.pieces import Recall
from unmixnet.recordings.protocols import Piece, measured
from unmixnet.recordings.samples import Samples, Task, per_recording

__all__ = ["KS", "Sessions", "prepared", "session_rows"]

KS = (1, 3, 5)
_SLOW = 5
"""Draws of models that are fitted anew for every one."""
_STUDY = "new-session"
Way = Callable[[list[Draw]], np.ndarray]
Progress = Callable[[str, int], Callable[[], None]]


@dataclass(frozen=True, eq=False)
class Sessions:
    """Test recordings of new sessions, what may be their references, and the models.

    Arguments:
        ways: for every row its answers to one draw, and whether it is slow.
        plain: the rows without references.
    """

    tests: tuple[Piece, ...]
    pool: tuple[Piece, ...]
    known: KnownSessions
    truth: Samples
    pool_shares: np.ndarray
    ways: dict[str, tuple[Way, bool]]
    plain: dict[str, np.ndarray]


def prepared(root: str | Path | None, work: Work, options: Options, progress: Progress) -> Sessions:
    """Train (or find) UnMixNet on the known sessions, fit the peers, and read what may be a reference."""
    study = chosen("smellnet", (_STUDY,), (UNMIXNET.name,))[0]
    done = progress("known sessions", 2)
    run_jobs(jobs_of([study], root, options), work, root, options)
    done()
    fold = study_folds(study.protocols, root, groups=study.groups)[0]
    tests = fold.tests[study.protocols[0]]
    late = {piece.session for piece in tests}
    pool = tuple(p for split in measured(fold.data).values() for p in split if p.session in late)
    bench = NetworkBench(config_of(study, UNMIXNET, options), fold, Recall(root))
    known = _known(bench, fold.train, tests, pool)
    K = fold.data.components
    shares = np.stack([piece.label.vector(K) for piece in pool if piece.label is not None])
    truth = Samples(
        np.zeros((len(tests), 1, 1)),
        np.stack([piece.label.vector(K) for piece in tests if piece.label is not None]),
        tuple(piece.path for piece in tests),
        tuple(piece.path for piece in tests),
    )
    ways, plain = _ways(study, bench, known, pool, shares, root, work, options)
    done()
    return Sessions(tests, pool, known, truth, shares, ways, plain)


def _known(
    bench: NetworkBench, train: tuple[Piece, ...], tests: tuple[Piece, ...], pool: tuple[Piece, ...]
) -> KnownSessions:
    components = bench.fold.data.components
    cut, owner = bench.windows(train)
    labels = np.stack([piece.label.vector(components) for piece in train if piece.label is not None])
    names = tuple(train[i].path for i in owner)
    samples = Samples(cut, labels[owner], names, names)
    levels, sd = _levels(cut, owner), np.array(bench.prepared.preprocessing.sd)
    numbers = np.unique([piece.session or "" for piece in train], return_inverse=True)[1]
    test_cut, test_owner = bench.windows(tests)
    return KnownSessions(
        samples,
        levels,
        labels,
        [test_cut[test_owner == i] for i in range(len(tests))],
        _levels(*bench.windows(pool)),
        steady_posterior(levels * sd, labels, numbers),
        sd,
    )


def _levels(cut: np.ndarray, owner: np.ndarray) -> np.ndarray:
    return per_recording(cut.mean(axis=1), [str(i) for i in owner])


def _ways(
    study: Study,
    bench: NetworkBench,
    known: KnownSessions,
    pool: tuple[Piece, ...],
    shares: np.ndarray,
    root: str | Path | None,
    work: Work,
    options: Options,
) -> tuple[dict[str, tuple[Way, bool]], dict[str, np.ndarray]]:
    """Every row: a model, and what it does with references."""
    bundle, _ = bundle_of(study, root, work, options, name=_STUDY)
    recordings = [bench.recall(bench.fold.data, piece) for piece in pool]
    solver = SolverMaps.of(bundle, recordings, np.concatenate([shares, known.shares]))
    models: dict[str, Predictor] = {
        name: PEERS[name].fit(known.train, Task.RATIOS).predict for name in ("1-NN", "5-NN", "extra-trees")
    }
    models["unmixnet"] = lambda cut: window_ratios(bundle.model, cut)
    ways: dict[str, tuple[Way, bool]] = {"mean of the references' labels": (of_labels, False)}
    for name, predict in models.items():
        for method in MAPS:
            ways[f"{name}, {method}"] = (lambda draws, p=predict, m=method: mapped(p, known, draws, m), False)
    ways["unmixnet, through the solver"] = (lambda draws: _solved(models["unmixnet"], known, solver, draws), True)
    for name in ("5-NN", "extra-trees"):
        ways[f"{name}, references added to training"] = (lambda draws, n=name: added(n, known, draws), True)
    ways["unmixnet, steady state, levels"] = (lambda draws: through_law(known, draws, about=False), False)
    ways["unmixnet, steady state, levels and what is about"] = (
        lambda draws: through_law(known, draws, about=True),
        False,
    )
    nothing = [Draw(i, np.zeros(0, int), np.zeros((0, shares.shape[1]))) for i in range(len(known.tests))]
    plain = {name: mapped(predict, known, nothing, "none") for name, predict in models.items()}
    level = np.stack([known.level(i) for i in range(len(known.tests))])
    plain |= {"mean": np.tile(known.shares.mean(axis=0), (len(level), 1))}
    plain |= {"unmixnet, steady state": known.law.shares(level * known.sd)}
    return ways, plain


def _solved(predict: Predictor, known: KnownSessions, solver: SolverMaps, draws: list[Draw]) -> np.ndarray:
    return answered(predict, [solver.map(draw).apply(known.tests[draw.test]) for draw in draws])


def session_rows(
    sessions: Sessions, progress: Progress, *, draws: int = 20, ks: tuple[int, ...] = KS
) -> Iterator[list[Row]]:
    """Rows for k = 0, then for every k with right and with wrong labels."""
    for name, guess in sessions.plain.items():
        yield _score(sessions, [guess], "k = 0", name)
    for k in ks:
        for wrong in (False, True):
            labels = sessions.known.shares if wrong else None
            made = [
                drawn(sessions.tests, sessions.pool, sessions.pool_shares, k, seed=seed, wrong=labels)
                for seed in range(draws)
            ]
            split = f"k = {k}" + (", wrong labels" if wrong else "")
            done = progress(split, len(sessions.ways))
            for name, (way, slow) in sessions.ways.items():
                some = made[: min(_SLOW, draws)] if slow else made
                yield _score(sessions, [way(sample) for sample in some], split, name)
                done()


def _score(sessions: Sessions, guesses: list[np.ndarray], split: str, model: str) -> list[Row]:
    names = (f"smellnet-mixture:{_STUDY}", split, model)
    return score(Task.RATIOS, guesses, sessions.truth, names=names, resample="recording", level="recording")
