"""Kernels: exact Gram matrices, bandwidths and spectral laws.

Shift-invariant kernels, with the law of their frequencies ω:

| kernel | k(x, y), δ = x − y | law of ω | isotropic |
|---|---|---|---|
| `Gaussian` | exp(−γ‖δ‖²) | N(0, 2γI) | yes |
| `Laplacian` | exp(−γ‖δ‖₁) | independent Cauchy(0, γ) | no |
| `Cauchy` | 1/(1 + γ‖δ‖²) | variance gamma | yes |
| `Matern` | Matérn of smoothness ν at ‖δ‖/ℓ | Student t, 2ν degrees | yes |
| `RationalQuadratic` | (1 + ‖δ‖²/(2αℓ²))^−α | variance gamma | yes |
| `Spherical` | 1 − 3r/2 + r³/2, r = ‖δ‖/radius ≤ 1 | ball, d ≤ 3 | yes |

Kernels of the lengths and the angle, ρ = ⟨x, y⟩/‖x‖‖y‖. Their law is N(0, I):

| kernel | k(x, y) | features |
|---|---|---|
| `Maxout` | ‖x‖‖y‖(μ_q² + ∫₀^ρ κ_q) | the largest of q projections |
| `ArgmaxCode` | κ_q(ρ), the probability of equal codes | index of the largest of q |
| `ArcCosine` | ‖x‖ⁿ‖y‖ⁿ J_n(θ)/π | positive part of a projection, to the power n |
"""

from .angular import ArcCosine, ArgmaxCode, Maxout
from .base import Kernel
from .shift_invariant import (
    Cauchy,
    Gaussian,
    Laplacian,
    Matern,
    RationalQuadratic,
    ShiftInvariant,
    Spherical,
)

KERNELS: dict[str, type[ShiftInvariant]] = {
    "gaussian": Gaussian,
    "rbf": Gaussian,
    "laplacian": Laplacian,
    "cauchy": Cauchy,
    "matern": Matern,
    "rational_quadratic": RationalQuadratic,
}
"""Kernels that a name describes completely, apart from their bandwidth."""

__all__ = [
    "KERNELS",
    "ArcCosine",
    "ArgmaxCode",
    "Cauchy",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Matern",
    "Maxout",
    "RationalQuadratic",
    "ShiftInvariant",
    "Spherical",
]
