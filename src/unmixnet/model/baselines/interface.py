"""What every baseline takes and returns: one window of traces in, logits and a hidden state per time step out."""

import abc
from typing import Literal

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.errors import ConfigError

__all__ = ["Baseline", "Output", "Size", "check_window"]

Size = Literal["small", "paper"]
"""`small` has at most 0.3 million parameters; `paper` has the widths of the reference."""


class Output(eqx.Module):
    """Answer to one window."""

    logits: Float[Array, " K"]
    """Softmax of these is the class probability (classification) or the ratios (mixture)."""
    hidden: Float[Array, "T H"]
    """State after each time step, for projections onto physical states; the same at all steps where there is none."""


class Baseline(eqx.Module):
    """A model of ONE window Y (T time steps of M sensors), lifted over a batch by `jax.vmap`."""

    @classmethod
    @abc.abstractmethod
    def of(cls, T: int, M: int, K: int, *, size: Size, key: PRNGKeyArray) -> "Baseline":
        """Draw a model for windows of T steps of M sensors and K classes or components."""

    @property
    @abc.abstractmethod
    def sensor_count(self) -> int:
        """Sensors that a window has."""

    @abc.abstractmethod
    def __call__(self, Y: Float[Array, "T M"], *, key: PRNGKeyArray | None = None) -> Output:
        """Answer to a window; with a key dropout is drawn, without one the answer is deterministic."""


def check_window(T: int, M: int, K: int, *, shortest: int = 1) -> None:
    """Refuse windows that a model cannot take."""
    if T < shortest or M < 1 or K < 1:
        raise ConfigError(
            f"a window of {T} steps, {M} sensors and {K} outputs was asked for, expected at least {shortest}, 1 and 1",
            remedy="Take longer windows, or check the order of T, M, K",
        )
