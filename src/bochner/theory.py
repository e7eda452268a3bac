"""Planning formulas: how many components, and how good a map will be."""

from __future__ import annotations

from math import ceil, log
from typing import Any, NamedTuple

import numpy as np

from ._validation import check_count, check_positive


def johnson_lindenstrauss(n: int, *, eps: float, eta: float) -> int:
    """Components of a Gaussian projection that keep all distances of n points.

    k ≥ ln(n(n − 1)/η) / (ε²/4 − ε³/6): then all n(n − 1)/2 squared distances keep
    within 1 ± ε with probability 1 − η (each fails with at most 2 exp(−k(ε²/4 −
    ε³/6))).

    Parameters
    ----------
    n : int
        Number of points, at least 2.
    eps : float in (0, 1)
        Relative error of squared distances.
    eta : float in (0, 1)
        Probability of failure.

    Returns
    -------
    int

    References
    ----------
    S. Dasgupta and A. Gupta, An elementary proof of a theorem of Johnson and
    Lindenstrauss, Random Structures and Algorithms 2003.

    Examples
    --------
    >>> from bochner import theory
    >>> theory.johnson_lindenstrauss(10_000, eps=0.2, eta=0.01)
    2657
    """
    n = check_count("johnson_lindenstrauss", "n", n)
    if n < 2:
        raise ValueError(f"johnson_lindenstrauss: n must be at least 2; got {n}.")
    _check_fraction("johnson_lindenstrauss", "eps", eps)
    _check_fraction("johnson_lindenstrauss", "eta", eta)
    return ceil(log(n * (n - 1) / eta) / (eps**2 / 4 - eps**3 / 6))


class BlockDiagonalMoments(NamedTuple):
    """What block-diagonal Fourier features of a Gaussian kernel estimate, for one δ."""

    kernel: float
    """k(δ) = exp(−γ‖δ‖²), the kernel asked for."""
    mean: float
    """E_B k(√(d/b) δ_B), what the features estimate: at least `kernel`."""
    variance: float
    """Of one frequency, blocks drawn independently: divide by m."""
    variance_in_pass: float
    """Of one frequency where the blocks partition the features: about, and smaller."""
    distance_mean: float
    """μ = E_B (d/b)‖δ_B‖² = ‖δ‖²."""
    distance_variance: float
    """σ² = Var_B (d/b)‖δ_B‖² = (d²/b)(1 − b/d) S², S² the variance of δ_l² over l."""


def block_diagonal_moments(
    delta: Any, block_size: int, *, gamma: float
) -> BlockDiagonalMoments:
    """Mean and variance of block-diagonal Fourier features for one difference δ.

    With a_l = exp(−γ(d/b)δ_l²), the mean over random blocks of b features is the
    elementary symmetric polynomial e_b(a)/C(d, b), computed exactly. The variance of a
    frequency is ½ + ½E[k(2δ)] − E[k(δ)]² for independent blocks, and within one pass
    about ½ + ½E[k(2δ)] − E[k(δ)²]. Time O(d b), memory O(b).

    Parameters
    ----------
    delta : array of shape (d,)
        The difference x − y.
    block_size : int
        b, from 1 to d.
    gamma : float
        γ of the Gaussian kernel.

    Returns
    -------
    BlockDiagonalMoments

    References
    ----------
    Theorem 4.1 of "Fast random Fourier features through randomized block-diagonal
    projection" (preprint) prints −½E[k(2δ)]; the sign here is the one simulation gives.

    Examples
    --------
    >>> from bochner import theory
    >>> moments = theory.block_diagonal_moments([1.0, 0.0, 0.0, 0.0], 2, gamma=0.5)
    >>> round(moments.kernel, 4), round(moments.mean, 4)
    (0.6065, 0.6839)
    """
    name = "block_diagonal_moments"
    square = np.square(np.asarray(delta, dtype=np.float64))
    if square.ndim != 1 or not np.isfinite(square).all():
        raise ValueError(f"{name}: delta must be one finite vector, got {delta!r}.")
    gamma = check_positive(name, "gamma", gamma)
    d, b = square.size, check_count(name, "block_size", block_size)
    if b > d:
        raise ValueError(f"{name}: block_size must be at most {d}; got {b}.")
    exponent = gamma * d / b * square
    mean = _mean_over_subsets(np.exp(-exponent), b)
    squared = _mean_over_subsets(np.exp(-2 * exponent), b)  # E[k(δ)²]
    doubled = _mean_over_subsets(np.exp(-4 * exponent), b)  # E[k(2δ)]
    spread = square.var(ddof=1) if d > 1 else 0.0
    return BlockDiagonalMoments(
        kernel=float(np.exp(-gamma * square.sum())),
        mean=mean,
        variance=0.5 + 0.5 * doubled - mean**2,
        variance_in_pass=0.5 + 0.5 * doubled - squared,
        distance_mean=float(square.sum()),
        distance_variance=float(d**2 / b * (1 - b / d) * spread),
    )


def _mean_over_subsets(a: np.ndarray, b: int) -> float:
    """Mean of ∏_{l ∈ B} a_l over all B of size b: e_b(a)/C(d, b).

    f_j after i numbers is the mean over subsets of size j of those; number i belongs to
    such a subset with probability j/i. Means of means: nothing can overflow.
    """
    f = np.zeros(b + 1)
    f[0] = 1.0
    for i, number in enumerate(a, start=1):
        share = np.minimum(np.arange(1, b + 1) / i, 1.0)
        f[1:] = (1 - share) * f[1:] + share * number * f[:-1]
    return float(f[b])


def _check_fraction(owner: str, name: str, value: float) -> None:
    if not 0 < check_positive(owner, name, value) < 1:
        raise ValueError(f"{owner}: {name} must lie between 0 and 1; got {value!r}.")
