"""Few-shot training: a small model of the user's own substances, scored on recordings that were left out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from unmixnet.errors import ConfigError
from unmixnet.inference.bundle import Bundle, load_model, save_bundle
from unmixnet.inference.bundle.bundle import seen_recording
from unmixnet.inference.evidence import Evidence
from unmixnet.model.predict import single_precision
from unmixnet.model.spec import build_model
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.recordings.recording import Recording
from unmixnet.training.calibrate_bundle import calibration_of, evidence_in
from unmixnet.training.examples import Examples, gather_examples
from unmixnet.training.few_shot_config import check_recordings, few_shot_config
from unmixnet.training.make_bundle import few_shot_card
from unmixnet.training.run import Prepared, prepare
from unmixnet.training.trainer import fit

__all__ = [
    "EPOCHS",
    "FEW",
    "PRETRAINED",
    "FewShotModel",
    "groups_of",
    "train_few_shot",
    "warm_started",
]

FEW = 12
"""Largest number of recordings of which each is left out by itself."""
_GROUPS = 6


def groups_of(recordings: Sequence[Recording], *, seed: int) -> list[list[int]]:
    """Indices of the recordings that are left out together: one by one, or in six groups stratified by recipe."""
    n = len(recordings)
    if n <= FEW:
        return [[i] for i in range(n)]
    order = np.random.default_rng(seed).permutation(n).tolist()
    by_recipe = sorted(order, key=lambda i: _recipe(recordings[i]))
    return [sorted(by_recipe[group::_GROUPS]) for group in range(_GROUPS)]


def _recipe(recording: Recording) -> str:
    assert recording.label is not None, "checked recordings have labels"
    return "+".join(sorted(recording.label.support))


PRETRAINED = "simulated"
"""The packaged bundle whose networks a warm start takes."""


def warm_started(model: UnMixNet, pretrained: UnMixNet) -> UnMixNet:
    """The model with the pretrained networks where shapes agree; at another sampling rate the encoder's do not."""
    for part in (_physics, _encoder):
        mine, theirs = part(model), part(pretrained)
        if _shapes(mine) == _shapes(theirs):
            model = eqx.tree_at(part, model, theirs)
    return model


def _encoder(model: UnMixNet) -> Any:
    return model.encoder


def _physics(model: UnMixNet) -> Any:
    readout = model.transduction
    return (
        model.release,
        model.flow,
        model.diffusivity,
        model.kinetics,
        readout.pairs,
        readout.modulation,
        readout.offset,
    )


def _shapes(tree: Any) -> Any:
    leaves, structure = jax.tree.flatten(eqx.filter(tree, eqx.is_array))
    return [leaf.shape for leaf in leaves], structure


EPOCHS = 150
Watch = Callable[[str, int, int], None]
"""`watch(stage, done, of)`."""


@dataclass(frozen=True, eq=False)
class FewShotModel:
    """A few-shot model and its scores: MAE of the shares of recordings that were left out.

    Arguments:
        bundle: stored in `folder`.
        leave_one_out, nearest, mean: of the model, of the nearest other recording, of the mean of the others.
        groups: trainings behind these scores; as many as recordings if each was left out by itself.
    """

    bundle: Bundle
    folder: Path
    leave_one_out: float
    nearest: float
    mean: float
    recordings: int
    groups: int

    @property
    def how(self) -> str:
        """What was left out."""
        if self.groups == self.recordings:
            return "each recording left out once"
        return f"{self.groups} groups of recordings left out in turn"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        scores = {name: round(getattr(self, name), 5) for name in ("leave_one_out", "nearest", "mean")}
        return {
            "bundle": str(self.folder),
            "digest": self.bundle.digest,
            "components": list(self.bundle.components),
            "channels": list(self.bundle.preprocessing.channels),
            "metric": "MAE",
            **scores,
            "recordings": self.recordings,
            "groups": self.groups,
            "how": self.how,
        }


def train_few_shot(
    recordings: Sequence[Recording],
    *,
    name: str,
    folder: str | Path,
    watch: Watch = lambda stage, done, of: None,
    seed: int = 0,
    epochs: int = EPOCHS,
    warm_start: bool = True,
) -> FewShotModel:
    """Train the small preset on labelled recordings and store it as `folder`/bundle.

    Arguments:
        watch: called with the stage, the steps that are done, and their number.
        epochs: of every training.
        warm_start: begin with the networks of the shipped model of the simulated e-nose, trained on other sensors and
            other substances; False starts from random weights.

    Up to twelve recordings are left out one by one, more of them in six groups; then the model is trained on all.
    Intervals, background and novelty are calibrated on recordings that were left out.
    """
    components = check_recordings(recordings)
    if epochs < 1:
        raise ConfigError(f"{epochs} epochs, expected at least one", remedy=f"Use {EPOCHS}")
    config = few_shot_config(recordings, epochs=epochs, seed=seed)
    with single_precision():
        training = _FewShotTraining(recordings, prepare(config, recordings, (), components), watch, warm_start)
        groups = groups_of(recordings, seed=seed)
        held: dict[int, Evidence] = {}
        for number, group in enumerate(groups):
            held |= training.without(group, number, len(groups))
        evidence = [held[i] for i in range(len(recordings))]
        bundle, scores = training.bundle(name, evidence, len(groups))
    place = Path(folder) / "bundle"
    place.parent.mkdir(parents=True, exist_ok=True)
    digest = save_bundle(place, bundle)
    return FewShotModel(replace(bundle, digest=digest), place, *scores, len(recordings), len(groups))


class _FewShotTraining:
    """Trainings of a few-shot model, with one start and arrays of one shape, so that they share one program."""

    def __init__(self, recordings: Sequence[Recording], whole: Prepared, watch: Watch, warm_start: bool) -> None:
        self.recordings, self.whole, self.watch = recordings, whole, watch
        watch("getting ready", 0, 1)
        drawn = build_model(whole.spec, seed=self.seed)
        self.start = warm_started(drawn, load_model(PRETRAINED).model) if warm_start else drawn

    @property
    def seed(self) -> int:
        return self.whole.config.training.seed

    def train(self, prepared: Prepared, stage: str) -> PyTree:
        config = prepared.config
        epochs = config.training.epochs
        model = eqx.tree_at(
            lambda m: m.transduction.baseline, self.start, jnp.asarray(prepared.air, self.start.species.dtype)
        )
        self.watch(stage, 0, epochs)
        return fit(
            model,
            prepared.arrays(),
            config.plan,
            config.recipe,
            window=config.window,
            seed=self.seed,
            watch=lambda entry: self.watch(stage, int(entry["epoch"]), epochs),
        ).model

    def without(self, group: Sequence[int], number: int, of: int) -> dict[int, Evidence]:
        """Evidence in these recordings, by a model trained on the others."""
        rest = [i for i in range(len(self.recordings)) if i not in set(group)]
        # Copies replace what is left out: another number of recordings would need another program.
        filled = [*rest, *np.resize(rest, len(group)).tolist()]
        known = prepare(self.whole.config, [self.recordings[i] for i in rest], (), self.whole.components)
        train = self._examples([self.recordings[i] for i in filled], known)
        fold = replace(known, train=train, sign=self.whole.sign)
        model = self.train(fold, f"checking, {number + 1} of {of}")
        return dict(zip(group, self._evidence(fold, model, [self.recordings[i] for i in group]), strict=True))

    def bundle(self, name: str, held: list[Evidence], groups: int) -> tuple[Bundle, tuple[float, float, float]]:
        """The model trained on all recordings, calibrated on the evidence of left-out ones."""
        whole = self.whole
        model = self.train(whole, "learning")
        self.watch("finishing", 0, 1)
        checked = replace(whole, validation=whole.train)
        calibration = calibration_of(checked, evidence_in(whole, model, whole.train), held)
        scores = self._scores(held)
        card = few_shot_card(name, whole, scores, groups)
        known = tuple(seen_recording(recording) for recording in self.recordings)
        made = (whole.spec, whole.preprocessing, model, calibration, card, known, whole.config.stored())
        self.watch("finishing", 1, 1)
        return Bundle(name, *made), scores

    def _scores(self, held: list[Evidence]) -> tuple[float, float, float]:
        """MAE of the model, of the nearest other recording by mean level, and of the mean of the others."""
        truth = self.whole.train.targets.astype(float)
        guess = np.stack([answer.ratios.mean(axis=0) for answer in held])
        pairs = zip(self.whole.train.traces, self.whole.train.lengths, strict=True)
        level = np.stack([trace[:length].mean(axis=0) for trace, length in pairs])
        far = np.sum((level[:, None] - level[None]) ** 2, axis=2) + np.diag(np.full(len(level), np.inf))
        others = (truth.sum(axis=0) - truth) / (len(truth) - 1)
        ours, nearest, mean = (
            float(np.mean(np.abs(answer - truth))) for answer in (guess, truth[far.argmin(axis=1)], others)
        )
        return ours, nearest, mean

    def _examples(self, recordings: Sequence[Recording], known: Prepared) -> Examples:
        """Examples whose traces are as long as the longest of all recordings."""
        config = known.config
        made = gather_examples(recordings, known.preprocessing, known.components, config.model.rate_Hz, config.window)
        extra = self.whole.train.traces.shape[1] - made.traces.shape[1]
        return replace(made, traces=np.pad(made.traces, ((0, 0), (0, max(extra, 0)), (0, 0)), mode="edge"))

    def _evidence(self, fold: Prepared, model: PyTree, recordings: Sequence[Recording]) -> list[Evidence]:
        config = fold.config
        made = gather_examples(recordings, fold.preprocessing, fold.components, config.model.rate_Hz, config.window)
        return evidence_in(fold, model, made)
