"""The answer in plain words, each sentence from the numbers alone."""

from dataclasses import dataclass

import numpy as np

from unmixnet.files.printable import printable
from unmixnet.inference.answer import Answer, ClosureReport, Verdict
from unmixnet.inference.report.formatting import clipped, factor, percent, scientific

__all__ = [
    "LawCheck",
    "caution",
    "explained",
    "familiarity_words",
    "fit_words",
    "headline",
    "laws",
    "leading",
    "shortened",
    "strength_words",
]

_NAMED, _PRESENT, _SOME, _MOST = 0.05, 0.5, 0.15, 0.5
"""Least share and presence of a component that the headline names; from where on it is "some"; and "mostly"."""
_FEW = 0.6
"""Share that the named components must have together, or the headline says that there are many."""
_ANYTHING = 0.9
"""Length above which an interval is uninformative."""
_CLOSED, _NEARLY = 1e-4, 1e-2
"""Relative violations up to which a law counts as closed (single precision reaches 1e-6) and nearly closed."""
_LONGEST = 40


def headline(answer: Answer) -> str:
    """One sentence: "Mostly strawberry (62 %), with some mango (30 %)"."""
    if answer.verdict is Verdict.NOTHING:
        return "Nothing above background"
    if answer.verdict is Verdict.UNLIKE:
        return "Unlike anything I was trained on"
    if not answer.components:
        return "A mixture, but the model names no components"
    if len(answer.components) == 1:  # its share is 100 % whatever was smelled
        name = shortened(answer.components[0])
        return f"{name[:1].upper()}{name[1:]}, the only component that the model knows"
    named = _named(answer)
    share = answer.ratios[named[0]]
    if answer.high[named[0]] - answer.low[named[0]] >= _ANYTHING:
        return f"Not clear; the best guess is {_listed([_with_share(answer, k) for k in named])}"
    if not share >= _SOME:
        return f"No component stands out; the largest is {_with_share(answer, named[0])}"
    if len(named) == 1:
        return _alone(share, _with_share(answer, named[0]))
    if answer.ratios[named].sum() < _FEW:
        return f"A mixture of many, led by {_listed([_with_share(answer, k) for k in named])}"
    clear = answer.low[named[0]] > answer.high[named[1]]
    if share >= _MOST:
        return (
            f"{'Mostly' if clear else 'Probably mostly'} {_with_share(answer, named[0])}{_company(answer, named[1:])}"
        )
    if clear or len(named) > 2:
        return f"A mixture of {_listed([_with_share(answer, k) for k in named])}"
    pair = _listed([_with_share(answer, k) for k in named])
    return f"{pair[:1].upper()}{pair[1:]}, too close to say which is more"


def _named(answer: Answer) -> list[int]:
    first, *rest = answer.ranking.tolist()
    there = [k for k in rest if answer.ratios[k] >= _NAMED and answer.presence[k] >= _PRESENT]
    return [first, *there[:2]]


def _alone(share: float, component: str) -> str:
    if share < _MOST:
        return f"Some {component}, and nothing else that stands out"
    return f"{'Almost pure' if share >= 0.9 else 'Mostly'} {component}"


def _with_share(answer: Answer, k: int) -> str:
    return f"{shortened(answer.components[k])} ({percent(answer.ratios[k])})"


def _company(answer: Answer, others: list[int]) -> str:
    """ ", with some mango (30 %) and a little clove (6 %)"."""
    others_with_share = [
        ("some " if answer.ratios[k] >= _SOME else "a little ") + _with_share(answer, k) for k in others
    ]
    return f", with {_listed(others_with_share)}"


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def shortened(name: str) -> str:
    """A name for a sentence: underscores become spaces, at most forty characters."""
    text = printable(name).replace("_", " ").strip() or "(no name)"
    return clipped(text, _LONGEST)


def caution(answer: Answer) -> str:
    """Why the shares should not be trusted; empty when they may be."""
    if answer.verdict is Verdict.NOTHING:
        return (
            f"The signal is {_times(answer.strength).lower()} as strong as a typical one; under "
            f"{factor(answer.background)} the model claims nothing. "
            "Its shares are guesses about noise and should not be trusted."
        )
    if answer.verdict is Verdict.UNLIKE:
        return (
            f"{_how_many(answer.novelty)} of the validation recordings look this strange. The shares are the nearest "
            "thing that the model knows, which is not near, and should not be trusted."
        )
    return ""


def _how_many(novelty: float) -> str:
    return "None" if novelty <= 0 else f"Only {_small_percent(novelty)}"


def _small_percent(share: float) -> str:
    return f"{factor(100 * share)} %" if 0 < share < 0.1 else percent(share)


def leading(answer: Answer, most: int = 6) -> list[int]:
    """The components worth showing at once: the first, and the others that matter, in order of share."""
    order = answer.ranking.tolist()
    matter = [k for k in order[1:] if answer.ratios[k] >= 0.03 or answer.presence[k] >= _PRESENT]
    return (order[:1] + matter)[:most]


def strength_words(answer: Answer) -> str:
    """How strong the recording is, and where claims begin."""
    if not np.isfinite(answer.strength):
        return "The strength is not known."
    like = "As strong as" if 0.8 <= answer.strength <= 1.25 else f"{_times(answer.strength)} as strong as"
    like += " a typical training recording"
    return f"{like}; nothing is claimed under {factor(answer.background)}."


def _times(strength: float) -> str:
    return "Not a hundredth" if strength < 0.01 else f"{factor(strength)} times"


def familiarity_words(answer: Answer) -> str:
    """How strange the recording looks beside those that the model was checked on."""
    if not np.isfinite(answer.novelty):
        return "How strange it looks is not known."
    share = "None" if answer.novelty <= 0 else _small_percent(answer.novelty)
    kind = "strange" if answer.novelty < 0.05 else "unusual" if answer.novelty < 0.2 else "ordinary"
    return f"Looks {kind}: {share} of the validation recordings look at least as strange."


def fit_words(answer: Answer) -> str:
    """How much of the measured movement the physics reproduces."""
    total, _ = explained(answer)
    if answer.verdict is Verdict.NOTHING:
        return "There is no signal to explain."
    if not np.isfinite(total):
        return "The traces do not move, so there is nothing to explain."
    if total <= 0:
        return "The physics does not explain the signal."
    return f"The physics explains {percent(total)} of the signal."


def explained(answer: Answer) -> tuple[float, np.ndarray]:
    """1 − Σ(measured − reconstructed)²/Σ(measured − mean)², of all channels and of each; NaN where nothing moves."""
    known = np.isfinite(answer.measured) & np.isfinite(answer.reconstructed)
    measured = np.where(known, answer.measured, 0.0)
    mean = measured.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    missed = np.where(known, answer.measured - answer.reconstructed, 0.0)
    moved = np.where(known, measured - mean, 0.0)
    left, all_ = np.sum(missed**2, axis=0), np.sum(moved**2, axis=0)
    still = all_ <= 1e-24 * np.maximum(mean**2, 1e-300)
    each = np.where(still, np.nan, 1 - left / np.where(still, 1, all_))
    return (float(1 - left.sum() / all_.sum()) if not still.all() else float("nan")), each


@dataclass(frozen=True)
class LawCheck:
    """One law, how well the rollout keeps it, and what that means."""

    name: str
    meaning: str
    violation: float
    sentence: str

    @property
    def state(self) -> str:
        """closes, nearly, or open."""
        return "closes" if self.violation <= _CLOSED else "nearly" if self.violation <= _NEARLY else "open"


def laws(closure: ClosureReport) -> tuple[LawCheck, ...]:
    """The four laws of a closed rollout."""
    rows = (
        ("Mass balance", "no odorant appears or vanishes in any cell", closure.mass_error, "mass is conserved to"),
        (
            "Diffusion law",
            "fluxes obey the Maxwell–Stefan relation",
            closure.flux_residual,
            "diffusion obeys its law to",
        ),
        ("No net diffusion", "what goes one way comes back as air", closure.flux_sum, "diffusive fluxes cancel to"),
        (
            "Sensor sites",
            "every site is empty or taken once",
            closure.simplex_error,
            "sensor sites add up to one within",
        ),
    )
    return tuple(LawCheck(name, means, value, f"{words} {scientific(value)}") for name, means, value, words in rows)
