"""Fingerprints of the pure components of a data set, from its measured training recordings."""

from pathlib import Path

from unmixnet.errors import ConfigError
from unmixnet.recordings.audit.leaks import ENVIRONMENT_UNITS
from unmixnet.recordings.codes import ChannelHealth
from unmixnet.recordings.datasets import Entry, load_dataset
from unmixnet.recordings.fingerprints import Fingerprints, fingerprints
from unmixnet.recordings.preprocessing import Preprocessing
from unmixnet.recordings.protocols import measured
from unmixnet.recordings.recording import Recording

__all__ = ["pure_fingerprints"]


def pure_fingerprints(
    dataset: str,
    root: str | Path | None,
    *,
    response: str = "level",
    baseline: str = "none",
    align: bool = False,
) -> Fingerprints:
    """Fingerprints over the gas channels that work in every pure training recording.

    Arguments:
        dataset: name of a data set with labels; where it has a training split, only that is used.
    """
    data = load_dataset(dataset, root)
    splits = measured(data)
    training = {name: pieces for name, pieces in splits.items() if "train" in name} or splits
    pure = [
        data.read(Entry(piece.path, name, piece.label, piece.session))
        for name, pieces in training.items()
        for piece in pieces
        if piece.label is not None and len(piece.label.support) == 1
    ]
    if len({recording.label for recording in pure}) < 2:
        raise ConfigError(
            "fingerprints need recordings of at least two pure components",
            where=dataset,
            remedy="Record each component by itself",
        )
    made = Preprocessing(_working_gas_channels(pure), baseline=baseline, response=response, standardise=False)
    ready = made.fit(pure)
    return fingerprints(pure, ready.signal, align=align)


def _working_gas_channels(recordings: list[Recording]) -> tuple[str, ...]:
    """Channels of gas sensors that have readings everywhere and do not stick in most recordings."""
    first = recordings[0]
    gas = [n for n, unit in zip(first.channels, first.units, strict=True) if unit not in ENVIRONMENT_UNITS]

    def works(name: str) -> bool:
        health = [r.health[r.channels.index(name)] for r in recordings if name in r.channels]
        usable = [h for h in health if h in (ChannelHealth.OK, ChannelHealth.STUCK, ChannelHealth.SATURATED)]
        ok = sum(h is ChannelHealth.OK for h in health)
        return len(usable) == len(recordings) and ok > len(recordings) / 2

    working = tuple(name for name in gas if works(name))
    if not working:
        raise ConfigError("no gas channel works in every recording", remedy="See `unmixnet audit`")
    return working
