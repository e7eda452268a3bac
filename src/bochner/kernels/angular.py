"""Kernels of lengths and the angle: what maxima and signs of projections estimate.

k(x, y) = a(‖x‖) a(‖y‖) f(ρ), ρ = ⟨x, y⟩/‖x‖‖y‖. There is no bandwidth: scaling the data
scales the kernel, and moving it changes the angles (standardise, or leave images as
they are).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .._distances import as_float64, lengths
from .._validation import check_count, check_option
from ..laws import Law, Normal
from .base import Kernel
from .winners import winners


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
        pool = winners(int(self.pool_size))
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
        return winners(int(self.pool_size)).agree(rho)


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
