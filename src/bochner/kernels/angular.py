"""Kernels of lengths and the angle: what maxima and signs of projections estimate.

k(x, y) = a(‖x‖) a(‖y‖) f(ρ), ρ = ⟨x, y⟩/‖x‖‖y‖. There is no bandwidth: scaling the data
scales the kernel, and moving it changes the angles (standardise, or leave images as
they are).

Who wins among q projections: the functions behind the maxout kernels.

Of q pairs (g_j, g'_j), independent of each other and standard normal with correlation
ρ, κ_q(ρ) is the probability that one j has both the largest g and the largest g'. With
the density φ₂ and the distribution function Φ₂ of a pair

    κ_q(ρ) = q ∫∫ φ₂(s, t; ρ) Φ₂(s, t; ρ)^{q−1} ds dt,
    E max_j g_j · max_j g'_j = μ_q² + ∫₀^ρ κ_q,   μ_q = E max_j g_j

(Price's theorem: the derivative of an expectation in a correlation is the expectation
of the mixed second derivative, and that of a maximum is the indicator of its winner).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy import sparse
from scipy.special import ndtr, owens_t
from sklearn.base import clone

from .._core.validation import check_count, check_option
from .base import Kernel
from .distances import as_float64, lengths
from .laws import Law, Normal

NODES = 32
"""Chebyshev nodes in arcsin ρ: κ_q is smooth in it, with its cusp √(1 − ρ) at one."""

REACH = 8.0
"""The normal density is below 1e-14 beyond."""

STEP, FINE_STEP, LARGE_POOL = 0.25, 0.125, 64
"""Of the trapezoid rule, which converges like exp(−c/step²); maxima of more than 64
normals are narrower. κ_q is then off by less than 1e-9, for q up to 65,535 by 2e-8."""


@dataclass(frozen=True)
class MaxoutIntegrals:
    """κ_q and its integral as polynomials in 2 arcsin(ρ)/π, and μ_q."""

    mean: float  # μ_q
    agreement: np.ndarray  # κ_q
    integral: np.ndarray  # ∫₀^ρ κ_q

    def agree(self, rho: np.ndarray) -> np.ndarray:
        """κ_q(ρ) for ρ in [−1, 1], of any shape."""
        return np.clip(_evaluated(self.agreement, rho), 0, 1)

    def covariance(self, rho: np.ndarray) -> np.ndarray:
        """∫₀^ρ κ_q, the covariance of the two maxima."""
        return _evaluated(self.integral, rho)


@cache
def maxout_integrals(q: int) -> MaxoutIntegrals:
    """The functions of pools of q, in 0.05 s the first time (0.3 s past 64)."""
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

    s = cu + dv, t = cu − dv with independent normal u and v make the integrand smooth
    for every ρ: in s and t it would become a ridge.
    """
    g = _grid(step)
    u, v = g[:, None], g[g > 0]  # symmetric in v
    c, d = np.sqrt((1 + np.sin(angle)) / 2), np.sqrt((1 - np.sin(angle)) / 2)
    both = _below_both(c * u + d * v, c * u - d * v, np.sin(angle))
    density = step**2 / (2 * np.pi) * np.exp(-(u**2 + v**2) / 2)
    return float(2 * q * np.sum(density * np.clip(both, 0, 1) ** (q - 1)))


def _mean(q: int, step: float) -> float:
    """μ_q = q ∫ g φ(g) Φ(g)^{q−1} dg."""
    g = _grid(step)
    density = step / np.sqrt(2 * np.pi) * np.exp(-(g**2) / 2)
    return float(q * np.sum(g * density * ndtr(g) ** (q - 1)))


def _grid(step: float) -> np.ndarray:
    """Points of the trapezoid rule, symmetric and never zero, where slopes t/s end."""
    return np.arange(0.5 * step - REACH, REACH, step)


def _below_both(s: np.ndarray, t: np.ndarray, rho: float) -> np.ndarray:
    """Φ₂(s, t; ρ) by Owen's T function, for s, t ≠ 0 and |ρ| < 1."""
    root = np.sqrt(1 - rho**2)
    apart = 0.5 * (s * t < 0)
    halves = 0.5 * (ndtr(s) + ndtr(t)) - apart
    return halves - owens_t(s, (t / s - rho) / root) - owens_t(t, (s / t - rho) / root)


def _evaluated(coefficients: np.ndarray, rho: np.ndarray) -> np.ndarray:
    return chebyshev.chebval(np.arcsin(rho) * (2 / np.pi), coefficients)


class Angular(Kernel):
    """a(‖x‖) a(‖y‖) f(ρ). A row of length zero counts as orthogonal to all others."""

    def resolve(self, X: Any, sample_weight: np.ndarray | None = None) -> Angular:
        self._check()
        return clone(self)

    def spectral_law(self) -> Law:
        return Normal(1.0)

    def rescaled(self, factors: Any) -> Angular:
        raise ValueError(
            f"{type(self).__name__}: this kernel has no bandwidth that could take one "
            "factor per feature, as BlockDiagonal(normalize=True) asks; scale the data "
            "before (MaxAbsScaler, StandardScaler), or leave normalize=False."
        )

    def diagonal(self, X: Any) -> np.ndarray:
        self._check()
        return self._amplitude(lengths(X)) ** 2 * self._profile(np.ones(1))

    def _block(self, X: Any, Y: Any, same: bool) -> Callable[[slice], np.ndarray]:
        lengths_X, lengths_Y = lengths(X), lengths(Y)
        left, right = self._amplitude(lengths_X), self._amplitude(lengths_Y)
        directions_X = _directions(X, lengths_X)
        directions_Y = _directions(Y, lengths_Y)
        empty = lengths_Y == 0

        def block(rows: slice) -> np.ndarray:
            rho = directions_X[rows] @ directions_Y.T
            rho = rho.toarray() if sparse.issparse(rho) else rho
            np.clip(rho, -1, 1, out=rho)
            rho[np.ix_(lengths_X[rows] == 0, empty)] = 1  # they are the same row
            if same:
                rho[np.arange(len(rho)), np.arange(rows.start, rows.stop)] = 1
            return left[rows, None] * self._profile(rho) * right

        return block

    def _check(self) -> None:
        """Refuse parameters that make no kernel."""
        raise NotImplementedError

    def _amplitude(self, lengths: np.ndarray) -> np.ndarray:
        """a(‖x‖)."""
        raise NotImplementedError

    def _profile(self, rho: np.ndarray) -> np.ndarray:
        """f(ρ)."""
        raise NotImplementedError


class Maxout(Angular):
    """k(x, y) = E max_j ⟨w_j, x⟩ · max_j ⟨w_j, y⟩ over q independent w_j ~ N(0, I).

        k(x, y) = ‖x‖‖y‖ (μ_q² + ∫₀^ρ κ_q(t) dt)

    with μ_q = E max_j g_j and κ_q that of `ArgmaxCode`; for q = 2 that is
    ‖x‖‖y‖ (ρ/2 + (√(1 − ρ²) + ρ arcsin ρ)/π). A local kernel: linear for close
    directions, nearly constant for far ones, the sooner the larger q; q = 1 is linear.
    Theorem 1 of the paper, σ²⟨x, y⟩κ_q, drops the part of pairs with different winners
    and is not this (at q = 2 and ρ = 0 it is 0, not 1/π).

    Exact to 1e-7 of ‖x‖‖y‖ (quadrature, a polynomial in arcsin ρ). O(n n' d) time.

    Parameters
    ----------
    pool_size : int
        q, projections a unit takes the largest of.
    center : bool
        Leave the constant μ_q² out: the kernel of features minus μ_q‖x‖.

    References
    ----------
    Y. Mroueh, S. Rennie and V. Goel, Random maxout features, 2015; R. Price, A useful
    theorem for nonlinear devices having Gaussian inputs, 1958.

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
        centred = ", center=True" if self.center else ""
        return f"nonlinearity=nonlinearities.Maxout({self.pool_size}{centred})"

    def _check(self) -> None:
        check_count("Maxout", "pool_size", self.pool_size)
        check_option("Maxout", "center", self.center, (False, True))

    def _amplitude(self, lengths: np.ndarray) -> np.ndarray:
        return lengths

    def _profile(self, rho: np.ndarray) -> np.ndarray:
        pool = maxout_integrals(int(self.pool_size))
        return pool.covariance(rho) + (0.0 if self.center else pool.mean**2)


class ArgmaxCode(Angular):
    """κ_q(x, y) = P(argmax_j ⟨w_j, x⟩ = argmax_j ⟨w_j, y⟩), w_1 … w_q ~ N(0, I).

        κ_q(ρ) = q ∫∫ φ₂(s, t; ρ) Φ₂(s, t; ρ)^{q−1} ds dt

    1 for equal directions, 1/q for orthogonal ones, 0 for opposite ones (q > 1); κ_2 =
    ½ + arcsin(ρ)/π. The share of equal codes of `nonlinearities.ArgmaxCode`. A row of
    length zero has one code for all pools: 1 with another such row, 1/q with others.

    Exact to 1e-7 (quadrature, a polynomial in arcsin ρ). O(n n' d) time.

    Parameters
    ----------
    pool_size : int
        q, projections that a code chooses from.

    References
    ----------
    Y. Mroueh, S. Rennie and V. Goel, Random maxout features, 2015; A. Frieze and
    M. Jerrum, Improved approximation algorithms for max k-cut and max bisection, 1997.

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
        return maxout_integrals(int(self.pool_size)).agree(rho)


class ArcCosine(Angular):
    """k_n(x, y) = 2 E ⟨w, x⟩₊ⁿ ⟨w, y⟩₊ⁿ = ‖x‖ⁿ‖y‖ⁿ J_n(θ)/π, w ~ N(0, I), cos θ = ρ.

        J_0 = π − θ,  J_1 = sin θ + (π − θ) cos θ,
        J_2 = 3 sin θ cos θ + (π − θ)(1 + 2 cos²θ)

    Degree 0 compares signs (`nonlinearities.Sign`), degree 1 is the kernel of an
    infinitely wide layer of rectified linear units (`nonlinearities.ReLU`). A row of
    length zero has k = 0 with every row. O(n n' d) time.

    Parameters
    ----------
    degree : 0, 1 or 2
        n.

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
        names = {0: "nonlinearity='sign'", 1: "nonlinearity='relu'"}
        return names.get(self.degree, super().made_by)

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
    """Float64 rows of length one, those of length zero as they are."""
    factors = (1 / np.where(lengths > 0, lengths, 1))[:, None]
    rows = as_float64(X)
    return rows.multiply(factors).tocsr() if sparse.issparse(X) else rows * factors
