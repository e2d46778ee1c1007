"""Which peers run on which protocols, on which windows."""

from dataclasses import dataclass, replace

from unmixnet.recordings.preprocessing import BaselineMethod, Preprocessing
from unmixnet.recordings.samples import Task

__all__ = ["BASE_WINDOWS", "MIXTURE_RECORDINGS", "MIXTURE_WINDOWS", "TABLES", "PeerTable"]

MIXTURE_WINDOWS = Preprocessing(
    ("NO2", "C2H5OH", "VOC", "CO"), standardise=False, first_rows=600, window=100, stride=50
)
"""Absolute level of the first minute, windows of 10 s every 5 s: the odour is there from the first row on."""
MIXTURE_RECORDINGS = replace(MIXTURE_WINDOWS, window=600, stride=600)
"""The whole first minute as one window."""
BASE_WINDOWS = Preprocessing(
    ("NO2", "C2H5OH", "VOC", "CO", "Alcohol", "LPG"),
    baseline=BaselineMethod.RECORDING,
    baseline_s=0.0,
    lags=(25,),
    standardise=False,
    window=100,
    stride=50,
)
"""First row subtracted, difference over 25 rows, windows of 100 rows every 50: the authors' input."""


@dataclass(frozen=True)
class PeerTable:
    """Peers on protocols that share their training recordings.

    Arguments:
        name: short, for `--only`.
        windows: what a peer sees.
        suffix: added to the names of the peers, where they see something unusual.
        levels: at which scores are given.
        most_seeds: where a seed costs minutes.
        by_fold: also give every fold by itself.
    """

    name: str
    protocols: tuple[str, ...]
    task: Task
    windows: Preprocessing
    peers: tuple[str, ...]
    suffix: str = ""
    levels: tuple[str, ...] = ("window", "recording")
    most_seeds: int = 10
    by_fold: bool = False


def _whole(name: str, protocols: tuple[str, ...], peers: tuple[str, ...], most_seeds: int = 10) -> PeerTable:
    """A table of peers that see the first minute of a recording as one window."""
    return PeerTable(
        name,
        protocols,
        Task.RATIOS,
        MIXTURE_RECORDINGS,
        peers,
        suffix=" (whole recording)",
        levels=("recording",),
        most_seeds=most_seeds,
    )


_OFFICIAL = ("smellnet-mixture:official:seen", "smellnet-mixture:official:unseen")
_CLEAN = ("smellnet-mixture:clean:seen", "smellnet-mixture:clean:unseen")
_NULLS = ("chance", "mean", "1-NN")
_MIX = (Task.RATIOS, MIXTURE_WINDOWS)

_SESSIONS = ("smellnet-mixture:leave-session-out",)
_SUPPORTS = ("smellnet-mixture:leave-support-out",)
_BASE = (("smellnet-base:official",), Task.CLASSES, BASE_WINDOWS)
_CHEAP = (*_NULLS, "15-NN log", "ridge")
_LEARNERS = ("1-NN", "15-NN log", "extra-trees")

TABLES: tuple[PeerTable, ...] = (
    PeerTable("base", *_BASE, ("chance", "1-NN", "5-NN", "ridge", "extra-trees")),
    PeerTable("official", _OFFICIAL, *_MIX, (*_NULLS, "1-NN log", "5-NN", "ridge", "extra-trees")),
    _whole("official-recordings", _OFFICIAL, _LEARNERS),
    PeerTable("clean", _CLEAN, *_MIX, (*_NULLS, "5-NN", "ridge", "extra-trees")),
    _whole("clean-recordings", _CLEAN, _LEARNERS),
    _whole("clean-neighbours", _CLEAN, ("15-NN log weighted",)),
    PeerTable("new-session", ("smellnet-mixture:new-session",), *_MIX, (*_CHEAP, "extra-trees")),
    PeerTable("leave-session-out", _SESSIONS, *_MIX, _CHEAP, most_seeds=3),
    _whole("leave-session-out-recordings", _SESSIONS, ("extra-trees",), most_seeds=3),
    PeerTable("leave-support-out", _SUPPORTS, *_MIX, _CHEAP, most_seeds=3),
    _whole("leave-support-out-recordings", _SUPPORTS, ("extra-trees",), most_seeds=3),
    PeerTable(
        "base-six-fold",
        ("smellnet-base:six-fold",),
        Task.CLASSES,
        BASE_WINDOWS,
        ("chance", "extra-trees"),
        most_seeds=3,
        by_fold=True,
    ),
    PeerTable("base-rocket", *_BASE, ("mini-rocket",), most_seeds=3),
    PeerTable("clean-rocket", _CLEAN, *_MIX, ("mini-rocket",), most_seeds=2),
    PeerTable("official-rocket", _OFFICIAL, *_MIX, ("mini-rocket",), most_seeds=1),
)
"""Every table of peers, in the order in which they run; the slow ones last."""
