"""Which protocols are studied together, from which recipe, by which models, and on which folds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from studies.harness.variants import ABLATIONS, BASELINES, UNMIXNET, Classical, Inverse, Network, Posterior, Variant
from studies.peers.models import PEERS
from studies.peers.tables import BASE_WINDOWS, MIXTURE_RECORDINGS, MIXTURE_WINDOWS
from unmixnet.errors import ConfigError
from unmixnet.recordings.datasets import Dataset
from unmixnet.recordings.preprocessing import BaselineMethod, Preprocessing, Response
from unmixnet.recordings.protocols import Fold, Piece, Protocol, protocol

__all__ = ["STUDIES", "Study", "StudyFold", "chosen", "grouped", "study_folds"]

NULLS = ("chance", "mean", "1-NN")
"""In every table."""
PEER_NAMES = (*NULLS, "5-NN", "ridge", "extra-trees")


@dataclass(frozen=True, eq=False)
class Study:
    """Protocols that share their training recordings, and the models that are compared on them.

    Arguments:
        name: short, for `--study`.
        protocols: names; the first gives the folds their names.
        recipe: name of the packaged recipe.
        variants: what is compared, in the order of the table.
        groups: join the folds into so many; None keeps each.
        most_seeds: where a seed costs many trainings.
    """

    name: str
    protocols: tuple[str, ...]
    recipe: str
    variants: tuple[Variant, ...]
    groups: int | None = None
    most_seeds: int = 10


def _peers(windows: Preprocessing, names: tuple[str, ...] = PEER_NAMES) -> tuple[Classical, ...]:
    return tuple(Classical(name, name, windows, PEERS[name].seeded) for name in names)


def _whole(windows: Preprocessing, names: tuple[str, ...]) -> tuple[Classical, ...]:
    """Peers that see a recording as one window."""
    return tuple(
        Classical(f"{name} (whole recording)", name, windows, PEERS[name].seeded, levels=("recording",))
        for name in names
    )


def _simulated(sensors: int) -> Study:
    channels = tuple(f"MOX{m + 1}" for m in range(sensors))
    windows = Preprocessing(
        channels,
        baseline=BaselineMethod.RECORDING,
        response=Response.LOG_CONDUCTANCE,
        baseline_s=1.0,
        standardise=False,
        window=100,
        stride=50,
    )
    name = "simulated" if sensors == 4 else f"simulated-{sensors}"
    whole = _whole(replace(windows, window=600, stride=600), ("1-NN", "5-NN", "ridge", "extra-trees"))
    variants = (*_peers(windows), *whole, *BASELINES, *ABLATIONS, UNMIXNET, Inverse())
    return Study(name, (f"{name}:seen", f"{name}:unseen"), "simulated", variants)


_FEW = (*NULLS, "ridge", "extra-trees")
"""Peers beside the ablations."""


def _longer(variant: Network) -> Network:
    """The encoder alone has no virtual recordings to pretrain on, and 16 epochs on real ones are too few for it."""
    if variant.name != "no closure":
        return variant
    longer = {"training.epochs": 500, "training.patience": 100}
    return replace(variant, changes={**variant.changes, **longer}, note="the encoder alone, for up to 500 epochs")


def _high_coupling() -> Study:
    """Peers see what the networks see, as one window; weights are kept, since states are compared with the truth."""
    windows = Preprocessing(
        ("MOX1", "MOX2", "MOX3", "MOX4"),
        baseline=BaselineMethod.RECORDING,
        response=Response.LOG_CONDUCTANCE,
        baseline_s=1.0,
        standardise=False,
        first_rows=400,
        window=400,
        stride=400,
    )
    kept = tuple(replace(_longer(variant), keep=True) for variant in ABLATIONS)
    variants = (*_peers(windows, _FEW), UNMIXNET, *kept)
    return Study("high-coupling", ("high-coupling:seen", "high-coupling:unseen"), "high-coupling", variants)


_MIXTURE = (
    *_peers(MIXTURE_WINDOWS),
    *_whole(MIXTURE_RECORDINGS, ("1-NN", "15-NN log", "15-NN log weighted", "extra-trees")),
    *BASELINES,
    Posterior(replace(MIXTURE_RECORDINGS, response=Response.LOG_CONDUCTANCE)),
    UNMIXNET,
)
_ABLATED = (*_peers(MIXTURE_WINDOWS, _FEW), UNMIXNET, *ABLATIONS)
_LONG_TREES = Classical("extra-trees (300 rows)", "extra-trees", replace(BASE_WINDOWS, window=300), seeded=True)
"""The longest windows that others report on."""
_SAME_READING = Classical(
    "extra-trees (unmixnet's statistics)",
    "extra-trees changes",
    replace(BASE_WINDOWS, lags=(), standardise=True, window=300),
    seeded=True,
)
"""UnMixNet's input statistics without the network."""
_SLOW = {"scentformer": 1, "ldac": 1}
"""Seeds on Base, and where a seed is many fits; their cost grows with the square of the window, or nearly so."""
_CHANGES = {"data.difference": 25}, "changes over 25 s, as SmellNet's authors have them"
_AVERAGED = {"model.rate_Hz": 0.2}, "means of five rows, and at most 40 epochs: an epoch takes many times longer"
_SHORT = {"data.window_s": 100.0}, "windows of 100 s, and at most 40 epochs: an epoch takes many times longer"


def _on_base(network: Network) -> Network:
    """A baseline as it is trained on SmellNet-Base; LDAC has a bank of changes of its own, over so many rows of 1 s."""
    parts = {"ldac": [_SHORT], "scentformer": [_CHANGES, _AVERAGED]}.get(network.name, [_CHANGES])
    changes = {key: value for part, _ in parts for key, value in part.items()}
    return replace(network, changes={**network.changes, **changes}, note="; ".join(note for _, note in parts))


def _sparing(variants: tuple[Variant, ...], few: dict[str, int]) -> tuple[Variant, ...]:
    """With few seeds of the slow networks: with more of them the whole evidence would take a night and more."""
    return tuple(replace(v, most_seeds=few[v.name]) if v.name in few else v for v in variants)


_BASE = (
    *_peers(BASE_WINDOWS, ("chance", "1-NN", "5-NN", "ridge", "extra-trees")),
    _LONG_TREES,
    _SAME_READING,
    *map(_on_base, BASELINES),
    UNMIXNET,
)


def _mixture(name: str, *splits: str, variants: tuple[Variant, ...] = _MIXTURE, **more: int) -> Study:
    protocols = tuple(f"smellnet-mixture:{split}" for split in splits)
    return Study(name, protocols, "smellnet-mixture", variants, **more)


_TURNED = _sparing(_BASE, {**_SLOW, "cnn-lstm": 1})
"""Models of the six folds of Base, where a seed is six fits."""
STUDIES: dict[str, tuple[Study, ...]] = {
    "simulated": (_simulated(4), _simulated(8)),
    "smellnet": (
        _mixture("official", "official:seen", "official:unseen", variants=(*_MIXTURE, Inverse())),
        _mixture("clean", "clean:seen", "clean:unseen", variants=(*_MIXTURE, Inverse())),
        _mixture("new-session", "new-session"),
        _mixture("leave-support-out", "leave-support-out", variants=_sparing(_MIXTURE, _SLOW), groups=6, most_seeds=3),
        _mixture("leave-session-out", "leave-session-out", variants=_sparing(_MIXTURE, _SLOW), groups=6, most_seeds=3),
        Study("base", ("smellnet-base:official",), "smellnet-base", _sparing(_BASE, {**_SLOW, "cnn-lstm": 3})),
        Study("base-six-fold", ("smellnet-base:six-fold",), "smellnet-base", _TURNED, most_seeds=3),
    ),
    "ablation": (
        _high_coupling(),
        _mixture("leave-support-out", "leave-support-out", variants=_ABLATED, groups=6, most_seeds=3),
        _mixture("clean", "clean:seen", "clean:unseen", variants=_ABLATED, most_seeds=3),
    ),
}
"""Studies by the command that runs them."""


def chosen(name: str, studies: tuple[str, ...] = (), models: tuple[str, ...] = ()) -> tuple[Study, ...]:
    """Studies of a command, only the named ones and with only the named models if there are any."""
    known = {study.name: study for study in STUDIES[name]}
    for study in studies:
        if study not in known:
            raise ConfigError(f"no study {study!r}", remedy=f"Choose among {', '.join(known)}")
    picked = [known[study] for study in studies or known]
    every = dict.fromkeys(variant.name for study in picked for variant in study.variants)
    for model in models:
        if model not in every:
            raise ConfigError(f"no model {model!r}", remedy=f"Choose among {', '.join(every)}")
    if not models:
        return tuple(picked)
    kept = [replace(study, variants=tuple(v for v in study.variants if v.name in models)) for study in picked]
    return tuple(study for study in kept if study.variants)


@dataclass(frozen=True)
class StudyFold:
    """One training set and its tests.

    Arguments:
        name: of the fold; the first protocol's where there are several.
        data: the data set that the pieces belong to.
        train: every training recording, those for validation included.
        tests: recordings under test, by protocol.
        splits: what each protocol calls all its tests together.
    """

    name: str
    data: Dataset
    train: tuple[Piece, ...]
    tests: dict[str, tuple[Piece, ...]]
    splits: dict[str, str]


def study_folds(
    protocols: Sequence[str], root: str | Path | None, *, groups: int | None = None
) -> tuple[StudyFold, ...]:
    """The folds of protocols that share their training; with `groups`, folds are joined into so many."""
    chosen = [protocol(name, root) for name in protocols]
    chosen = [grouped(each, groups) for each in chosen] if groups else chosen
    joined = []
    for folds in zip(*(each.folds for each in chosen), strict=True):
        same = all(each.data.name == chosen[0].data.name for each in chosen)
        if not same or any(fold.train != folds[0].train for fold in folds):
            raise ConfigError(
                f"{' and '.join(protocols)} train on different recordings", remedy="Put them into studies of their own"
            )
        tests = {each.name: fold.test for each, fold in zip(chosen, folds, strict=True)}
        splits = {each.name: _split_name(each, groups) for each in chosen}
        name = folds[0].name if len(chosen[0].folds) > 1 else "all"
        joined.append(StudyFold(name, chosen[0].data, folds[0].train, tests, splits))
    return tuple(joined)


def _split_name(made: Protocol, groups: int | None) -> str:
    count = len(made.folds)
    return made.folds[0].name if count == 1 else f"{count} groups" if groups else f"{count} folds"


def grouped(made: Protocol, count: int) -> Protocol:
    """Folds that leave one thing out each, joined into `count` that leave several out.

    The largest fold goes first, each into the group that has the fewest recordings so far. Every recording is still
    tested once, by a model that saw nothing of its kind; a model is trained `count` times instead of once for each.
    """
    pieces = (*made.folds[0].train, *made.folds[0].test)
    groups: list[list[Piece]] = [[] for _ in range(min(count, len(made.folds)))]
    for fold in sorted(made.folds, key=lambda fold: (-len(fold.test), fold.name)):
        min(groups, key=len).extend(fold.test)
    folds = []
    for i, group in enumerate(groups):
        test = {piece.path for piece in group}
        inside = tuple(piece for piece in pieces if piece.path not in test)
        folds.append(Fold(f"group {i + 1}", inside, tuple(group)))
    return replace(made, folds=tuple(folds))
