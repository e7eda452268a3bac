"""Kernels: exact Gram matrices, bandwidths, and the law behind each.

| kernel | k(x, y), δ = x − y | law of ω | isotropic |
|---|---|---|---|
| `Gaussian` | exp(−γ‖δ‖²) | N(0, 2γI) | yes |
| `Laplacian` | exp(−γ‖δ‖₁) | independent Cauchy(0, γ) | no |
| `Cauchy` | 1/(1 + γ‖δ‖²) | variance gamma | yes |
| `Matern` | Matérn of smoothness ν at ‖δ‖/ℓ | Student t, 2ν degrees | yes |
| `RationalQuadratic` | (1 + ‖δ‖²/(2αℓ²))^−α | variance gamma | yes |
| `Spherical` | 1 − 3r/2 + r³/2, r = ‖δ‖/radius ≤ 1 | ball, d ≤ 3 | yes |

Kernels of the lengths and the angle, ρ = ⟨x, y⟩/‖x‖‖y‖, all with the law N(0, I):

| kernel | k(x, y) | features |
|---|---|---|
| `Maxout` | ‖x‖‖y‖(μ_q² + ∫₀^ρ κ_q) | largest of q projections |
| `ArgmaxCode` | κ_q(ρ), the probability of one winner | which of q is largest |
| `ArcCosine` | ‖x‖ⁿ‖y‖ⁿ J_n(θ)/π | the positive part of a projection, ⁿ |
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
"""Kernels by name: those whose bandwidth alone has to be given."""

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
