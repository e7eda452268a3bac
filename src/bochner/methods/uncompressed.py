"""Methods that use every feature they draw."""

from __future__ import annotations

from typing import Any

from ..features.nystroem import Nystroem
from ..features.random_features import RandomFeatures
from ..nonlinearities.argmax_code import ArgmaxCode
from ..nonlinearities.maxout import Maxout
from ..projections.block_diagonal import BlockDiagonal
from ..projections.qmc import QMC


def rff(
    n_components: int = 1024,
    *,
    gamma: Any = "scale",
    kernel: Any = None,
    random_state: Any = None,
    **parts: Any,
) -> RandomFeatures:
    """Random Fourier features: independent frequencies.

    φ(x) = [cos ω_iᵀx, sin ω_iᵀx]_i / √m, ω_i independent draws of the spectral law.
    O(n d M) time, O(d M) memory.

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
    gamma: Any = "scale",
    kernel: Any = None,
    random_state: Any = None,
    **parts: Any,
) -> RandomFeatures:
    """Orthogonal random features: frequencies orthogonal in blocks of d.

    W = S Q, Q uniformly random rotations, S lengths of the law. About half the error of
    `rff` at the same size, where d is not small.
    O(n d M) time, O(d M) memory.

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
    gamma: Any = "scale",
    kernel: Any = None,
    random_state: Any = None,
    **parts: Any,
) -> RandomFeatures:
    """Structured orthogonal random features: rotations from Hadamard matrices.

    W ∝ S H D₁ H D₂ H D₃ with random signs D: the error of `orf` at a cost that grows
    with log d only. The automatic choice past 16 features, as a rule.
    O(n M log d) time, O(M + d) memory.

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
    gamma: Any = "scale",
    kernel: Any = None,
    random_state: Any = None,
    **parts: Any,
) -> RandomFeatures:
    """Fastfood: S H G Π H B in place of a Gaussian matrix.

    Two Hadamard transforms, a permutation and diagonals. A little cheaper than `sorf`,
    with more than twice its error; here for comparison. O(n M log d) time, O(M + d)
    memory.

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
    gamma: Any = "scale",
    kernel: Any = None,
    random_state: Any = None,
    sequence: str = "halton",
    **parts: Any,
) -> RandomFeatures:
    """Quasi-Monte-Carlo features: frequencies from scrambled low-discrepancy points.

    ω_t = F⁻¹(u_t) for a Halton or Sobol sequence u_t. Best in few dimensions.
    O(n d M) time, O(d M) memory.

    Parameters
    ----------
    sequence : "halton" or "sobol"

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
    gamma: Any = "scale",
    kernel: Any = None,
    random_state: Any = None,
    block_size: Any = "auto",
    **parts: Any,
) -> RandomFeatures:
    """Randomised block-diagonal features: each sees a block of b shuffled features.

    b multiplications a feature, at a bias of about 1/b: see
    `projections.BlockDiagonal`. O(n M b) time, O(M b) memory.

    Parameters
    ----------
    block_size : "auto", "paper" or int

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
    gamma: Any = "scale",
    kernel: Any = None,
    random_state: Any = None,
    **parts: Any,
) -> RandomFeatures:
    """Circulant features: shifts of one random vector, by FFT.

    Z = cos(circ(r) D x): M numbers describe the whole projection.
    O(n M log d) time, O(M + d) memory.

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


def nystroem(
    n_components: int = 1024,
    *,
    gamma: Any = "scale",
    kernel: Any = None,
    random_state: Any = None,
    landmarks: Any = "uniform",
) -> Nystroem:
    """Nyström features: the kernel projected on the span of landmarks.

    φ(x) = U⁻ᵀk(L, x) with UᵀU = k(L, L): see `Nystroem`.
    O(n M (d + M)) time, O(M (d + M)) memory.

    Parameters
    ----------
    landmarks : "uniform", "kmeans", "rpcholesky", "margin" or array

    References
    ----------
    C. Williams and M. Seeger, Using the Nyström method to speed up kernel machines,
    NIPS 2000.

    Examples
    --------
    >>> from bochner import methods
    >>> methods.nystroem(64, gamma=0.1).fit_transform([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    return Nystroem(
        n_components,
        kernel=kernel,
        gamma=gamma,
        landmarks=landmarks,
        random_state=random_state,
    )


def maxout(
    n_components: int = 1024,
    *,
    random_state: Any = None,
    pool_size: int = 4,
    pool: Any = "independent",
    center: bool = False,
    **parts: Any,
) -> RandomFeatures:
    """Random maxout features: the largest of q random projections.

    φ(x) = [max_{j ≤ q} ⟨w_j^ℓ, x⟩]_ℓ / √M, w ~ N(0, I): a linear model of them is
    piecewise linear in x. Nothing to tune but q (`nonlinearity__pool_size` in a grid
    search): there is no bandwidth, though data of mixed scales should be standardised.
    As in the paper, of independent projections; `projection="sorf"` is as good, faster
    and small past a hundred features. O(n d M q) time, O(d M q) memory.

    Parameters
    ----------
    n_components : int
        M, units.
    pool_size, pool, center
        As in `nonlinearities.Maxout`.

    References
    ----------
    Y. Mroueh, S. Rennie and V. Goel, Random maxout features, 2015.

    Examples
    --------
    >>> from bochner import methods
    >>> methods.maxout(64, pool_size=4).fit_transform([[1, 2]]).shape
    (1, 64)
    """
    units = Maxout(pool_size, pool, center)
    return _of_projections(n_components, units, random_state, parts)


def maxout_codes(
    n_components: int = 1024,
    *,
    random_state: Any = None,
    pool_size: int = 4,
    output: str = "codes",
    **parts: Any,
) -> RandomFeatures:
    """Random maxout codes: which of q random projections is the largest.

    φ(x) = [argmax_{j ≤ q} ⟨w_j^ℓ, x⟩]_ℓ, w ~ N(0, I): a locality-sensitive hash of the
    direction of x, for nearest neighbours in Hamming distance (`metrics.equal_codes`,
    `NearestNeighbors(metric="hamming")`), or one-hot for linear models: codes are
    labels, not numbers. As for `maxout`, `projection="sorf"` is faster on wide data.
    O(n d M q) time, O(d M q) memory and a byte for each code (two past q = 256).

    Parameters
    ----------
    n_components : int
        M, codes in a row; one-hot has M·q columns.
    pool_size, output
        As in `nonlinearities.ArgmaxCode`.

    References
    ----------
    Y. Mroueh, S. Rennie and V. Goel, Random maxout features, 2015.

    Examples
    --------
    >>> from bochner import methods
    >>> codes = methods.maxout_codes(64, pool_size=16).fit([[1, 2], [2, 1]])
    >>> codes.transform([[1, 2]]).shape
    (1, 64)
    >>> codes.approximate_kernel([[1, 2]], [[2, 4]])
    array([[1.]], dtype=float32)
    """
    codes = ArgmaxCode(pool_size, output)
    return _of_projections(n_components, codes, random_state, parts)


def _of_projections(
    n_components: int, nonlinearity: Any, random_state: Any, parts: dict[str, Any]
) -> RandomFeatures:
    """Independent projections, unless others are asked for."""
    return RandomFeatures(
        n_components,
        nonlinearity=nonlinearity,
        random_state=random_state,
        **({"projection": "dense"} | parts),
    )
