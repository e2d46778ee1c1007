r"""Edge flux with a rule of Maxwell and Stefan removed: what the ablations of the paper compare with.

    fick             Jᵢ = −c̄ D_{i0} gᵢ,              J₀ = −Σ Jᵢ
    unconstrained    Jᵢ = x̄ᵢ w̃ᵢ − c̄ D_{i0} gᵢ,      J₀ = x̄₀ w̃₀ − c̄ D̄ g₀

x̄ mean mole fraction of the edge [–], g gradient [1/m], c̄ total concentration [mol/m³], D_{i0} diffusivity of odorant i
in the carrier [m²/s], D̄ the harmonic mean of these, w̃ a learned flux [mol/(m² s)]. The first has no coupling between
odorants; the second has none either and does not close Σ J = 0: the gas as a whole is pumped from cell to cell.
At trace concentrations both equal Maxwell–Stefan to O(x) in the odorants; two species are Fick exactly.
"""

from jaxtyping import Array, Float

__all__ = ["independent_flux"]


def independent_flux(
    x: Float[Array, "S *n"],
    g: Float[Array, "S *n"],
    c: Float[Array, "*n"],
    R: Float[Array, "S S *r"],
    prior: Float[Array, "S *n"] | None = None,
) -> Float[Array, "S *n"]:
    """x̄ w̃ − c̄ g/R₀, not closed; R = 1/D, whose R₀₀ is the mean resistance against the carrier."""
    J = -c * g / R[0].reshape(R.shape[1], *(1,) * (g.ndim - R.ndim + 1), *R.shape[2:])
    return J if prior is None else x * prior + J
