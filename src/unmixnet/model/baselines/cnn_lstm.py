r"""1DCNN-LSTM: two convolutions shorten the window fourfold, an LSTM reads what is left.

    X ← pool₂(ReLU(GN(conv₅(Y))))                C₁ channels
    X ← pool₂(ReLU(GN(conv₅(X))))                C₂ channels, ⌊⌊T/2⌋/2⌋ steps
    (h, c)ₛ = LSTM(Xₛ, (h, c)ₛ₋₁),   logits = W₂ ReLU(W₁ drop(h_last))

pool₂ is the larger of two neighbouring steps, GN is GroupNorm with one group (over channels and time of the window).

**Reference**: no single paper defines this model for electronic noses; the nearest by name is CLSTM, Sensors 2021,
21:4826, whose sizes were not available. The sizes (64, 128, LSTM 128, dense 64, dropout 0.3) are this project's choice.

**Departures**: GroupNorm instead of BatchNorm (the same number of parameters, no running statistics); one bias vector
in the LSTM, since a second one only adds to it. The hidden state hₛ is held over the four time steps that it covers,
the last one to the end of the window.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.baselines.interface import Baseline, Output, Size, check_window, drop

__all__ = ["CNNLSTM"]


class CNNLSTMWidths(NamedTuple):
    """Channels of the two convolutions, state of the LSTM, dense layer."""

    C_1: int
    C_2: int
    state: int
    dense: int


WIDTHS: dict[Size, CNNLSTMWidths] = {"small": CNNLSTMWidths(32, 64, 64, 32), "paper": CNNLSTMWidths(64, 128, 128, 64)}
KERNEL = 5
POOL = 2
DROPOUT = 0.3


class ConvBlock(eqx.Module):
    """Convolution over time, GroupNorm, ReLU, and the larger of each two steps."""

    conv: eqx.nn.Conv1d
    norm: eqx.nn.GroupNorm

    def __init__(self, channels: int, width: int, *, key: PRNGKeyArray) -> None:
        self.conv = eqx.nn.Conv1d(channels, width, KERNEL, padding="SAME", key=key)
        self.norm = eqx.nn.GroupNorm(1, width)

    def __call__(self, X: Float[Array, "T C"]) -> Float[Array, "S D"]:
        """Shortened window."""
        Z = jax.nn.relu(self.norm(self.conv(X.T))).T
        steps = Z.shape[0] // POOL
        return jnp.max(Z[: steps * POOL].reshape(steps, POOL, -1), axis=1)


class CNNLSTM(Baseline):
    """Convolutions, then an LSTM.

    Arguments of a call:
        Y: T × M window of traces, any T ≥ 4.
        key: draws dropout.
    """

    conv_1: ConvBlock
    conv_2: ConvBlock
    cell: eqx.nn.LSTMCell
    W_1: eqx.nn.Linear
    W_2: eqx.nn.Linear

    @classmethod
    def of(cls, T: int, M: int, K: int, *, size: Size, key: PRNGKeyArray) -> "CNNLSTM":
        """Draw a model; it takes windows of any length."""
        check_window(T, M, K, shortest=POOL**2)
        n = WIDTHS[size]
        keys = jax.random.split(key, 5)
        return cls(
            conv_1=ConvBlock(M, n.C_1, key=keys[0]),
            conv_2=ConvBlock(n.C_1, n.C_2, key=keys[1]),
            cell=eqx.nn.LSTMCell(n.C_2, n.state, key=keys[2]),
            W_1=eqx.nn.Linear(n.state, n.dense, key=keys[3]),
            W_2=eqx.nn.Linear(n.dense, K, key=keys[4]),
        )

    @property
    def sensor_count(self) -> int:
        """Sensors that a window has."""
        return self.conv_1.conv.in_channels

    def states(self, X: Float[Array, "S C"]) -> Float[Array, "S H"]:
        """State h of the LSTM after each step, from zero."""

        def step(carry: tuple[Array, Array], x: Array) -> tuple[tuple[Array, Array], Array]:
            h, c = self.cell(x, carry)
            return (h, c), h

        rest = jnp.zeros(self.cell.hidden_size, X.dtype)
        return jax.lax.scan(step, (rest, rest), X)[1]

    def __call__(self, Y: Float[Array, "T M"], *, key: PRNGKeyArray | None = None) -> Output:
        """Answer to one window."""
        h = self.states(self.conv_2(self.conv_1(Y)))
        dense = jax.nn.relu(self.W_1(drop(h[-1], DROPOUT, key)))
        held = jnp.minimum(jnp.arange(Y.shape[0]) // POOL**2, h.shape[0] - 1)
        return Output(logits=self.W_2(dense), hidden=h[held])
