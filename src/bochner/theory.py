"""Planning formulas: numbers of components that suffice, and errors to expect."""

from __future__ import annotations

from math import ceil, e, exp, isinf, log
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ._core.validation import check_count, check_positive
from .kernels.shift_invariant import ShiftInvariant


def johnson_lindenstrauss(n: int, *, eps: float, eta: float) -> int:
    """Components of a Gaussian projection that preserve all distances of n points.

    With k ≥ ln(n(n − 1)/η) / (ε²/4 − ε³/6) components, all n(n − 1)/2 squared distances
    change by a factor within 1 ± ε with probability at least 1 − η. A single distance
    fails with probability at most 2 exp(−k(ε²/4 − ε³/6)).

    Parameters
    ----------
    n : int
        Number of points, at least 2.
    eps : float in (0, 1)
        ε, the relative error of squared distances.
    eta : float in (0, 1)
        η, the probability of failure.

    Returns
    -------
    int
        k, the smallest sufficient number of components.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    See Also
    --------
    bochner.RandomProjection : Projects with this number of components.
    measurements_for_rip : Preserves the lengths of all sparse vectors.

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
    k: int,
    d: int,
    *,
    eps: float,
    delta: float,
    sigma: float | ShiftInvariant,
    diameter: float,
) -> int:
    """Frequencies that estimate the kernel within ε on all k-sparse points at once.

    With M ≥ 4(z + 2)/ε² · [2z/(z + 2) · ln(4e·d·σ_p·diam/(z ε)) + ln(3/δ)] frequencies,
    z = min(2k, d), sup |⟨φ(x), φ(y)⟩ − k(x, y)| < ε with probability at least 1 − δ for
    the cos/sin map (2M columns). Cosines with random phases need at least four times as
    many frequencies, because their terms lie in [−2, 2].

    Parameters
    ----------
    k : int
        Number of non-zeros of a point, at most d.
    d : int
        Number of features.
    eps : float in (0, 1)
        ε, the largest error of the kernel.
    delta : float in (0, 1)
        δ, the probability of failure.
    sigma : float or ShiftInvariant kernel
        σ_p, the square root of the second moment E‖ω‖² of the spectral law (√(2γd) for
        the Gaussian), or the kernel that determines it. σ_p must be finite, which
        excludes Laplacian and spherical kernels, and Matérn kernels with ν ≤ 1.
    diameter : float
        Diameter of the set of points.

    Returns
    -------
    int
        M, the smallest sufficient number of frequencies.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or σ_p is infinite.

    See Also
    --------
    measurements_for_rip : Number of measurements of sparse points.

    References
    ----------
    Theorem 1 of J.-H. R. Chang, A. C. Sankaranarayanan and B. V. K. Vijaya Kumar,
    Random features for sparse signal classification, CVPR 2016, with 4e instead of the
    paper's 2e.

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
    # A covering needs at least one ball, so its logarithm is not negative.
    cover = max(0.0, log(4 * e * d * sigma * diameter / (z * eps)))
    return ceil(4 * (z + 2) / eps**2 * (2 * z / (z + 2) * cover + log(3 / delta)))


def measurements_for_rip(k: int, d: int, *, delta: float, eta: float) -> int:
    """Measurements of an orthoprojector that preserve lengths of k-sparse vectors.

    With p ≥ (ln(2/η) + k ln(12/δ) + k ln(e d/k)) / (δ²/16 − δ³/48) measurements,
    (1 − δ)‖x‖ ≤ ‖P x‖ ≤ (1 + δ)‖x‖ for all k-sparse x with probability at least 1 − η:
    the restricted isometry property (RIP). The result is at most d, where P is an
    isometry. For distances between k-sparse points, pass 2k instead of k.

    Parameters
    ----------
    k : int
        Number of non-zeros, at most d.
    d : int
        Number of features.
    delta : float in (0, 1)
        δ, the relative error of lengths.
    eta : float in (0, 1)
        η, the probability of failure.

    Returns
    -------
    int
        p, the number of measurements.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    See Also
    --------
    bochner.projections.Compressive : Random features of measurements.
    compressive_failure : Bound for measurements and frequencies together.

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
    numerator = log(2 / eta) + k * log(12 / delta) + k * log(e * d / k)
    return min(d, ceil(numerator / (delta**2 / 16 - delta**3 / 48)))


def compressive_failure(
    k: int,
    d: int,
    *,
    n_measurements: int,
    n_frequencies: int,
    eps: float,
    sigma: float | ShiftInvariant,
    radius: float,
    lipschitz: float,
) -> float:
    """Bound on the probability that compressive features miss the kernel by ε.

    The bound holds for all pairs of k-sparse points at once. It is the sum of
    2¹⁰ (d/p)(σ_p D/ε)² exp(−Mε²/(16(p + 2))) for the features of measurements, and
    2(24DL/ε)^{2k} (e d/2k)^{2k} exp(−(ε²/(64D²L²) − ε³/(384D³L³)) p) for the
    measurements, where D = 2·radius. The second term is 0 at p = d. The first term
    grows with p unless M grows as well.

    Parameters
    ----------
    k : int
        Number of non-zeros of a point, at most d.
    d : int
        Number of features.
    n_measurements : int
        p, at most d.
    n_frequencies : int
        M, the number of frequencies of the cos/sin map.
    eps : float
        ε, the error of the kernel. It must be less than 2DL, the largest change of the
        kernel.
    sigma : float or ShiftInvariant kernel
        σ_p of the law in R^p (√(2γp) for the Gaussian), or the kernel that determines
        it.
    radius : float
        Radius of the set of points.
    lipschitz : float
        L = sup |f′| of k(x, y) = f(‖x − y‖); √(2γ/e) for the Gaussian.

    Returns
    -------
    float
        The bound, at most 1.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or σ_p is infinite.

    See Also
    --------
    bochner.projections.Compressive : Random features of measurements.
    measurements_for_rip : Number of measurements alone.

    References
    ----------
    Equation 9 of J.-H. R. Chang, A. C. Sankaranarayanan and B. V. K. Vijaya Kumar,
    Random features for sparse signal classification, CVPR 2016, with 2k instead of k:
    differences of k-sparse points have 2k non-zeros.

    Examples
    --------
    >>> from bochner import theory
    >>> sizes = dict(n_frequencies=2_000_000, n_measurements=100, eps=0.2)
    >>> points = dict(sigma=1.0, radius=5.0, lipschitz=0.1)
    >>> theory.compressive_failure(2, 100, **sizes, **points) < 1e-9
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
            f"{name}: eps must be below 2DL = {2 * D * L:.3g}, the largest change of "
            f"the kernel within the radius; got {eps}."
        )
    sigma = _spectral_deviation(name, sigma, p)
    log_first = log(2**10 * d / p) + 2 * log(sigma * D / eps)
    log_first -= M * eps**2 / (16 * (p + 2))
    z, ratio = min(2 * k, d), eps / (D * L)
    log_second = log(2) + z * (log(24 / ratio) + log(e * d / z))
    log_second -= (ratio**2 / 64 - ratio**3 / 384) * p
    second = 0.0 if p == d else exp(min(0.0, log_second))
    return min(1.0, exp(min(0.0, log_first)) + second)


class BlockDiagonalMoments(NamedTuple):
    """Moments of block-diagonal Fourier features of a Gaussian kernel, for one δ.

    See Also
    --------
    block_diagonal_moments : Computes the moments.

    Examples
    --------
    >>> from bochner import theory
    >>> moments = theory.block_diagonal_moments([1.0, 1.0], 2, gamma=0.5)
    >>> moments.mean == moments.kernel  # one block of all features has no bias
    True
    """

    kernel: float
    """k(δ) = exp(−γ‖δ‖²), the exact kernel."""
    mean: float
    """E_B k(√(d/b) δ_B), the expected estimate; at least `kernel`."""
    variance: float
    """Variance of one frequency with independent blocks; divide by m for m of them."""
    variance_in_pass: float
    """Approximate variance of one frequency in a pass, whose blocks partition the
    features; smaller than `variance`."""
    distance_mean: float
    """μ = E_B (d/b)‖δ_B‖² = ‖δ‖²."""
    distance_variance: float
    """σ² = Var_B (d/b)‖δ_B‖² = (d²/b)(1 − b/d) S², S² the variance of δ_l² over l."""


def block_diagonal_moments(
    delta: ArrayLike, block_size: int, *, gamma: float
) -> BlockDiagonalMoments:
    """Mean and variance of block-diagonal Fourier features for one difference δ.

    With a_l = exp(−γ(d/b)δ_l²), the mean over random blocks of b features is
    e_b(a)/C(d, b), where e_b is the elementary symmetric polynomial; it is computed
    exactly. The variance of a frequency is ½ + ½E[k(2δ)] − E[k(δ)]² for independent
    blocks, and approximately ½ + ½E[k(2δ)] − E[k(δ)²] within one pass.

    Time is O(d b), memory O(d).

    Parameters
    ----------
    delta : array-like of shape (d,)
        δ, one difference x − y.
    block_size : int
        b, from 1 to d.
    gamma : float
        γ of the Gaussian kernel.

    Returns
    -------
    BlockDiagonalMoments
        Named tuple of the kernel, mean, variances, and moments of the distance.

    Raises
    ------
    ValueError
        If δ is not one finite vector, or another parameter is out of its range.

    See Also
    --------
    bochner.projections.BlockDiagonal : The projection.

    References
    ----------
    Theorem 4.1 of "Fast random Fourier features through randomized block-diagonal
    projection" (preprint). The paper prints −½E[k(2δ)]; simulation confirms the sign
    used here.

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
        raise ValueError(f"{name}: delta must be one finite vector; got {delta!r}.")
    gamma = check_positive(name, "gamma", gamma)
    d, b = square.size, check_count(name, "block_size", block_size)
    if b > d:
        raise ValueError(
            f"{name}: block_size must be at most the length of delta, {d}; got {b}."
        )
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

    After i numbers, means[j] is the mean over all subsets of j of these i numbers. The
    newest number is in such a subset with probability j/i. All values are means of the
    products, so they cannot overflow.
    """
    means = np.zeros(b + 1)
    means[0] = 1.0
    for i, number in enumerate(a, start=1):
        share = np.minimum(np.arange(1, b + 1) / i, 1.0)
        means[1:] = (1 - share) * means[1:] + share * number * means[:-1]
    return float(means[b])


def _check_sparsity(owner: str, k: int, d: int) -> tuple[int, int]:
    k, d = check_count(owner, "k", k), check_count(owner, "d", d)
    if k > d:
        raise ValueError(f"{owner}: k must be at most d={d}; got {k}.")
    return k, d


def _spectral_deviation(owner: str, sigma: float | ShiftInvariant, d: int) -> float:
    """σ_p in R^d: the number itself, or √E‖ω‖² of the kernel's law."""
    if isinstance(sigma, ShiftInvariant):
        if sigma.is_rule or sigma.input_scale is not None:
            raise ValueError(
                f"{owner}: a kernel given as sigma must have one number as bandwidth, "
                f"not a rule or an array; got {sigma!r}. Use kernel_ of a fitted map."
            )
        sigma = sigma.spectral_law().second_moment(d) ** 0.5
    if isinstance(sigma, float) and isinf(sigma):
        raise ValueError(
            f"{owner}: sigma must be finite, so the spectral law must have a second "
            "moment; Laplacian, spherical and Matérn kernels with nu ≤ 1 have none. "
            "Use a Gaussian kernel, or a Matérn kernel with nu > 1."
        )
    return check_positive(owner, "sigma", sigma, " or a shift-invariant kernel")


def _check_fraction(owner: str, name: str, value: float) -> None:
    if not 0 < check_positive(owner, name, value) < 1:
        raise ValueError(f"{owner}: {name} must lie between 0 and 1; got {value!r}.")
