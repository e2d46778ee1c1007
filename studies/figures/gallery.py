"""All figures by name: where each takes its numbers from, how it is drawn, and what is written under it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from studies.figures.stored import Caption
from unmixnet.errors import ConfigError
from unmixnet.files.provenance import provenance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from studies.figures.stored import AnswerTable

__all__ = ["FIGURES", "FigureSources", "Made", "chosen_figures", "make_figures"]

DPI = 150
COMMAND = "python -m studies figures"
_SHARES = {"seen (clean)": "clean:seen", "unseen (clean)": "clean:unseen", "leave-support-out": "leave-support-out"}
Progress = Callable[[str, int], Callable[[], None]]


class FigureSources:
    """What figures are drawn from, each computed on first use.

    Arguments:
        root: data folder.
        work: folder of finished trainings; what takes long is kept there.
        results: folder of stored results.
        redraw: compute nothing; take what is stored in `results`.
    """

    def __init__(
        self, root: Path | None, work: Path, results: Path, progress: Progress, *, redraw: bool = False
    ) -> None:
        self.root, self.work, self.results, self.progress, self.redraw = root, work, results, progress, redraw

    @cached_property
    def tables(self) -> "dict[str, AnswerTable]":
        """Stored answers to the protocols of the shares."""
        from studies.figures.stored import table_of
        from studies.harness.predictions import read_predictions

        answers = read_predictions(self._predictions)
        return {title: table_of(answers, f"smellnet-mixture:{name}") for title, name in _SHARES.items()}

    @cached_property
    def failures(self) -> dict[str, Any]:
        """The failure analysis, with its head."""
        if self.redraw:
            return self._stored("failures")
        from studies.figures.abstention import abstention_record, judged
        from studies.figures.failure_record import gather_failures

        def abstention() -> dict[str, Any]:
            from studies.figures.abstention import BUNDLE
            from unmixnet.inference.bundle import load_model

            digest = load_model(BUNDLE).digest
            return abstention_record(self._work.remembered("abstention", digest, lambda: judged(self.root)))

        novelty = self.results / "novelty.json"
        return provenance(COMMAND) | gather_failures(self.root, self._predictions, novelty, self.progress, abstention)

    @cached_property
    def fingerprints(self) -> dict[str, Any]:
        """Coherences and places of the pure substances; the failure analysis has the same."""
        if self.redraw or "failures" in self.__dict__:
            return self.failures["fingerprints"]
        from studies.figures.failure_record import fingerprints_of

        return fingerprints_of(self.root)

    @cached_property
    def reconstruction(self) -> dict[str, Any]:
        """Traces of an unseen mixture and what each model makes of them."""
        if self.redraw:
            return self._stored("figures")["reconstruction"]
        from studies.figures.reconstruction import gather_reconstruction
        from studies.harness import work as code
        from studies.harness.work import code_version

        tick = self.progress("Reconstruction", 1)
        known = [code_version(code.UNMIXNET), code_version(code.BASELINE)]
        made = self._work.remembered("reconstruction", known, lambda: gather_reconstruction(self.root, self._work))
        tick()
        return made

    @property
    def _predictions(self) -> Path:
        return self.results / "predictions" / "smellnet.parquet"

    @cached_property
    def _work(self):
        from studies.harness.work import Work

        return Work(self.work)

    def _stored(self, name: str) -> dict[str, Any]:
        path = self.results / f"{name}.json"
        if not path.is_file():
            raise ConfigError("nothing is stored to redraw from", where=str(path), remedy="Run without --redraw first")
        return json.loads(path.read_text())


@dataclass(frozen=True)
class Made:
    """A figure that was written."""

    name: str
    path: Path
    caption: Caption


def _overview(sources: FigureSources) -> "tuple[Figure, Caption]":
    from studies.figures.diagrams import draw_overview

    return draw_overview(), Caption(
        "Overview of the system",
        "An inverse encoder reads presence, shares and coefficients from a recording; a solver must be able to make "
        "the recording from them. Networks set coefficients, within bounds that the sample cannot leave; operators "
        "without weights move the state. A drawing: nothing is measured.",
        "The figure follows the code; see the table of steps and files in the page of the model.",
    )


def _blocks(sources: FigureSources) -> "tuple[Figure, Caption]":
    from studies.figures.diagrams import draw_blocks

    return draw_blocks(), Caption(
        "The two blocks of the solver",
        "One step: transport of moles through the chamber, then the surface of every sensor. Blue boxes are networks "
        "that set coefficients, green ones exact or conservative operators. Mixtures of SmellNet start exposed: the "
        "coverage stationary at the released concentrations. Gain and offset of a session are nuisances that each "
        "recording has to tell by itself, or its references. A drawing: nothing is measured.",
        "Every equation has its file and its tests; the departures from the paper are listed in a page of their own.",
    )


def _reconstruction(sources: FigureSources) -> "tuple[Figure, Caption]":
    from studies.figures.reconstruction import draw_reconstruction, reconstruction_caption

    return draw_reconstruction(sources.reconstruction), reconstruction_caption(sources.reconstruction)


def _fingerprints(sources: FigureSources) -> "tuple[Figure, Caption]":
    from studies.figures.shares import draw_fingerprints, fingerprint_caption

    return draw_fingerprints(sources.fingerprints), fingerprint_caption(sources.fingerprints)


def _shares(sources: FigureSources) -> "tuple[Figure, Caption]":
    from studies.figures.shares import draw_shares, shares_caption

    return draw_shares(sources.tables), shares_caption(sources.tables)


def _confusion(sources: FigureSources) -> "tuple[Figure, Caption]":
    from studies.figures.confusion import confusion_caption, draw_confusion

    return draw_confusion(sources.failures), confusion_caption(sources.failures)


def _drift(sources: FigureSources) -> "tuple[Figure, Caption]":
    from studies.figures.drift import draw_drift, drift_caption

    return draw_drift(sources.failures), drift_caption(sources.failures)


def _abstention(sources: FigureSources) -> "tuple[Figure, Caption]":
    from studies.figures.abstention import abstention_caption, draw_abstention

    return draw_abstention(sources.failures), abstention_caption(sources.failures)


FIGURES: Mapping[str, Callable[[FigureSources], "tuple[Figure, Caption]"]] = {
    "overview": _overview,
    "blocks": _blocks,
    "reconstruction": _reconstruction,
    "fingerprints": _fingerprints,
    "shares": _shares,
    "failures_confusion": _confusion,
    "failures_drift": _drift,
    "failures_abstention": _abstention,
}


def chosen_figures(only: Sequence[str]) -> tuple[str, ...]:
    """Names of figures; `failures` means all of those, nothing means everything."""
    names = [name for wanted in only for name in FIGURES if name == wanted or name.startswith(f"{wanted}_")]
    if unknown := [
        wanted for wanted in only if not any(name == wanted or name.startswith(f"{wanted}_") for name in FIGURES)
    ]:
        raise ConfigError(f"no figure {unknown[0]!r}", remedy=f"Choose among {', '.join(FIGURES)}")
    return tuple(dict.fromkeys(names)) or tuple(FIGURES)


def make_figures(names: Sequence[str], sources: FigureSources, folder: Path) -> list[Made]:
    """Draw and write the named figures, as PNG."""
    import matplotlib.pyplot as plt

    from unmixnet.simulation.plot_style import figure_style

    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name in names:
        figure, caption = FIGURES[name](sources)
        path = folder / f"fig_{name}.png"
        with figure_style():
            figure.savefig(path, dpi=DPI)
        plt.close(figure)
        made.append(Made(name, path, caption))
    return made
