"""Settings of a model: one dial for its size, and the switches of the ablations."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, Le, Lt

from unmixnet.errors import ConfigError

__all__ = ["Settings", "Shape", "Size", "shape_of"]

Size = Literal["small", "paper"]


@dataclass(frozen=True)
class Shape:
    """Widths that follow from the dial."""

    width: int
    heads: int
    blocks: int
    """Temporal–sensor blocks of the trunk."""
    layers: int
    """Cross-attention layers of the components over the sensors."""
    embedding: int
    """Length of a species embedding r_i and of a material embedding mat_m."""
    hidden: int
    """Hidden width of the coefficient networks."""


def shape_of(size: Size) -> Shape:
    """`small` has at most 0.3 million parameters and is the default; `paper` has width 192 and about 3 million."""
    return {
        "small": Shape(width=64, heads=4, blocks=2, layers=2, embedding=16, hidden=48),
        "paper": Shape(width=192, heads=8, blocks=4, layers=3, embedding=32, hidden=128),
    }[size]


@dataclass(frozen=True)
class Settings:
    """Everything but the weights.

    Arguments:
        size: sets all widths.
        rate_Hz: rate of the traces that the encoder sees.
        step_s: step of the solver; a multiple of 1/rate_Hz.
        reading: how a sensor becomes a token: from its `trace`, or from `statistics` of it (long windows, few
            recordings).
        patch_s: length of the pieces of trace that are read.
        dropout: in the encoder, while training.
        start: `clean air`, `exposed` (steady state of the inferred source, y⁰ from the first sample) or `inferred`
            (by the encoder's exposure).
        source: `known` (the chamber's source cells) or `inferred` (predicted from h_Y, entropy regularised).
        flow: `velocities` of the chamber times a learned bounded factor, or `scores` predicted by MLP_A.
        diffusion: how the flux follows from the gradient; `exact` is Maxwell–Stefan. `fick`, `unconstrained` and
            `regularised` (the paper-literal projection) are ablations, `weighted` takes the flux prior MLP_J.
        edgewise: a free D for every edge (the paper's form; slower) instead of one D times a scalar per edge.
        transduction: `logarithmic`, or `linear` (an ablation).
        modulation: strength of the bounded modulation of coefficients by h_Y; 0 is a pure global model.
        closure: whether there is a solver at all; False is the encoder alone.
        release: `rise-decay` from the start of the recording, or `constant`.
        scheme: of the solver. Models that name none are of the `first order`: the paper's splitting, upwind; the
            `second order` is symmetric in time and has limited slopes in space.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid", "allow_inf_nan": False}
    """How a file that states them is checked."""

    size: Size = "small"
    rate_Hz: Annotated[float, Gt(0), Le(10)] = 2.0
    step_s: Annotated[float, Gt(0)] = 1.0
    reading: Literal["trace", "statistics"] = "trace"
    patch_s: Annotated[float, Gt(0)] = 4.0
    dropout: Annotated[float, Ge(0), Lt(1)] = 0.05
    start: Literal["clean air", "exposed", "inferred"] = "exposed"
    source: Literal["known", "inferred"] = "known"
    flow: Literal["velocities", "scores"] = "velocities"
    diffusion: Literal["exact", "fick", "unconstrained", "regularised", "weighted"] = "exact"
    edgewise: bool = False
    transduction: Literal["logarithmic", "linear"] = "logarithmic"
    modulation: float = 0.3
    closure: bool = True
    release: Literal["rise-decay", "constant"] = "constant"
    scheme: Literal["first order", "second order"] = "first order"

    def __post_init__(self) -> None:
        stride = self.step_s * self.rate_Hz
        if stride < 1 or abs(stride - round(stride)) > 1e-9:
            raise ConfigError(
                f"step_s is {self.step_s}, expected a multiple of the sampling interval {1 / self.rate_Hz:g} s",
                where="model.step_s",
                remedy=f"Use {max(round(stride), 1) / self.rate_Hz:g}",
            )
        if not 0 <= self.modulation <= 2:
            raise ConfigError(
                f"modulation is {self.modulation}, expected 0 to 2",
                where="model.modulation",
                remedy="Keep it small: unbounded coefficients explain any trace by any mixture",
            )

    @property
    def stride(self) -> int:
        """Samples of the trace in a step of the solver."""
        return round(self.step_s * self.rate_Hz)
