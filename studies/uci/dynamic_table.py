"""The paper's two UCI tables, on files in the format: generated ones with known truth, or a user's original ones."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from studies.uci.episodes import Series, Split, cross_file, series_of, splits_of, windows_of
from studies.uci.estimates import GasEstimate, score_rows
from studies.uci.generate import read_truth
from studies.uci.plateau_inverse import QUASI_STEADY, run_quasi_steady
from studies.uci.supervised import SUPERVISED, choose_delay, run_supervised
from studies.uci.transfer import StateProvider, run_transfer
from unmixnet.inference.scores import Row
from unmixnet.recordings.formats.uci_cache import open_view

if TYPE_CHECKING:
    from studies.uci.transfer import Frozen

__all__ = [
    "TRANSFERS",
    "MakeProvider",
    "dynamic_rows",
    "estimates_of",
    "made_of",
    "packaged_supervised",
    "packaged_transfers",
]

MakeProvider = Callable[[Split], StateProvider]
"""A frozen model, normalised on the calibration episodes of a split."""
TRANSFERS = ("scratch-transfer UnMixNet", "SmellNet-pretrained UnMixNet")
PROTOCOL = "uci-dynamic"


def packaged_transfers() -> dict[str, "Frozen"]:
    """Frozen models that come with the package."""
    from studies.uci.transfer import frozen_of, untrained
    from unmixnet.inference.bundle import load_model

    bundle = load_model("smellnet-mixture")
    plain = dict(zip(TRANSFERS, (untrained(bundle), frozen_of(bundle)), strict=True))
    return plain | {f"{name}, log state": replace(model, logarithm=True) for name, model in plain.items()}


def packaged_supervised() -> dict[str, MakeProvider]:
    """UnMixNet of the packaged size, taught by UCI alone: what supervision can bring at most."""
    from studies.uci.supervised import SUPERVISED_UNMIXNET, supervised_unmixnet
    from unmixnet.inference.bundle import load_model

    return {SUPERVISED_UNMIXNET: supervised_unmixnet(load_model("smellnet-mixture"))}


def made_of(models: Mapping[str, "Frozen"]) -> dict[str, MakeProvider]:
    """State providers of frozen models."""
    from studies.uci.transfer import provider

    return {name: partial(_normalised_on, provider, model) for name, model in models.items()}


def _normalised_on(provider: Callable[..., StateProvider], model: "Frozen", split: Split) -> StateProvider:
    return provider(model, split.calibration)


def dynamic_rows(
    texts: Sequence[Path],
    transfers: dict[str, MakeProvider],
    *,
    cache: Path | None = None,
    label: str = "generated",
    progress: Callable[[str], None] = lambda what: None,
) -> Iterator[tuple[Split, GasEstimate, list[Row]]]:
    """Every split of every file, every model; then each file after the other, for the gas that both have.

    Arguments:
        texts: files in the UCI format.
        transfers: frozen models by name.
        cache: where 1 Hz views are kept.
        label: what the protocol is called after.
        progress: called with what is about to run.
    """
    files: list[Series] = []
    for text in texts:
        recording = open_view(text, 1, folder=cache)
        series = series_of(recording, text.stem)
        files.append(series)
        for split in splits_of(series, recording):
            protocol = f"{PROTOCOL}:{label}:{text.stem}"
            yield from _scored(split, (0, 1), transfers, protocol, _chamber(text, split), progress)
    for train, test in ((a, b) for a in range(len(files)) for b in range(len(files)) if a != b):
        split = cross_file(files[train], files[test])
        # ethylene is the second column of every file
        yield from _scored(
            split, (1,), transfers, f"{PROTOCOL}:{label}:cross-file", _chamber(texts[test], split), progress
        )


def estimates_of(
    split: Split, gases: tuple[int, ...], transfers: dict[str, MakeProvider], progress: Callable[[str], None]
) -> Iterator[GasEstimate]:
    """Peers that learn from UCI, then frozen models."""
    progress(f"{split.name}: delay")
    delay_s = choose_delay(split, gases)
    for name in SUPERVISED:
        progress(f"{split.name}: {name}")
        yield run_supervised(split, name, gases, delay_s=delay_s)
    if split.name == "forward" and len(gases) == 2:
        progress(f"{split.name}: {QUASI_STEADY}")
        yield run_quasi_steady(split)
    for name, make in transfers.items():
        progress(f"{split.name}: {name}")
        provider = _remembering(make(split))
        yield run_transfer(split, name, provider, gases)
        if provider(windows_of(split.calibration)).shape[1] > len(gases):
            yield run_transfer(split, f"{name}, whole state", provider, gases, whole=True)


def _remembering(provider: StateProvider) -> StateProvider:
    """The same provider with its last results kept: calibration and test windows come twice."""
    known: dict[tuple[int, float], np.ndarray] = {}

    def provide(windows: np.ndarray) -> np.ndarray:
        key = (len(windows), float(windows.sum()))
        if key not in known:
            known[key] = provider(windows)
        return known[key]

    return provide


def _scored(
    split: Split,
    gases: tuple[int, ...],
    transfers: dict[str, MakeProvider],
    protocol: str,
    chamber_ppm: np.ndarray | None,
    progress: Callable[[str], None],
) -> Iterator[tuple[Split, GasEstimate, list[Row]]]:
    for estimate in estimates_of(split, gases, transfers, progress):
        yield split, estimate, score_rows(split, estimate, gases, protocol, chamber_ppm)


def _chamber(text: Path, split: Split) -> np.ndarray | None:
    """What was in the chamber at the test windows; None for a file without truth."""
    if not text.with_suffix(".truth.npz").is_file():
        return None
    truth = read_truth(text)
    time_s = split.test.series.time_s[split.test.ends]
    return np.stack([np.interp(time_s, truth.time_s, column) for column in truth.ppm.T], axis=1)
