r"""The closed loop as a loss: the error of the encoder's mixture, and of the trace that the solver makes from it.

    L = L_mix + λ_rec L_rec + λ_freq L_freq + λ_MS L_MS + λ_cons L_cons + λ_ads L_ads + λ_id L_ident + λ_p H(p_src)

With probability `teacher` a sample is solved from its true ratios, which calibrates the physics; otherwise from the
encoder's own, which closes the loop. Baselines have L_mix alone.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from annotated_types import Ge, Gt, Le
from jaxtyping import Array, Float, Key, PRNGKeyArray

from unmixnet.model.baselines.interface import Baseline
from unmixnet.model.encoder import Inference
from unmixnet.model.unmixnet import Solved, UnMixNet
from unmixnet.physics.state import with_samples
from unmixnet.training.augmentation import Bank, NuisanceSpread, Virtual, mixed_batch, virtual_batch, with_session
from unmixnet.training.losses import (
    Weights,
    adsorption_loss,
    class_loss,
    conservation_loss,
    flux_loss,
    frequency_loss,
    incoherence_loss,
    mixture_loss,
    reconstruction_loss,
    source_entropy,
)

__all__ = ["Batch", "BatchOptions", "Recipe", "batch_loss", "virtual_loss"]


class Batch(eqx.Module):
    """Windows of recordings with their ratios."""

    Y: Float[Array, "B T M"]
    a: Float[Array, "B K"]


@dataclass(frozen=True)
class BatchOptions:
    """Options of a training file for how a batch is made.

    Arguments:
        teacher: probability that a window is solved from its true ratios.
        solved: share of a batch whose loop is closed by the solver; the other windows train the encoder alone.
        virtual: virtual recordings, made by the calibrated solver, for each real one.
        mixing: mixtures of pairs of recordings through `competitive` adsorption and readout, `linear` as a control, or
            `none`; `mixing_share`: share of a batch that is replaced by them.
        exponent: exponent n of the sensors, for them.
        jitter_gain: random session gains on training windows, sd of the logarithm; `jitter_offset`: random offsets, in
            sd of the training signal.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid", "allow_inf_nan": False}

    teacher: Annotated[float, Ge(0), Le(1)] = 0.5
    solved: Annotated[float, Gt(0), Le(1)] = 1.0
    virtual: Annotated[float, Ge(0)] = 0.0
    mixing: Literal["none", "linear", "competitive"] = "none"
    mixing_share: Annotated[float, Ge(0), Le(1)] = 0.5
    exponent: Annotated[float, Gt(0), Le(1)] = 0.5
    jitter_gain: Annotated[float, Ge(0)] = 0.0
    jitter_offset: Annotated[float, Ge(0)] = 0.0


@dataclass(frozen=True)
class Recipe(BatchOptions):
    """How a batch is made and weighed; static, so that each choice compiles once.

    Arguments:
        weights: λ of the objective.
        classes: one substance out of many: cross-entropy beside the presence.
        nuisance: session and noise of virtual recordings.
    """

    weights: Weights = field(default_factory=Weights)
    classes: bool = False
    nuisance: NuisanceSpread = field(default_factory=NuisanceSpread)


def batch_loss(
    model: UnMixNet | Baseline,
    batch: Batch,
    recipe: Recipe,
    air: Float[Array, " M"],
    sd: Float[Array, " M"],
    sign: Float[Array, " M"],
    key: PRNGKeyArray,
    bank: Bank | None = None,
) -> tuple[Float[Array, ""], dict[str, Float[Array, ""]]]:
    """Mean loss of a batch, and its parts before they are weighed."""
    key_1, key_2, key_3, key_4 = jax.random.split(key, 4)
    Y, a = batch.Y, batch.a
    if recipe.mixing != "none":
        linear = recipe.mixing == "linear"
        Y, a = mixed_batch(
            Y, a, share=recipe.mixing_share, linear=linear, air=air, sd=sd, sign=sign, n=recipe.exponent, key=key_1
        )
    if recipe.jitter_gain > 0 or recipe.jitter_offset > 0:
        keys = jax.random.split(key_2, Y.shape[0])
        Y = jax.vmap(lambda y, k: with_session(y, air, recipe.jitter_gain, recipe.jitter_offset, k))(Y, keys)
    keys = jax.random.split(key_3, Y.shape[0])
    if not isinstance(model, UnMixNet):
        parts = {"mix": jnp.mean(jax.vmap(lambda y, t, k: _baseline_mix(model, y, t, k))(Y, a, keys))}
        return parts["mix"], parts
    parts = jax.tree.map(jnp.mean, _window_parts(model, Y, a, recipe, keys))
    if recipe.virtual > 0 and bank is not None:
        parts["virtual"] = virtual_loss(model, bank, round(recipe.virtual * Y.shape[0]), Y.shape[1], recipe, key_4)
    if recipe.weights.ident > 0 and model.settings.closure:
        parts["ident"] = incoherence_loss(fingerprints(model, Y.shape[1]))
    scale = vars(recipe.weights)
    total = sum((scale[name] * value for name, value in parts.items()), start=jnp.zeros(()))
    return total, parts


def _baseline_mix(model: Baseline, Y: Float[Array, "T M"], a: Float[Array, " K"], key: PRNGKeyArray):
    """Cross-entropy, and the sum of absolute errors, of a softmax; its logits also stand for presence."""
    guess = jax.nn.softmax(model(Y, key=key).logits)
    return class_loss(guess, a) + jnp.sum(jnp.abs(guess - a))


def _mix(inference: Inference, a: Float[Array, " K"], classes: bool) -> Float[Array, ""]:
    loss = mixture_loss(inference.z_logits, inference.a, a)
    return loss + class_loss(inference.a, a) if classes else loss


def _window_parts(
    model: UnMixNet, Y: Float[Array, "B T M"], a: Float[Array, "B K"], recipe: Recipe, keys: Key[Array, " B"]
) -> dict[str, Float[Array, " n"]]:
    """Every part of the loss that a window has: L_mix of all, the closed loop of the first ones of a random order."""
    key_1, key_2 = jax.vmap(jax.random.split, out_axes=1)(keys)
    inferences = jax.vmap(lambda y, k: model(y, key=k))(Y, key_1)
    parts = {"mix": jax.vmap(lambda i, t: _mix(i, t, recipe.classes))(inferences, a)}
    if not model.settings.closure:
        return parts
    solved = jax.tree.map(lambda leaf: leaf[: max(1, round(recipe.solved * len(Y)))], (inferences, Y, a, key_2))
    first, Y_first, a_first, keys_first = solved
    return parts | _closed_parts(model, first, Y_first, a_first, recipe, keys_first)


def _closed_parts(
    model: UnMixNet,
    inferences: Inference,
    Y: Float[Array, "B T M"],
    a: Float[Array, "B K"],
    recipe: Recipe,
    keys: Key[Array, " B"],
) -> dict[str, Float[Array, " B"]]:
    """Losses of windows that need the solver."""
    weights, parts = recipe.weights, {}
    from_truth = jax.vmap(jax.random.uniform)(keys) < recipe.teacher
    shares = jnp.where(from_truth[:, None], a, jax.nn.sigmoid(inferences.z_logits) * inferences.a)
    watched = any(w > 0 for w in (weights.ms, weights.cons, weights.ads))
    save = ("y", "N", "J", "theta", "reservoirs", "closure") if watched else ("y",)
    solved = model.reconstruct_all(inferences, Y[:, 0], Y.shape[1], shares=shares, save=save)
    seen, y = model.observed(jnp.moveaxis(Y, 0, -1)), solved.y
    parts["rec"] = reconstruction_loss(seen, y)
    parts["freq"] = frequency_loss(seen, y, 1 / model.settings.step_s)
    if watched:
        parts |= closure_parts(model, solved)
    if model.settings.source == "inferred":
        parts["entropy"] = jax.vmap(lambda i: source_entropy(model.source_place(i)))(inferences)
    return parts


def closure_parts(model: UnMixNet, solved: Solved) -> dict[str, Float[Array, "*B"]]:
    """L_MS, L_cons and L_ads of one or many rollouts that saved what they need; rounding in the full model."""
    saved: Any = solved.rollout.saved
    process, start, geometry = solved.process, solved.start, model.chamber.geometry()
    geometry = geometry if start.N.ndim == 2 else with_samples(geometry)
    dt = jnp.asarray(model.settings.step_s, saved.y.dtype)
    return {
        "ms": flux_loss(saved.closure.ms_residual, saved.J),
        "cons": conservation_loss(saved.N, saved.theta, saved.reservoirs, start, process.surface.sites),
        "ads": adsorption_loss(saved.N, saved.theta, saved.y, start, process, geometry, dt),
    }


def virtual_loss(model: UnMixNet, bank: Bank, B: int, T: int, recipe: Recipe, key: PRNGKeyArray) -> Float[Array, ""]:
    """L_mix on virtual recordings, and what is known of them besides: their strength and the gains of their sensors."""
    key_1, key_2 = jax.random.split(key)
    made = virtual_batch(bank, B, T, recipe.nuisance, key_1)

    def sample_loss(sample: Virtual, key: PRNGKeyArray) -> Float[Array, ""]:
        inference = model(sample.Y, key=key)
        loss = _mix(inference, sample.a, recipe.classes) + (inference.log_strength - sample.log_strength) ** 2
        if model.settings.modulation > 0:
            gain = model.transduction.modulation.shift(inference.h_m)[:, 0]
            loss = loss + jnp.mean((gain - sample.log_gain) ** 2)
        return loss

    return jnp.mean(jax.vmap(sample_loss)(made, jax.random.split(key_2, B)))


def fingerprints(model: UnMixNet, T: int) -> Float[Array, "K P"]:
    """Responses over clean air to every substance alone, by the global coefficients."""
    typical = model.uninformed()
    K = typical.a.shape[0]
    y = model.reconstruct_all(typical, None, T, shares=jnp.eye(K)).y
    return jnp.moveaxis(y - model.transduction.baseline[:, None], -1, 0).reshape(K, -1)
