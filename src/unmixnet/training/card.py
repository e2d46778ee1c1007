"""The model card: what a bundle is for, what it was trained on, its scores, its limits."""

from unmixnet.inference.bundle.calibration import Calibration
from unmixnet.training.config import TrainConfig
from unmixnet.training.nulls import Scores
from unmixnet.training.run import Prepared

__all__ = ["write_card"]


def write_card(name: str, prepared: Prepared, calibration: Calibration, scores: Scores | None) -> str:
    """The card as Markdown."""
    config = prepared.config
    held = 0 if prepared.validation is None else len(prepared.validation)
    again = held > 0 and config.training.refit
    parts = (
        f"# {name}",
        _purpose(config, prepared),
        f"Trained on {len(prepared.train)} recordings of `{config.data.protocol}` (fold {config.data.fold}, seed "
        f"{config.training.seed}); everything else was chosen on {held} further recordings"
        + (", in whole sessions where they are known." if held else ": none, so its intervals say nothing.")
        + (" Then it was trained again on all of them; scores and intervals are from before." if again else ""),
        _scores(scores),
        _use(calibration, config),
        _limits(config),
    )
    return "\n\n".join(parts) + "\n"


def _purpose(config: TrainConfig, prepared: Prepared) -> str:
    what = "which of" if config.data.task == "classes" else "the shares of"
    return (
        f"{config.model.name} ({config.model.size}). From {config.data.window_s:g} s of the channels "
        f"{', '.join(prepared.ready.channels)} it tells {what} {len(prepared.components)} substances: "
        f"{', '.join(prepared.components)}."
    )


def _scores(scores: Scores | None) -> str:
    if scores is None:
        return "There were no validation recordings, so there is no score."
    return (
        f"| {scores.metric} on {scores.recordings} validation recordings | |\n|---|---|\n"
        f"| this model | {scores.model:.3f} |\n| mean of training | {scores.mean:.3f} |\n"
        f"| nearest training recording by mean level | {scores.nearest:.3f} |\n\n"
        "The model was chosen on these recordings: expect worse on new ones. `unmixnet evaluate` scores it on a test."
    )


def _use(calibration: Calibration, config: TrainConfig) -> str:
    table = calibration.intervals
    return (
        f"Windows of {config.data.window_s:g} s every {config.data.stride_s:g} s, mean over windows, temperature "
        f"{calibration.temperature:g}, shares under {calibration.support:g} set to zero. Intervals: {table.level:.0%} "
        f"by split conformal prediction on {table.recordings} recordings; they hold for recordings like those."
    )


def _limits(config: TrainConfig) -> str:
    clean = {
        "recording": "A recording must start in clean air: its first row is the baseline.",
        "reference": "The clean-air level of the device must be known.",
        "none": "It reads absolute levels, which drift from week to week and differ between boards.",
    }[config.data.baseline]
    return (
        f"Limits. {clean} Substances that it does not know are shared out among those it knows; it says so when a "
        "recording looks unlike its training, which is a statistical test and can fail. Concentrations and fluxes "
        "inside the chamber are implied by the model and were never measured."
    )
