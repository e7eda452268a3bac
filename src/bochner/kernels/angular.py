"""Kernels of the lengths and the angle, which maxima and signs of projections estimate.

k(x, y) = a(‖x‖) a(‖y‖) f(ρ), ρ = ⟨x, y⟩/‖x‖‖y‖. These kernels have no bandwidth:
scaling the data scales the kernel, and shifting the data changes the angles.
Standardise tabular data; images can be used without standardisation.

The maxout kernels need the probability κ_q that two maxima have the same index. Take q
independent pairs (g_j, g'_j) of standard normal numbers with correlation ρ. κ_q(ρ) is
the probability that the largest g and the largest g' have the same index j. With the
density φ₂ and the distribution function Φ₂ of a pair

    κ_q(ρ) = q ∫∫ φ₂(s, t; ρ) Φ₂(s, t; ρ)^{q−1} ds dt,
    E max_j g_j · max_j g'_j = μ_q² + ∫₀^ρ κ_q,   μ_q = E max_j g_j

The second line is Price's theorem: the derivative of an expectation with respect to a
correlation is the expectation of the mixed second derivative, and the derivative of a
maximum is the indicator of the index that attains it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import ndtr, owens_t
from sklearn.base import clone

from .._core.validation import check_count, check_option
from .base import Kernel
from .distances import as_float64, lengths
from .laws import Law, Normal

NODES = 32
"""Chebyshev nodes in arcsin ρ. κ_q has a cusp √(1 − ρ) at ρ = 1, and is smooth as a
function of arcsin ρ."""

INTEGRATION_LIMIT = 8.0
"""Integrals stop at this distance, where the normal density is below 1e-14."""

STEP, FINE_STEP, LARGE_POOL = 0.25, 0.125, 64
"""Step of the trapezoid rule, whose error falls like exp(−c/step²). Maxima of more than
64 normal numbers have a narrower density and take the fine step. The error of κ_q is
below 1e-9, and below 2e-8 for q up to 65,535."""


@dataclass(frozen=True)
class MaxoutIntegrals:
    """μ_q, and Chebyshev coefficients of κ_q and its integral in 2 arcsin(ρ)/π."""

    mean: float  # μ_q
    agreement_coefficients: np.ndarray  # of κ_q
    integral_coefficients: np.ndarray  # of ∫₀^ρ κ_q

    def agreement(self, rho: np.ndarray) -> np.ndarray:
        """Return κ_q(ρ) for ρ in [−1, 1], of any shape."""
        return np.clip(_evaluate(self.agreement_coefficients, rho), 0, 1)

    def covariance(self, rho: np.ndarray) -> np.ndarray:
        """Return ∫₀^ρ κ_q, the covariance of the two maxima."""
        return _evaluate(self.integral_coefficients, rho)


@cache
def maxout_integrals(q: int) -> MaxoutIntegrals:
    """Compute the integrals for pools of size q, once per q.

    The computation takes 0.05 s, or 0.3 s for q > 64.
    """
    step = STEP if q <= LARGE_POOL else FINE_STEP
    x = chebyshev.chebpts1(NODES)
    values = [_agreement(q, angle, step) for angle in np.pi / 2 * x]
    agreement = chebyshev.chebfit(x, values, NODES - 1)
    x = chebyshev.chebpts1(2 * NODES)
    # dρ = cos(πx/2) π/2 dx for ρ = sin(πx/2)
    slope = chebyshev.chebval(x, agreement) * np.cos(np.pi / 2 * x) * np.pi / 2
    integral = chebyshev.chebint(chebyshev.chebfit(x, slope, 2 * NODES - 1), lbnd=0)
    return MaxoutIntegrals(_mean(q, step), agreement, integral)


def _agreement(q: int, angle: float, step: float) -> float:
    """κ_q(sin angle) by the trapezoid rule.

    The substitution s = cu + dv, t = cu − dv with independent normal u and v keeps the
    integrand smooth for every ρ; in s and t it becomes a narrow ridge as |ρ| → 1.
    """
    g = _grid(step)
    u, v = g[:, None], g[g > 0]  # the integrand is symmetric in v: half is enough
    c, d = np.sqrt((1 + np.sin(angle)) / 2), np.sqrt((1 - np.sin(angle)) / 2)
    below = _bivariate_normal_cdf(c * u + d * v, c * u - d * v, np.sin(angle))
    density = step**2 / (2 * np.pi) * np.exp(-(u**2 + v**2) / 2)
    return float(2 * q * np.sum(density * np.clip(below, 0, 1) ** (q - 1)))


def _mean(q: int, step: float) -> float:
    """μ_q = q ∫ g φ(g) Φ(g)^{q−1} dg."""
    g = _grid(step)
    density = step / np.sqrt(2 * np.pi) * np.exp(-(g**2) / 2)
    return float(q * np.sum(g * density * ndtr(g) ** (q - 1)))


def _grid(step: float) -> np.ndarray:
    """Symmetric points of the trapezoid rule without 0, where t/s is undefined."""
    return np.arange(0.5 * step - INTEGRATION_LIMIT, INTEGRATION_LIMIT, step)


def _bivariate_normal_cdf(s: np.ndarray, t: np.ndarray, rho: float) -> np.ndarray:
    """Φ₂(s, t; ρ) by Owen's T function, for s, t ≠ 0 and |ρ| < 1."""
    root = np.sqrt(1 - rho**2)
    marginal = 0.5 * (ndtr(s) + ndtr(t)) - 0.5 * (s * t < 0)
    first = owens_t(s, (t / s - rho) / root)
    return marginal - first - owens_t(t, (s / t - rho) / root)


def _evaluate(coefficients: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """The Chebyshev series at 2 arcsin(ρ)/π."""
    return chebyshev.chebval(np.arcsin(rho) * (2 / np.pi), coefficients)


class Angular(Kernel):
    """k(x, y) = a(‖x‖) a(‖y‖) f(ρ).

    Subclasses implement a (`_amplitude`), f (`_profile`) and the check of their
    parameters. A row of length zero counts as orthogonal to all other rows.
    """

    def resolve(self, X: Any, sample_weight: np.ndarray | None = None) -> Angular:
        self._check()
        return clone(self)

    def spectral_law(self) -> Law:
        return Normal(1.0)

    def rescaled(self, factors: ArrayLike) -> Angular:
        raise ValueError(
            f"{type(self).__name__}: this kernel has no bandwidth per feature, which "
            "BlockDiagonal(normalize=True) needs; use normalize=False, and scale the "
            "data with MaxAbsScaler or StandardScaler instead."
        )

    def diagonal(self, X: np.ndarray | sparse.csr_matrix) -> np.ndarray:
        self._check()
        return self._amplitude(lengths(X)) ** 2 * self._profile(np.ones(1))

    def _block(self, X: Any, Y: Any, same: bool) -> Callable[[slice], np.ndarray]:
        lengths_X, lengths_Y = lengths(X), lengths(Y)
        left, right = self._amplitude(lengths_X), self._amplitude(lengths_Y)
        directions_X = _directions(X, lengths_X)
        directions_Y = _directions(Y, lengths_Y)
        zeros_Y = lengths_Y == 0

        def block(rows: slice) -> np.ndarray:
            rho = directions_X[rows] @ directions_Y.T
            rho = rho.toarray() if sparse.issparse(rho) else rho
            np.clip(rho, -1, 1, out=rho)
            rho[np.ix_(lengths_X[rows] == 0, zeros_Y)] = 1  # both rows are 0
            if same:
                rho[np.arange(len(rho)), np.arange(rows.start, rows.stop)] = 1
            return left[rows, None] * self._profile(rho) * right

        return block

    def _check(self) -> None:
        """Raise an error if a parameter is invalid."""
        raise NotImplementedError

    def _amplitude(self, lengths: np.ndarray) -> np.ndarray:
        """Return a(‖x‖)."""
        raise NotImplementedError

    def _profile(self, rho: np.ndarray) -> np.ndarray:
        """Return f(ρ)."""
        raise NotImplementedError


class Maxout(Angular):
    """k(x, y) = E max_j ⟨w_j, x⟩ · max_j ⟨w_j, y⟩ over q independent w_j ~ N(0, I).

        k(x, y) = ‖x‖‖y‖ (μ_q² + ∫₀^ρ κ_q(t) dt)

    where μ_q = E max_j g_j of standard normal g_j, and κ_q is the kernel `ArgmaxCode`.
    For q = 2 this is ‖x‖‖y‖ (ρ/2 + (√(1 − ρ²) + ρ arcsin ρ)/π); for q = 1 the kernel is
    linear. The kernel is local: it is about linear for close directions and nearly
    constant for distant directions; the larger q, the narrower the linear part.

    Theorem 1 of the paper, σ²⟨x, y⟩κ_q, leaves out the pairs whose maxima have
    different indices, and differs from this kernel: at q = 2 and ρ = 0 it gives 0, not
    1/π.

    The relative error is 1e-7 of ‖x‖‖y‖ (quadrature, then a polynomial in arcsin ρ). A
    Gram matrix takes O(n n' d) time and the memory of the result.

    Parameters
    ----------
    pool_size : int, default 4
        q, the number of projections in a pool.
    center : bool, default False
        Whether to leave out the constant μ_q². The centred kernel is that of features
        minus μ_q‖x‖.

    See Also
    --------
    bochner.nonlinearities.Maxout : Features whose inner products estimate this kernel.
    ArgmaxCode : The kernel of the index of the largest projection.

    References
    ----------
    Y. Mroueh, S. Rennie and V. Goel, Random maxout features, 2015.

    R. Price, A useful theorem for nonlinear devices having Gaussian inputs, 1958.

    Examples
    --------
    >>> from bochner import kernels
    >>> kernels.Maxout(2)([[1.0, 0.0]], [[0.0, 1.0], [2.0, 0.0]]).round(4)
    array([[0.3183, 2.    ]])
    """

    def __init__(self, pool_size: int = 4, center: bool = False) -> None:
        self.pool_size = pool_size
        self.center = center

    @property
    def made_by(self) -> str:
        center = ", center=True" if self.center else ""
        return f"nonlinearity=nonlinearities.Maxout({self.pool_size}{center})"

    def _check(self) -> None:
        check_count("Maxout", "pool_size", self.pool_size)
        check_option("Maxout", "center", self.center, (False, True))

    def _amplitude(self, lengths: np.ndarray) -> np.ndarray:
        return lengths

    def _profile(self, rho: np.ndarray) -> np.ndarray:
        integrals = maxout_integrals(int(self.pool_size))
        return integrals.covariance(rho) + (0.0 if self.center else integrals.mean**2)


class ArgmaxCode(Angular):
    """κ_q(x, y) = P(argmax_j ⟨w_j, x⟩ = argmax_j ⟨w_j, y⟩), w_1 … w_q ~ N(0, I).

        κ_q(ρ) = q ∫∫ φ₂(s, t; ρ) Φ₂(s, t; ρ)^{q−1} ds dt

    The kernel is 1 for equal directions, 1/q for orthogonal directions and 0 for
    opposite directions (q > 1). For q = 2 it is ½ + arcsin(ρ)/π. It is the expected
    share of equal codes of `nonlinearities.ArgmaxCode`. A row of length zero has the
    same code in all pools, so k = 1 with another row of length zero and k = 1/q with
    all other rows.

    The error is below 1e-7 (quadrature, then a polynomial in arcsin ρ). A Gram matrix
    takes O(n n' d) time and the memory of the result.

    Parameters
    ----------
    pool_size : int, default 4
        q, the number of projections in a pool.

    See Also
    --------
    bochner.nonlinearities.ArgmaxCode : Codes whose share of equal entries estimates
        this kernel.
    Maxout : The kernel of the largest projection.

    References
    ----------
    Y. Mroueh, S. Rennie and V. Goel, Random maxout features, 2015.

    A. Frieze and M. Jerrum, Improved approximation algorithms for max k-cut and max
    bisection, 1997.

    Examples
    --------
    >>> from bochner import kernels
    >>> kernels.ArgmaxCode(2)([[1.0, 0.0]], [[0.0, 1.0], [1.0, 1.0]]).round(4)
    array([[0.5 , 0.75]])
    """

    def __init__(self, pool_size: int = 4) -> None:
        self.pool_size = pool_size

    @property
    def made_by(self) -> str:
        return f"nonlinearity=nonlinearities.ArgmaxCode({self.pool_size})"

    def _check(self) -> None:
        check_count("ArgmaxCode", "pool_size", self.pool_size)

    def _amplitude(self, lengths: np.ndarray) -> np.ndarray:
        return np.ones_like(lengths)

    def _profile(self, rho: np.ndarray) -> np.ndarray:
        return maxout_integrals(int(self.pool_size)).agreement(rho)


class ArcCosine(Angular):
    """k_n(x, y) = 2 E ⟨w, x⟩₊ⁿ ⟨w, y⟩₊ⁿ = ‖x‖ⁿ‖y‖ⁿ J_n(θ)/π, w ~ N(0, I), cos θ = ρ.

        J_0 = π − θ,  J_1 = sin θ + (π − θ) cos θ,
        J_2 = 3 sin θ cos θ + (π − θ)(1 + 2 cos²θ)

    Degree 0 compares the signs of projections. Degree 1 is the kernel of an infinitely
    wide layer of rectified linear units. A row of length zero has k = 0 with every row.

    A Gram matrix takes O(n n' d) time and the memory of the result.

    Parameters
    ----------
    degree : {0, 1, 2}, default 1
        n.

    See Also
    --------
    bochner.nonlinearities.Sign : Features of the kernel of degree 0.
    bochner.nonlinearities.ReLU : Features of the kernel of degree 1.

    References
    ----------
    Y. Cho and L. Saul, Kernel methods for deep learning, NIPS 2009.

    Examples
    --------
    >>> from bochner import kernels
    >>> kernels.ArcCosine(0)([[1.0, 0.0]], [[0.0, 1.0], [2.0, 0.0]])
    array([[0.5, 1. ]])
    """

    def __init__(self, degree: int = 1) -> None:
        self.degree = degree

    @property
    def made_by(self) -> str:
        parameters = {0: "nonlinearity='sign'", 1: "nonlinearity='relu'"}
        return parameters.get(self.degree, super().made_by)

    def _check(self) -> None:
        check_option("ArcCosine", "degree", self.degree, (0, 1, 2))

    def _amplitude(self, lengths: np.ndarray) -> np.ndarray:
        return np.where(lengths > 0, lengths**self.degree, 0.0)

    def _profile(self, rho: np.ndarray) -> np.ndarray:
        theta = np.arccos(rho)
        if self.degree == 0:
            return 1 - theta / np.pi
        sine = np.sqrt(1 - rho**2)
        if self.degree == 1:
            return (sine + (np.pi - theta) * rho) / np.pi
        return (3 * sine * rho + (np.pi - theta) * (1 + 2 * rho**2)) / np.pi


def _directions(X: Any, lengths: np.ndarray) -> Any:
    """Float64 rows scaled to length one; rows of length zero are not changed."""
    factors = (1 / np.where(lengths > 0, lengths, 1))[:, None]
    rows = as_float64(X)
    return rows.multiply(factors).tocsr() if sparse.issparse(X) else rows * factors
