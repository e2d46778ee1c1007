"""Neural models that UnMixNet is compared with: one window in, logits and a hidden state per step out.

model = BASELINES["scentformer"].of(T, M, K, size="small", key=key)
outputs = jax.vmap(model)(windows)
"""

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from unmixnet.model.baselines.adr_gnn import ADRGNN
from unmixnet.model.baselines.cnn_lstm import CNNLSTM
from unmixnet.model.baselines.interface import Baseline, Output, Size
from unmixnet.model.baselines.itransformer import ITransformer
from unmixnet.model.baselines.ldac import LDAC
from unmixnet.model.baselines.mlp import MLP
from unmixnet.model.baselines.scentformer import ScentFormer

__all__ = ["BASELINES", "Baseline", "Output", "Size", "count_parameters"]

BASELINES: dict[str, type[Baseline]] = {
    "mlp": MLP,
    "cnn-lstm": CNNLSTM,
    "itransformer": ITransformer,
    "scentformer": ScentFormer,
    "adr-gnn": ADRGNN,
    "ldac": LDAC,
}


def count_parameters(model: PyTree) -> int:
    """Number of learned numbers: the sizes of all floating-point arrays, or of their shapes."""
    arrays = [leaf for leaf in jax.tree.leaves(model) if hasattr(leaf, "dtype")]
    return sum(leaf.size for leaf in arrays if jnp.issubdtype(leaf.dtype, jnp.inexact))
