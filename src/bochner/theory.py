"""Planning formulas: how many components, and how good a map will be."""

from __future__ import annotations

from math import ceil, e, exp, isinf, log
from typing import Any, NamedTuple

import numpy as np

from ._core.validation import check_count, check_positive
from .kernels.shift_invariant import ShiftInvariant


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


def features_for_sparse(
    k: int, d: int, *, eps: float, delta: float, sigma: Any, diameter: float
) -> int:
    """Frequencies that give the kernel within ε on all k-sparse points at once.

    M ≥ 4(z + 2)/ε² · [2z/(z + 2) · ln(4e·d·σ_p·diam/(z ε)) + ln(3/δ)], z = min(2k, d):
    then sup |⟨φ(x), φ(y)⟩ − k(x, y)| < ε with probability 1 − δ for the cos/sin map of
    M frequencies (2M columns). Cosines with random phases need at least four times as
    many, as their terms lie in [−2, 2].

    Parameters
    ----------
    k : int
        Non-zeros of a point, at most d.
    d : int
    eps : float in (0, 1)
    delta : float in (0, 1)
        Probability of failure.
    sigma : float or ShiftInvariant kernel
        σ_p, the root of the spectral law's second moment E‖ω‖² (√(2γd) for the
        Gaussian), or the kernel to take it from. It must be finite, which it is not
        for Laplacian, spherical and Matérn kernels with ν ≤ 1.
    diameter : float
        Of the set of points.

    Returns
    -------
    int

    References
    ----------
    Theorem 1 of J.-H. R. Chang, A. C. Sankaranarayanan and B. V. K. Vijaya Kumar,
    Random features for sparse signal classification, CVPR 2016, with 4e for its 2e.

    Examples
    --------
    >>> from bochner import theory
    >>> theory.features_for_sparse(10, 784, eps=0.1, delta=0.01, sigma=4, diameter=20)
    254027
    """
    name = "features_for_sparse"
    k, d = _check_sparsity(name, k, d)
    _check_fraction(name, "eps", eps)
    _check_fraction(name, "delta", delta)
    diameter = check_positive(name, "diameter", diameter)
    sigma = _spectral_deviation(name, sigma, d)
    z = min(2 * k, d)
    # a covering needs at least one ball, however small the set
    cover = max(0.0, log(4 * e * d * sigma * diameter / (z * eps)))
    return ceil(4 * (z + 2) / eps**2 * (2 * z / (z + 2) * cover + log(3 / delta)))


def measurements_for_rip(k: int, d: int, *, delta: float, eta: float) -> int:
    """Measurements of an orthoprojector that keep lengths of k-sparse vectors.

    p ≥ (ln(2/η) + k ln(12/δ) + k ln(e d/k)) / (δ²/16 − δ³/48): then (1 − δ)‖x‖ ≤ ‖P x‖
    ≤ (1 + δ)‖x‖ for all k-sparse x with probability 1 − η. At most d, where P is an
    isometry. For distances between k-sparse points ask for 2k.

    Parameters
    ----------
    k : int
        Non-zeros, at most d.
    d : int
    delta : float in (0, 1)
        Relative error of lengths.
    eta : float in (0, 1)
        Probability of failure.

    Returns
    -------
    int

    References
    ----------
    R. Baraniuk et al., A simple proof of the restricted isometry property for random
    matrices, Constructive Approximation 2008.

    Examples
    --------
    >>> from bochner import theory
    >>> theory.measurements_for_rip(2, 10**6, delta=0.5, eta=0.01)
    3065
    """
    name = "measurements_for_rip"
    k, d = _check_sparsity(name, k, d)
    _check_fraction(name, "delta", delta)
    _check_fraction(name, "eta", eta)
    needed = log(2 / eta) + k * log(12 / delta) + k * log(e * d / k)
    return min(d, ceil(needed / (delta**2 / 16 - delta**3 / 48)))


def compressive_failure(
    k: int,
    d: int,
    *,
    n_measurements: int,
    n_frequencies: int,
    eps: float,
    sigma: Any,
    radius: float,
    lipschitz: float,
) -> float:
    """Bound on the probability that compressive features miss the kernel by ε.

    2¹⁰ (d/p)(σ_p D/ε)² exp(−Mε²/(16(p + 2))) for the features of measurements, plus
    2(24DL/ε)^{2k} (e d/2k)^{2k} exp(−(ε²/(64D²L²) − ε³/(384D³L³)) p) for the
    measurements, which is 0 at p = d; D = 2·radius. Over all pairs of k-sparse points.
    M has to grow with p, or the first term does.

    Parameters
    ----------
    k : int
        Non-zeros of a point, at most d.
    d : int
    n_measurements : int
        p, at most d.
    n_frequencies : int
        M of the cos/sin map.
    eps : float
        Less than 2DL, the most that the kernel can change.
    sigma : float or ShiftInvariant kernel
        σ_p of the law in R^p (√(2γp) for the Gaussian), or the kernel to take it from.
    radius : float
        Of the set of points.
    lipschitz : float
        L = sup |f′| of k(x, y) = f(‖x − y‖); √(2γ/e) for the Gaussian.

    Returns
    -------
    float, at most 1

    References
    ----------
    Equation 9 of J.-H. R. Chang, A. C. Sankaranarayanan and B. V. K. Vijaya Kumar,
    Random features for sparse signal classification, CVPR 2016, with 2k for its k:
    differences of k-sparse points have 2k non-zeros.

    Examples
    --------
    >>> from bochner import theory
    >>> sure = dict(n_frequencies=2_000_000, n_measurements=100, eps=0.2)
    >>> points = dict(sigma=1.0, radius=5.0, lipschitz=0.1)
    >>> theory.compressive_failure(2, 100, **sure, **points) < 1e-9
    True
    """
    name = "compressive_failure"
    k, d = _check_sparsity(name, k, d)
    p = check_count(name, "n_measurements", n_measurements)
    if p > d:
        raise ValueError(f"{name}: n_measurements must be at most d={d}; got {p}.")
    M = check_count(name, "n_frequencies", n_frequencies)
    D = 2 * check_positive(name, "radius", radius)
    L = check_positive(name, "lipschitz", lipschitz)
    eps = check_positive(name, "eps", eps)
    if eps >= 2 * D * L:
        raise ValueError(
            f"{name}: eps must be below 2DL = {2 * D * L:.3g}, the most that the "
            f"kernel changes within the radius; got {eps}."
        )
    sigma = _spectral_deviation(name, sigma, p)
    features = log(2**10 * d / p) + 2 * log(sigma * D / eps)
    features -= M * eps**2 / (16 * (p + 2))
    z, ratio = min(2 * k, d), eps / (D * L)
    measurements = log(2) + z * (log(24 / ratio) + log(e * d / z))
    measurements -= (ratio**2 / 64 - ratio**3 / 384) * p
    second = 0.0 if p == d else exp(min(0.0, measurements))
    return min(1.0, exp(min(0.0, features)) + second)


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


def _check_sparsity(owner: str, k: int, d: int) -> tuple[int, int]:
    k, d = check_count(owner, "k", k), check_count(owner, "d", d)
    if k > d:
        raise ValueError(f"{owner}: k must be at most d={d}; got {k}.")
    return k, d


def _spectral_deviation(owner: str, sigma: Any, d: int) -> float:
    """σ_p in R^d: as given, or that of a kernel."""
    if isinstance(sigma, ShiftInvariant):
        if sigma.is_rule or sigma.input_scale is not None:
            raise ValueError(
                f"{owner}: the kernel must have one number for its bandwidth, not a "
                f"rule or an array; got {sigma!r}. A fitted map has one in `kernel_`."
            )
        sigma = sigma.spectral_law().second_moment(d) ** 0.5
    if isinstance(sigma, float) and isinf(sigma):
        raise ValueError(
            f"{owner}: the spectral law must have a second moment, sigma < ∞; "
            "Laplacian, spherical and Matérn kernels with ν ≤ 1 have none. Take a "
            "Gaussian, or a Matérn kernel with ν > 1."
        )
    return check_positive(owner, "sigma", sigma, " or a shift-invariant kernel")


def _check_fraction(owner: str, name: str, value: float) -> None:
    if not 0 < check_positive(owner, name, value) < 1:
        raise ValueError(f"{owner}: {name} must lie between 0 and 1; got {value!r}.")
