"""Bundles on disk: float32 weights by name, documents beside them, one manifest over all."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from unmixnet.errors import UnmixError
from unmixnet.files import Artefact, ArtefactError, read_artefact, write_artefact
from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.bundle.calibration import Calibration
from unmixnet.inference.bundle.seen import Seen
from unmixnet.inference.precision import single_precision
from unmixnet.recordings.preprocess import Preprocessing
from unmixnet.training.checkpoint import from_tensors, to_tensors
from unmixnet.training.config import TrainConfig
from unmixnet.training.run import build_model

__all__ = ["FORMAT", "load_bundle", "save_bundle"]

FORMAT = 1
_LARGEST = 64 << 20


def save_bundle(folder: str | Path, bundle: Bundle) -> str:
    """Write a bundle in place of the one that stands there, if any, and give its digest."""
    weights = to_tensors(eqx.filter(bundle.model, eqx.is_inexact_array))
    documents = {
        "config.json": _config(bundle),
        "preprocessing.json": json.loads(bundle.ready.to_json()),
        "calibration.json": bundle.calibration.to_json(),
        "card.md": bundle.card,
    }
    tensors = {name: array.astype(np.float32) for name, array in weights.items()}
    return write_artefact(Path(folder), Artefact("bundle", tensors, documents))


def load_bundle(folder: str | Path) -> Bundle:
    """Read and verify a bundle; draws nothing and compiles nothing."""
    kept = read_artefact(Path(folder), kind="bundle", max_bytes=_LARGEST)
    where = str(folder)
    with _understood(where):
        told: Any = kept.documents["config.json"]
        if told["format"] != FORMAT:
            raise ValueError(f"format {told['format']!r}, this release reads format {FORMAT}")
        config = TrainConfig.model_validate(told["config"])
        ready = Preprocessing.from_json(json.dumps(kept.documents["preprocessing.json"]))
        components = tuple(map(str, told["components"]))
        air, sign = (tuple(map(float, told[name])) for name in ("air", "sign"))
        bundle = Bundle(
            str(told["name"]),
            config,
            components,
            ready,
            air,
            sign,
            None,
            Calibration.from_json(kept.documents["calibration.json"]),
            str(kept.documents["card.md"]),
            tuple(Seen(str(one["path"]), str(one["sha256"])) for one in told["recordings"]),
            kept.digest,
        )
        model = _model(bundle, kept.tensors, where)
    return replace(bundle, model=model)


def _config(bundle: Bundle) -> dict[str, Any]:
    """The configuration without the place of the data on the machine that trained."""
    config = bundle.config.model_dump()
    config["data"]["folder"] = None
    return {
        "format": FORMAT,
        "name": bundle.name,
        "config": config,
        "components": bundle.components,
        "air": bundle.air,
        "sign": bundle.sign,
        "recordings": [asdict(one) for one in bundle.recordings],
    }


def _model(bundle: Bundle, tensors: Mapping[str, np.ndarray], where: str) -> PyTree:
    """The structure that the configuration describes, with the stored weights in it."""
    with single_precision():
        shapes = eqx.filter_eval_shape(
            lambda: build_model(
                bundle.config, bundle.components, bundle.ready.channels, air=bundle.air, sign=bundle.sign, seed=0
            )
        )
        wanted, rest = eqx.partition(shapes, _is_weight)
        if bad := [name for name, array in tensors.items() if not np.all(np.isfinite(array))]:
            raise ArtefactError(f"{bad[0]} holds NaN or infinity", where=where, remedy="Train anew, or fetch it again")
        return eqx.combine(from_tensors(dict(tensors), wanted, where), rest)


def _is_weight(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct) and jnp.issubdtype(leaf.dtype, jnp.inexact)


@contextmanager
def _understood(where: str) -> Iterator[None]:
    """Documents that are sound JSON and no description of a bundle become one kind of error."""
    try:
        yield
    except ArtefactError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, UnmixError) as error:
        told = error.problem if isinstance(error, UnmixError) else f"{type(error).__name__}: {error}"
        raise ArtefactError(
            f"its documents do not describe a model ({' '.join(told.split())[:200]})",
            where=where,
            remedy="Was it written by another version of unmixnet? Update, or train anew",
        ) from None
