"""The recordings of a training file: its protocol's training side, with validation recordings split off."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from unmixnet.errors import ConfigError
from unmixnet.recordings.datasets import Dataset, load_dataset
from unmixnet.recordings.pieces import read_pieces
from unmixnet.recordings.protocols import Piece, hold_out, protocol
from unmixnet.recordings.recording import Recording
from unmixnet.training.config import TrainConfig

__all__ = ["ALL", "Sources", "sources_of"]

ALL = "folder:all"
"""Protocol that takes every labelled recording of a folder and tests on none."""


@dataclass(frozen=True, eq=False)
class Sources:
    """Recordings to train on and to choose on, the substances of their labels, and the sessions of the training."""

    train: tuple[Recording, ...]
    validation: tuple[Recording, ...]
    components: tuple[str, ...]
    sessions: tuple[str | None, ...]


def sources_of(
    config: TrainConfig,
    root: str | Path | None = None,
    *,
    progress: Callable[[str, int], Callable[[], None]] = lambda name, steps: lambda: None,
) -> Sources:
    """Read them.

    Arguments:
        root: data folder for a named protocol; UNMIXNET_DATA if not given. `folder:…` has its own in the file.
        progress: `progress(name, steps)` returns what is called after every recording.
    """
    data, pieces = _training_side(config, root)
    fold = hold_out(pieces, share=config.data.validation)
    tick = progress("Reading recordings", len(pieces))
    train, held = (read_pieces(data, side, tick) for side in (fold.train, fold.test))
    return Sources(train, held, data.components, tuple(piece.session for piece in fold.train))


def _training_side(config: TrainConfig, root: str | Path | None) -> tuple[Dataset, tuple[Piece, ...]]:
    name = config.data.protocol
    home = (config.data.folder or root) if name.startswith("folder:") else root
    if name.startswith("folder:") and home is None:
        raise ConfigError(
            f"the protocol {name} needs a folder of recordings",
            where="data.folder",
            remedy='Write folder = "…" under [data], or give --folder',
        )
    if name == ALL:
        data = load_dataset("folder", home)
        labelled = tuple(Piece(e.path, e.label, e.session) for e in data.entries if e.label is not None)
        if not labelled:
            raise ConfigError(
                "no recording of this folder has a label",
                where=str(home),
                remedy="List the recordings and their labels in manifest.csv",
            )
        return data, labelled
    made = protocol(name, home)
    if config.data.fold >= len(made.folds):
        raise ConfigError(
            f"fold {config.data.fold} of {name}, which has {len(made.folds)}",
            where="data.fold",
            remedy=f"Choose 0 to {len(made.folds) - 1}",
        )
    return made.data, made.folds[config.data.fold].train
