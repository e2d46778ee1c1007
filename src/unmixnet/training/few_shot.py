"""Teaching: a small model of the user's own substances and sensors, and its score on recordings it had not seen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from unmixnet.errors import ConfigError
from unmixnet.inference.bundle import Bundle, find_bundle, load_bundle, save_bundle
from unmixnet.inference.bundle.seen import seen
from unmixnet.inference.evidence import Evidence, gather_evidence
from unmixnet.inference.precision import single_precision
from unmixnet.recordings.recording import Recording
from unmixnet.training.calibrate_bundle import calibration_of, evidence_in
from unmixnet.training.examples import Examples, gather_examples
from unmixnet.training.head_start import TEACHER, with_head_start
from unmixnet.training.lesson import check_lesson, groups_of, lesson_config
from unmixnet.training.lesson_card import lesson_card
from unmixnet.training.run import Prepared, build_model, prepare
from unmixnet.training.trainer import fit

__all__ = ["EPOCHS", "Taught", "teach"]

EPOCHS = 150
Watch = Callable[[str, int, int], None]
"""`watch(stage, done, of)`."""


@dataclass(frozen=True, eq=False)
class Taught:
    """A taught model and its scores: MAE of the shares of recordings that were left out.

    Arguments:
        bundle: stored in `folder`.
        leave_one_out, nearest, mean: of the model, of the nearest other recording, of the mean of the others.
        groups: how many times it was trained to find this out; as many as recordings if each was left out by itself.
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
            "channels": list(self.bundle.ready.channels),
            "metric": "MAE",
            **scores,
            "recordings": self.recordings,
            "groups": self.groups,
            "how": self.how,
        }


def teach(
    recordings: Sequence[Recording],
    *,
    name: str,
    folder: str | Path,
    watch: Watch = lambda stage, done, of: None,
    seed: int = 0,
    epochs: int = EPOCHS,
    head_start: bool = True,
) -> Taught:
    """Train the small preset on labelled recordings and store it as `folder`/bundle.

    Arguments:
        watch: is told how far it is.
        epochs: of every training.
        head_start: begin with the networks of the shipped model of the simulated e-nose, which know how sensors answer
            but neither these sensors nor these substances; False starts from nothing.

    Up to twelve recordings are left out one by one, more of them in six groups; then the model is trained on all.
    What is chosen (intervals, background, novelty) rests on what the models said of recordings that they had not seen.
    """
    components = check_lesson(recordings)
    if epochs < 1:
        raise ConfigError(f"{epochs} epochs, expected at least one", remedy=f"Use {EPOCHS}")
    config = lesson_config(recordings, epochs=epochs, seed=seed)
    with single_precision():
        lesson = _Lesson(recordings, prepare(config, recordings, (), components), watch, head_start)
        groups = groups_of(recordings, seed=seed)
        held: dict[int, Evidence] = {}
        for number, group in enumerate(groups):
            held |= lesson.without(group, number, len(groups))
        found = [held[i] for i in range(len(recordings))]
        bundle, scores = lesson.bundle(name, found, len(groups))
    place = Path(folder) / "bundle"
    place.parent.mkdir(parents=True, exist_ok=True)
    digest = save_bundle(place, bundle)
    return Taught(replace(bundle, digest=digest), place, *scores, len(recordings), len(groups))


class _Lesson:
    """One compiled program for all trainings of a lesson: every one starts alike and has arrays of one shape."""

    def __init__(self, recordings: Sequence[Recording], whole: Prepared, watch: Watch, head_start: bool) -> None:
        self.recordings, self.whole, self.watch = recordings, whole, watch
        watch("getting ready", 0, 1)
        drawn = build_model(
            whole.config, whole.components, whole.ready.channels, air=whole.air, sign=whole.sign, seed=self.seed
        )
        self.start = with_head_start(drawn, load_bundle(find_bundle(TEACHER)).model) if head_start else drawn

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
        """What a model that never saw these recordings says of them."""
        rest = [i for i in range(len(self.recordings)) if i not in set(group)]
        # A copy takes the place of what is left out: another number of recordings would be another program.
        filled = [*rest, *np.resize(rest, len(group)).tolist()]
        known = prepare(self.whole.config, [self.recordings[i] for i in rest], (), self.whole.components)
        train = self._examples([self.recordings[i] for i in filled], known)
        fold = replace(known, train=train, sign=self.whole.sign)
        model = self.train(fold, f"checking, {number + 1} of {of}")
        return dict(zip(group, self._evidence(fold, model, [self.recordings[i] for i in group]), strict=True))

    def bundle(self, name: str, held: list[Evidence], groups: int) -> tuple[Bundle, tuple[float, float, float]]:
        """The model of all recordings; calibrated on what the others said of recordings that they had not seen."""
        whole = self.whole
        model = self.train(whole, "learning")
        self.watch("finishing", 0, 1)
        checked = replace(whole, validation=whole.train)
        calibration = calibration_of(checked, evidence_in(whole, model, whole.train), held)
        scores = self._scores(held)
        card = lesson_card(name, whole, scores, groups)
        known = tuple(seen(recording) for recording in self.recordings)
        made = (whole.config, whole.components, whole.ready, whole.air, whole.sign, model, calibration, card, known)
        self.watch("finishing", 1, 1)
        return Bundle(name, *made), scores

    def _scores(self, held: list[Evidence]) -> tuple[float, float, float]:
        """MAE of the model, of the nearest other recording by mean level, and of the mean of the others."""
        truth = self.whole.train.targets.astype(float)
        guess = np.stack([one.ratios.mean(axis=0) for one in held])
        pairs = zip(self.whole.train.traces, self.whole.train.lengths, strict=True)
        level = np.stack([trace[:length].mean(axis=0) for trace, length in pairs])
        far = np.sum((level[:, None] - level[None]) ** 2, axis=2) + np.diag(np.full(len(level), np.inf))
        others = (truth.sum(axis=0) - truth) / (len(truth) - 1)
        ours, nearest, mean = (
            float(np.mean(np.abs(one - truth))) for one in (guess, truth[far.argmin(axis=1)], others)
        )
        return ours, nearest, mean

    def _examples(self, recordings: Sequence[Recording], known: Prepared) -> Examples:
        """Traces as long as the longest of the lesson."""
        config = known.config
        made = gather_examples(recordings, known.ready, known.components, config.model.rate_Hz, config.window)
        extra = self.whole.train.traces.shape[1] - made.traces.shape[1]
        return replace(made, traces=np.pad(made.traces, ((0, 0), (0, max(extra, 0)), (0, 0)), mode="edge"))

    def _evidence(self, fold: Prepared, model: PyTree, recordings: Sequence[Recording]) -> list[Evidence]:
        config = fold.config
        made = gather_examples(recordings, fold.ready, fold.components, config.model.rate_Hz, config.window)
        traces = [trace[:length] for trace, length in zip(made.traces, made.lengths, strict=True)]
        return gather_evidence(model, traces, window=config.window, stride=config.stride, air=fold.air, sign=fold.sign)
