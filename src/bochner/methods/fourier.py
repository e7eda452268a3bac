"""Methods that draw random Fourier features and use all of them.

The methods differ in the projection that draws the frequencies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..features.random_features import RandomFeatures
from ..kernels.base import Kernel
from ..projections.block_diagonal import BlockDiagonal
from ..projections.qmc import QMC


def rff(
    n_components: int = 1024,
    *,
    gamma: float | str | ArrayLike = "scale",
    kernel: Kernel | str | None = None,
    random_state: int | np.random.RandomState | None = None,
    **parts: Any,
) -> RandomFeatures:
    """Random Fourier features with independent frequencies.

    φ(x) = [cos ω_iᵀx, sin ω_iᵀx]_i / √m, where the ω_i are independent draws from the
    spectral law of the kernel. O(n d M) time, O(d M) memory.

    Parameters
    ----------
    n_components : int, default 1024
        M, the number of features. By default each of m = M/2 frequencies gives a cosine
        and a sine, so that M must be even.
    gamma : float, array of shape (n_features,) or str, default "scale"
        Bandwidth of the kernel, or the name of a rule that derives it from the data
        (see `kernels.Gaussian`). Ignored if `kernel` is a Kernel object.
    kernel : Kernel, str or None, default None
        Kernel to approximate; None is the Gaussian kernel.
    random_state : int, RandomState or None, default None
        Seed of all random draws.
    **parts
        Other parameters of `RandomFeatures`, for instance ``nonlinearity="cos"``.

    Returns
    -------
    RandomFeatures
        An unfitted transformer.

    See Also
    --------
    orf : Lower error at the same cost.
    sorf : Lower error at a lower cost on wide data.

    References
    ----------
    A. Rahimi and B. Recht, Random features for large-scale kernel machines, NIPS 2007.

    Examples
    --------
    >>> from bochner import methods
    >>> methods.rff(64, gamma=0.1, random_state=0).fit_transform([[1, 2]]).shape
    (1, 64)
    """
    return RandomFeatures(
        n_components,
        kernel=kernel,
        gamma=gamma,
        projection="dense",
        random_state=random_state,
        **parts,
    )


def orf(
    n_components: int = 1024,
    *,
    gamma: float | str | ArrayLike = "scale",
    kernel: Kernel | str | None = None,
    random_state: int | np.random.RandomState | None = None,
    **parts: Any,
) -> RandomFeatures:
    """Orthogonal random features.

    W = S Q, where Q holds uniformly random orthogonal blocks of d rows and the diagonal
    S holds lengths drawn from the law. About half the error of `rff` at the same size,
    unless d is small. O(n d M) time, O(d M) memory.

    Parameters
    ----------
    n_components : int, default 1024
        M, the number of features. By default each of m = M/2 frequencies gives a cosine
        and a sine, so that M must be even.
    gamma : float, array of shape (n_features,) or str, default "scale"
        Bandwidth of the kernel, or the name of a rule that derives it from the data
        (see `kernels.Gaussian`). Ignored if `kernel` is a Kernel object.
    kernel : Kernel, str or None, default None
        Kernel to approximate; None is the Gaussian kernel.
    random_state : int, RandomState or None, default None
        Seed of all random draws.
    **parts
        Other parameters of `RandomFeatures`, for instance ``nonlinearity="cos"``.

    Returns
    -------
    RandomFeatures
        An unfitted transformer.

    See Also
    --------
    sorf : The same error at a cost that grows with log d.

    References
    ----------
    F. X. Yu et al., Orthogonal random features, NIPS 2016.

    Examples
    --------
    >>> from bochner import methods
    >>> methods.orf(64, gamma=0.1, random_state=0).fit_transform([[1, 2]]).shape
    (1, 64)
    """
    return RandomFeatures(
        n_components,
        kernel=kernel,
        gamma=gamma,
        projection="orthogonal",
        random_state=random_state,
        **parts,
    )


def sorf(
    n_components: int = 1024,
    *,
    gamma: float | str | ArrayLike = "scale",
    kernel: Kernel | str | None = None,
    random_state: int | np.random.RandomState | None = None,
    **parts: Any,
) -> RandomFeatures:
    """Structured orthogonal random features, by Hadamard matrices.

    W ∝ S H D₁ H D₂ H D₃ with diagonals D of random signs and lengths S: the error of
    `orf` at a cost that grows with log d only. ``projection="auto"`` usually chooses
    this projection for more than 16 features. O(n M log d) time, O(M + d) memory.

    Parameters
    ----------
    n_components : int, default 1024
        M, the number of features. By default each of m = M/2 frequencies gives a cosine
        and a sine, so that M must be even.
    gamma : float, array of shape (n_features,) or str, default "scale"
        Bandwidth of the kernel, or the name of a rule that derives it from the data
        (see `kernels.Gaussian`). Ignored if `kernel` is a Kernel object.
    kernel : Kernel, str or None, default None
        Kernel to approximate; None is the Gaussian kernel.
    random_state : int, RandomState or None, default None
        Seed of all random draws.
    **parts
        Other parameters of `RandomFeatures`, for instance ``nonlinearity="cos"``.

    Returns
    -------
    RandomFeatures
        An unfitted transformer.

    See Also
    --------
    orf : The same with exact rotations.
    fastfood : Slightly cheaper, with more than twice the error.

    References
    ----------
    F. X. Yu et al., Orthogonal random features, NIPS 2016.

    Examples
    --------
    >>> from bochner import methods
    >>> methods.sorf(64, gamma=0.1, random_state=0).fit_transform([[1, 2]]).shape
    (1, 64)
    """
    return RandomFeatures(
        n_components,
        kernel=kernel,
        gamma=gamma,
        projection="sorf",
        random_state=random_state,
        **parts,
    )


def fastfood(
    n_components: int = 1024,
    *,
    gamma: float | str | ArrayLike = "scale",
    kernel: Kernel | str | None = None,
    random_state: int | np.random.RandomState | None = None,
    **parts: Any,
) -> RandomFeatures:
    """Fastfood: S H G Π H B in place of a Gaussian matrix.

    Two Hadamard transforms H, a permutation Π and diagonals S, G and B. Slightly
    cheaper than `sorf`, with more than twice its error; included for comparison.
    O(n M log d) time, O(M + d) memory.

    Parameters
    ----------
    n_components : int, default 1024
        M, the number of features. By default each of m = M/2 frequencies gives a cosine
        and a sine, so that M must be even.
    gamma : float, array of shape (n_features,) or str, default "scale"
        Bandwidth of the kernel, or the name of a rule that derives it from the data
        (see `kernels.Gaussian`). Ignored if `kernel` is a Kernel object.
    kernel : Kernel, str or None, default None
        Kernel to approximate; None is the Gaussian kernel.
    random_state : int, RandomState or None, default None
        Seed of all random draws.
    **parts
        Other parameters of `RandomFeatures`, for instance ``nonlinearity="cos"``.

    Returns
    -------
    RandomFeatures
        An unfitted transformer.

    See Also
    --------
    sorf : Lower error at about the same cost.

    References
    ----------
    Q. Le, T. Sarlos and A. Smola, Fastfood: approximating kernel expansions in
    loglinear time, ICML 2013.

    Examples
    --------
    >>> from bochner import methods
    >>> methods.fastfood(64, gamma=0.1, random_state=0).fit_transform([[1, 2]]).shape
    (1, 64)
    """
    return RandomFeatures(
        n_components,
        kernel=kernel,
        gamma=gamma,
        projection="fastfood",
        random_state=random_state,
        **parts,
    )


def qmc(
    n_components: int = 1024,
    *,
    gamma: float | str | ArrayLike = "scale",
    kernel: Kernel | str | None = None,
    random_state: int | np.random.RandomState | None = None,
    sequence: str = "halton",
    **parts: Any,
) -> RandomFeatures:
    """Quasi-Monte-Carlo features: frequencies from low-discrepancy points.

    ω_t = F⁻¹(u_t) for a scrambled Halton or Sobol sequence u_t, where F⁻¹ is the
    quantile function of the law. Most accurate in few dimensions. O(n d M) time, O(d M)
    memory.

    Parameters
    ----------
    n_components : int, default 1024
        M, the number of features. By default each of m = M/2 frequencies gives a cosine
        and a sine, so that M must be even.
    gamma : float, array of shape (n_features,) or str, default "scale"
        Bandwidth of the kernel, or the name of a rule that derives it from the data
        (see `kernels.Gaussian`). Ignored if `kernel` is a Kernel object.
    kernel : Kernel, str or None, default None
        Kernel to approximate; None is the Gaussian kernel.
    random_state : int, RandomState or None, default None
        Seed of all random draws.
    sequence : {"halton", "sobol"}, default "halton"
        Low-discrepancy sequence.
    **parts
        Other parameters of `RandomFeatures`, for instance ``nonlinearity="cos"``.

    Returns
    -------
    RandomFeatures
        An unfitted transformer.

    See Also
    --------
    orf : Lower error in many dimensions.

    References
    ----------
    H. Avron et al., Quasi-Monte Carlo feature maps for shift-invariant kernels,
    JMLR 2016.

    Examples
    --------
    >>> from bochner import methods
    >>> methods.qmc(64, gamma=0.1, random_state=0).fit_transform([[1, 2]]).shape
    (1, 64)
    """
    return RandomFeatures(
        n_components,
        kernel=kernel,
        gamma=gamma,
        projection=QMC(sequence),
        random_state=random_state,
        **parts,
    )


def block_diagonal(
    n_components: int = 1024,
    *,
    gamma: float | str | ArrayLike = "scale",
    kernel: Kernel | str | None = None,
    random_state: int | np.random.RandomState | None = None,
    block_size: int | str = "auto",
    **parts: Any,
) -> RandomFeatures:
    """Randomised block-diagonal features.

    Each feature projects a block of b shuffled inputs. This takes b multiplications per
    feature, at a bias of about 1/b: see `projections.BlockDiagonal`. O(n M b) time,
    O(M b) memory.

    Parameters
    ----------
    n_components : int, default 1024
        M, the number of features. By default each of m = M/2 frequencies gives a cosine
        and a sine, so that M must be even.
    gamma : float, array of shape (n_features,) or str, default "scale"
        Bandwidth of the kernel, or the name of a rule that derives it from the data
        (see `kernels.Gaussian`). Ignored if `kernel` is a Kernel object.
    kernel : Kernel, str or None, default None
        Kernel to approximate; None is the Gaussian kernel.
    random_state : int, RandomState or None, default None
        Seed of all random draws.
    block_size : int, "auto" or "paper", default "auto"
        b, or the rule that chooses it: see `projections.BlockDiagonal`.
    **parts
        Other parameters of `RandomFeatures`, for instance ``nonlinearity="cos"``.

    Returns
    -------
    RandomFeatures
        An unfitted transformer.

    See Also
    --------
    sorf : Fast features without a bias.

    References
    ----------
    Fast random Fourier features through randomized block-diagonal projection, preprint.

    Examples
    --------
    >>> from bochner import methods
    >>> methods.block_diagonal(64, gamma=0.1).fit_transform([[1, 2]]).shape
    (1, 64)
    """
    return RandomFeatures(
        n_components,
        kernel=kernel,
        gamma=gamma,
        projection=BlockDiagonal(block_size),
        random_state=random_state,
        **parts,
    )


def circulant(
    n_components: int = 1024,
    *,
    gamma: float | str | ArrayLike = "scale",
    kernel: Kernel | str | None = None,
    random_state: int | np.random.RandomState | None = None,
    **parts: Any,
) -> RandomFeatures:
    """Circulant features: shifts of one random vector, by FFT.

    The projections are circ(r) D x with random signs D, so that M numbers describe the
    whole projection. O(n M log d) time, O(M + d) memory.

    Parameters
    ----------
    n_components : int, default 1024
        M, the number of features. By default each of m = M/2 frequencies gives a cosine
        and a sine, so that M must be even.
    gamma : float, array of shape (n_features,) or str, default "scale"
        Bandwidth of the kernel, or the name of a rule that derives it from the data
        (see `kernels.Gaussian`). Ignored if `kernel` is a Kernel object.
    kernel : Kernel, str or None, default None
        Kernel to approximate; None is the Gaussian kernel.
    random_state : int, RandomState or None, default None
        Seed of all random draws.
    **parts
        Other parameters of `RandomFeatures`, for instance ``nonlinearity="cos"``.

    Returns
    -------
    RandomFeatures
        An unfitted transformer.

    See Also
    --------
    compact_circulant : The same map with learned vectors.

    References
    ----------
    F. X. Yu et al., Compact nonlinear maps and circulant extensions, 2015.

    Examples
    --------
    >>> from bochner import methods
    >>> methods.circulant(64, gamma=0.1, random_state=0).fit_transform([[1, 2]]).shape
    (1, 64)
    """
    return RandomFeatures(
        n_components,
        kernel=kernel,
        gamma=gamma,
        projection="circulant",
        random_state=random_state,
        **parts,
    )
