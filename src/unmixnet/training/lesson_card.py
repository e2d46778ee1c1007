"""The card of a taught model."""

from unmixnet.training.run import Prepared

__all__ = ["lesson_card"]


def lesson_card(name: str, prepared: Prepared, scores: tuple[float, float, float], groups: int) -> str:
    """What it is for, what it was taught, its scores, its limits; Markdown.

    Arguments:
        scores: MAE of the model, of the nearest recording, of the mean.
        groups: how many groups of recordings were left out in turn.
    """
    n, config = len(prepared.train), prepared.config
    how = "each left out once" if groups == n else f"left out in {groups} groups"
    ours, nearest, mean = scores
    return (
        f"# {name}\n\n"
        f"{config.model.name} ({config.model.size}), taught on {n} recordings. From {config.data.window_s:.3g} s of "
        f"{', '.join(prepared.ready.channels)} it tells the shares of {', '.join(prepared.components)}.\n\n"
        f"| MAE of {n} recordings, {how} | |\n|---|---|\n"
        f"| this model | {ours:.3f} |\n| nearest other recording by mean level | {nearest:.3f} |\n"
        f"| mean of the others | {mean:.3f} |\n\n"
        "Intervals, background and novelty rest on the same left-out recordings. All of them are of the user's own "
        "sessions: on another day, or with another board, expect worse, and calibrate.\n\n"
        "Limits. Substances that it was not taught are shared out among those that it was. Concentrations and fluxes "
        "inside the chamber are implied by the model and were never measured.\n"
    )
