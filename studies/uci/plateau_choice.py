"""Choice of the plateau law among its forms, by forecasting later rows from earlier ones inside the fitted part."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from studies.uci.exchange import Pools
from studies.uci.plateau_fit import SETTLED_S, PlateauLaw, fit_plateaus, scaled
from studies.uci.plateau_inverse import Inferred, Knowledge, infer_plateaus
from studies.uci.steady_response import Form
from unmixnet.recordings.formats.uci_plateaus import Plateaus

__all__ = ["FORMS", "Choice", "choose_form", "infer_after"]

_A, _K, _N = ("log A1", "log A2"), ("log K1", "log K2"), ("log n1", "log n2")
_LAWS = (
    Form("Clifford", ("b", *_A, "log γ"), (*_A, "log γ")),
    Form("Langmuir, sensitivity of each sensor", ("b", *_A, *_K), _K),
    Form("Langmuir", ("b", *_A, *_K), (*_A, *_K)),
    Form("Langmuir, power-law readout", ("b", *_A, *_K, "log γ"), (*_A, *_K, "log γ")),
    Form("Sips, power-law readout", ("b", *_A, *_K, "log γ", *_N), (*_A, *_K, "log γ", *_N)),
)
FORMS = tuple(
    replace(law, name=f"{law.name}{', warming' if drift == 'warming' else ''}", drift=drift)
    for law in _LAWS
    for drift in ("none", "warming")
)
"""Laws that are tried; affinities, slopes and exponents are shared by the four sensors of a type, b never is."""
TURNS = ((80, 110), (110, 140), (140, 170))
"""Shares of 170 rows: fit the rows before the first, forecast those up to the second."""


@dataclass(frozen=True)
class Choice:
    """A form, and its error inside the fitted part: rms over gases of ppm over the largest set point."""

    form: Form
    error: float


def choose_form(table: Plateaus, forms: Sequence[Form] = FORMS) -> tuple[Choice, ...]:
    """Forms with their errors, best first; only rows of this table are seen."""
    turns = [(len(table) * a // TURNS[-1][1], len(table) * b // TURNS[-1][1]) for a, b in TURNS]
    errors = [np.sqrt(np.mean([_error(table, form, *turn) ** 2 for turn in turns])) for form in forms]
    found = [Choice(form, float(error)) for form, error in zip(forms, errors, strict=True)]
    return tuple(sorted(found, key=lambda choice: choice.error))


def infer_after(law: PlateauLaw, fitted: Plateaus, rest: Plateaus) -> Inferred:
    """Infer the rows that follow the fitted ones, whose gas is still in the chamber."""
    pools = Pools.clean(2)
    for c, duration_s in zip(scaled(fitted), fitted.duration_s, strict=True):
        pools = law.exchange.after(pools, c, float(duration_s))
    return infer_plateaus(law, Knowledge.of(fitted), rest, pools)


def _error(table: Plateaus, form: Form, stop: int, end: int) -> float:
    fitted, rest = table.part(0, stop), table.part(stop, end)
    found = infer_after(fit_plateaus(fitted, form), fitted, rest)
    settled = rest.duration_s >= SETTLED_S
    share = (found.ppm - rest.exposure_ppm)[settled] / table.exposure_ppm.max(axis=0)
    return float(np.sqrt(np.mean(share**2)))
