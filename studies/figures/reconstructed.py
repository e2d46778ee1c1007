r"""Traces of unseen mixtures, rebuilt: by UnMixNet's solver, and by ridge projections from ADR-GNN's hidden states.

ADR-GNN reconstructs nothing by itself. Two projections are fitted on training recordings alone, their penalties chosen
on validation recordings:

    of each moment   y(t) ≈ P h(t) + b        h(t) holds the mean of the last samples up to t: nearly a copy
    of the window    y(·) ≈ P h(T) + b        one vector for the whole window, as narrow as the answer is read from

Beside them the null that no model is needed for: the window's first sample, held. UnMixNet's solver starts from that
sample, too, and gets nothing else of the trace but the inferred mixture and bounded coefficients.
"""

from pathlib import Path
from typing import Any

import jax
import numpy as np

from studies.harness.benches import NetworkBench
from studies.harness.definitions import Study, chosen
from studies.harness.folds import Turn, turns_of
from studies.harness.inverse_bench import trained
from studies.harness.run import Options, config_of, turn_jobs
from studies.harness.variants import BASELINES, UNMIXNET
from studies.harness.work import Work
from studies.states.projection import fit_projection
from unmixnet.errors import ConfigError
from unmixnet.inference.bundle import find_bundle, load_bundle
from unmixnet.inference.windows import encode, reconstruct, respond
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.recordings.protocols import hold_out
from unmixnet.recordings.recall import Recall

__all__ = ["MODELS", "gather_reconstruction", "reconstruction_record"]

MODELS = ("UnMixNet", "ADR-GNN, each moment", "ADR-GNN, window", "first sample held")
_STUDY, _UNSEEN = "clean", "smellnet-mixture:clean:unseen"


def gather_reconstruction(root: Path | None, work: Work) -> dict[str, Any]:
    """Windows of the clean unseen recordings and their reconstructions; ADR-GNN is trained for it, once."""
    study, options = chosen("smellnet", (_STUDY,))[0], Options()
    turn, recall = turns_of(study.protocols, root)[0], Recall(root)
    ours = NetworkBench(config_of(study, UNMIXNET, options), turn, recall)
    model, source = _unmixnet(ours, study, turn, work, options)
    adr = next(variant for variant in BASELINES if variant.name == "adr-gnn")
    theirs = NetworkBench(config_of(study, adr, options), turn, recall)
    fit = theirs.fit(0, lambda entry: None)
    Y, owner = ours.windows(turn.tests[_UNSEEN])
    stride = model.settings.stride
    with jax.enable_x64(False):
        made = np.asarray(reconstruct(model, encode(model, Y), Y), float)
    rows = np.arange(stride, made.shape[1] * stride + 1, stride)
    moment, window = _projected(theirs, fit.model, Y)
    rebuilt: dict[str, np.ndarray] = dict(
        zip(MODELS, (made, moment[:, rows], window[:, rows], _held(Y, rows)), strict=True)
    )
    ready = ours.prepared.ready
    about = {
        "channels": list(ready.channels),
        "sd": np.asarray(ready.sd, float).tolist(),
        "rate_Hz": ours.config.model.rate_Hz,
        "unmixnet": source,
        "adr_gnn_epochs": fit.epochs,
    }
    names = [piece.label.names for piece in turn.tests[_UNSEEN] if piece.label]
    shares = [piece.label.ratios for piece in turn.tests[_UNSEEN] if piece.label]
    labels = [
        ", ".join(f"{name} {100 * share:.0f} %" for name, share in zip(n, s, strict=True))
        for n, s in zip(names, shares, strict=True)
    ]
    return about | reconstruction_record(Y[:, rows], rebuilt, owner, labels, rows / ours.config.model.rate_Hz)


def _unmixnet(bench: NetworkBench, study: Study, turn: Turn, work: Work, options: Options) -> tuple[UnMixNet, str]:
    """UnMixNet as the study trained it, else as the shipped bundle has it, which is the same recipe and split."""
    job = next(job for job in turn_jobs(study, turn, options) if job.variant is UNMIXNET and job.seed == 0)
    if work.read_weights(job) is not None:
        return trained(bench, job, work), f"weights {work.digest(job)} of the study {study.name}"
    bundle = load_bundle(find_bundle("smellnet-mixture"))
    mine, shipped = bench.prepared.ready, bundle.ready
    if not np.allclose([mine.mean, mine.sd], [shipped.mean, shipped.sd], rtol=1e-4):
        raise ConfigError(
            "the shipped bundle was trained on other recordings than the clean study has",
            where=str(work.folder),
            remedy="Name a --work folder in which `unmixnet reproduce smellnet` has trained unmixnet",
        )
    return bundle.model, f"shipped bundle {bundle.name} {bundle.digest[:12]}"


def _projected(bench: NetworkBench, model: Any, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Windows (n, T, M) rebuilt from the hidden state of each moment, and from the last one."""
    inner = hold_out(bench.turn.train, share=bench.config.data.validation)
    known = [bench.windows(side)[0] for side in (inner.train, inner.test)]
    hidden = [np.asarray(respond(model, cut).hidden, float) for cut in (*known, Y)]

    def flat(array: np.ndarray) -> np.ndarray:
        return array.reshape(-1, array.shape[2])

    train, held = ((flat(h), flat(y)) for h, y in zip(hidden[:2], known, strict=True))
    moment = fit_projection(train, held)(hidden[2])
    train, held = ((h[:, -1], y.reshape(len(y), -1)) for h, y in zip(hidden[:2], known, strict=True))
    return moment, fit_projection(train, held)(hidden[2][:, -1]).reshape(Y.shape)


def _held(Y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.repeat(Y[:, :1], len(rows), axis=1)


def reconstruction_record(
    measured: np.ndarray, rebuilt: dict[str, np.ndarray], owner: np.ndarray, labels: list[str], time_s: np.ndarray
) -> dict[str, Any]:
    """Residuals of all windows, and the traces of the recording whose residual of UnMixNet is the median.

    Arguments:
        measured: windows (n, T, M) in standard deviations of the training signal; `owner`: recording of each.
        rebuilt: the same by model; the first is UnMixNet's.
    """
    count = len(labels)
    rms: dict[str, np.ndarray] = {}
    for name, made in rebuilt.items():
        square = np.mean((measured - made) ** 2, axis=1)
        rms[name] = np.sqrt([square[owner == r].mean(axis=0) for r in range(count)])
    first = np.sqrt(np.mean(next(iter(rms.values())) ** 2, axis=1))
    which = int(np.argsort(first)[(count - 1) // 2])
    window = int(np.flatnonzero(owner == which)[0])
    return {
        "recordings": count,
        "label": labels[which],
        "time_s": time_s.tolist(),
        "measured": np.round(measured[window], 5).tolist(),
        "rebuilt": {name: np.round(made[window], 5).tolist() for name, made in rebuilt.items()},
        "rms": {name: np.sqrt(np.mean(values**2, axis=0)).tolist() for name, values in rms.items()},
        "rms_recordings": {name: np.round(np.sqrt(np.mean(v**2, axis=1)), 5).tolist() for name, v in rms.items()},
    }
