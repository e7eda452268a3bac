"""Methods that compress the data or the features.

`compressive` reduces the rows to random measurements before it draws features. `giga`,
`frank_wolfe` and `jl` draw many features and keep few. As in the paper, their
candidates are cosines of independent frequencies with random phases, so that M columns
take M frequencies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..compression.base import N_CANDIDATES, Compression
from ..compression.frank_wolfe import FrankWolfe
from ..compression.giga import GIGA
from ..compression.greedy import N_ROWS
from ..compression.jl import JL
from ..features.random_features import RandomFeatures
from ..kernels.base import Kernel
from ..projections.base import Projection
from ..projections.compressive import Compressive


def compressive(
    n_components: int = 1024,
    *,
    gamma: float | str | ArrayLike = "scale",
    kernel: Kernel | str | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_measurements: int | str = "auto",
    projection: Projection | str = "dense",
    ensemble: str = "gaussian",
    **parts: Any,
) -> RandomFeatures:
    """Compressive random features: features of p random measurements.

    φ(P x), where P is an orthoprojector to R^p: close to φ(x) for sparse x. The two
    stages can run in different places: ``P, second = features.feature_map_.split()``.
    See `projections.Compressive`. O(n p (d + M)) time, O(p (d + M)) memory.

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
    n_measurements : int or "auto", default "auto"
        p, at most d; "auto" is a quarter of d.
    projection : Projection or str, default "dense"
        Projection of the second stage, which acts on the measurements.
    ensemble : {"gaussian", "sign"}, default "gaussian"
        Distribution of P before it is made orthonormal.
    **parts
        Other parameters of `RandomFeatures`, for instance ``nonlinearity="cos"``.

    Returns
    -------
    RandomFeatures
        An unfitted transformer.

    See Also
    --------
    bochner.projections.Compressive : The projection of this method.

    References
    ----------
    J.-H. R. Chang, A. C. Sankaranarayanan and B. V. K. Vijaya Kumar, Random features
    for sparse signal classification, CVPR 2016.

    Examples
    --------
    >>> from bochner import methods
    >>> features = methods.compressive(64, n_measurements=2, gamma=0.1)
    >>> features.fit_transform([[1, 2, 0, 0], [0, 2, 1, 0]]).shape
    (2, 64)
    """
    return RandomFeatures(
        n_components,
        kernel=kernel,
        gamma=gamma,
        projection=Compressive(n_measurements, projection, ensemble),
        random_state=random_state,
        **parts,
    )


def giga(
    n_components: int = 1024,
    *,
    gamma: float | str | ArrayLike = "scale",
    kernel: Kernel | str | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_candidates: int = N_CANDIDATES,
    target: str = "kernel",
    refit: bool = True,
    n_rows: int = N_ROWS,
    n_pairs: int | None = None,
    **parts: Any,
) -> RandomFeatures:
    """RFM-GIGA: the weighted subset of features that fits the kernel best.

    √w_j z_j for a few of n_candidates features z_j, selected on pairs of rows by greedy
    iterative geodesic ascent: see `compression.GIGA`. If more features do not lower the
    error, fewer than n_components are kept, with a warning. O(n d M) time after the
    selection, O(d M) memory.

    Parameters
    ----------
    n_components : int, default 1024
        M, the number of features to keep.
    gamma : float, array of shape (n_features,) or str, default "scale"
        Bandwidth of the kernel, or the name of a rule that derives it from the data
        (see `kernels.Gaussian`). Ignored if `kernel` is a Kernel object.
    kernel : Kernel, str or None, default None
        Kernel to approximate; None is the Gaussian kernel.
    random_state : int, RandomState or None, default None
        Seed of all random draws.
    n_candidates : int, default 5000
        Number of candidate features drawn.
    target : {"kernel", "features"}, default "kernel"
        Approximate the exact kernel, or its estimate from all candidates.
    refit : bool, default True
        Whether to refit the weights of the kept features; the paper does not.
    n_rows : int, default 2000
        Number of rows sampled for the selection, all pairs of which are used.
    n_pairs : int or None, default None
        Number of pairs to sample instead, as in the paper.
    **parts
        Other parameters of `RandomFeatures`. As in the paper, the defaults are
        ``projection="dense"`` and ``nonlinearity="cos"``.

    Returns
    -------
    RandomFeatures
        An unfitted transformer.

    See Also
    --------
    bochner.compression.GIGA : The algorithm, and the cost of the selection.

    References
    ----------
    R. Agrawal, T. Campbell, J. Huggins and T. Broderick, Data-dependent compression of
    random features for large-scale kernel approximation, AISTATS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import methods
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> methods.giga(16, n_candidates=200, random_state=0).fit_transform(X).shape
    (50, 16)
    """
    compression = GIGA(n_candidates, target, refit, n_rows, n_pairs)
    return _with_compression(
        compression, n_components, gamma, kernel, random_state, parts
    )


def frank_wolfe(
    n_components: int = 1024,
    *,
    gamma: float | str | ArrayLike = "scale",
    kernel: Kernel | str | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_candidates: int = N_CANDIDATES,
    target: str = "kernel",
    refit: bool = True,
    n_rows: int = N_ROWS,
    n_pairs: int | None = None,
    **parts: Any,
) -> RandomFeatures:
    """RFM-FW: a weighted subset of many features by the Frank-Wolfe algorithm.

    The same map as `giga`, from another algorithm, which cannot shrink the kernel: see
    `compression.FrankWolfe`. O(n d M) time after the selection, O(d M) memory.

    Parameters
    ----------
    n_components : int, default 1024
        M, the number of features to keep.
    gamma : float, array of shape (n_features,) or str, default "scale"
        Bandwidth of the kernel, or the name of a rule that derives it from the data
        (see `kernels.Gaussian`). Ignored if `kernel` is a Kernel object.
    kernel : Kernel, str or None, default None
        Kernel to approximate; None is the Gaussian kernel.
    random_state : int, RandomState or None, default None
        Seed of all random draws.
    n_candidates : int, default 5000
        Number of candidate features drawn.
    target : {"kernel", "features"}, default "kernel"
        Approximate the exact kernel, or its estimate from all candidates.
    refit : bool, default True
        Whether to refit the weights of the kept features; the paper does not.
    n_rows : int, default 2000
        Number of rows sampled for the selection, all pairs of which are used.
    n_pairs : int or None, default None
        Number of pairs to sample instead, as in the paper.
    **parts
        Other parameters of `RandomFeatures`. As in the paper, the defaults are
        ``projection="dense"`` and ``nonlinearity="cos"``.

    Returns
    -------
    RandomFeatures
        An unfitted transformer.

    See Also
    --------
    giga : Lower error at the same cost.

    References
    ----------
    R. Agrawal, T. Campbell, J. Huggins and T. Broderick, Data-dependent compression of
    random features for large-scale kernel approximation, AISTATS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import methods
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> methods.frank_wolfe(16, n_candidates=200, random_state=0).fit_transform(X).shape
    (50, 16)
    """
    compression = FrankWolfe(n_candidates, target, refit, n_rows, n_pairs)
    return _with_compression(
        compression, n_components, gamma, kernel, random_state, parts
    )


def jl(
    n_components: int = 1024,
    *,
    gamma: float | str | ArrayLike = "scale",
    kernel: Kernel | str | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_candidates: int = N_CANDIDATES,
    mixing: Projection | str = "dense",
    **parts: Any,
) -> RandomFeatures:
    """RFM-JL: random mixtures of many features, the baseline for `giga`.

    V z(x), where V is a random projection of all J₊ = n_candidates features z: see
    `compression.JL`. O(n J₊ (d + M)) time, O(J₊ (d + M)) memory.

    Parameters
    ----------
    n_components : int, default 1024
        M, the number of features to keep.
    gamma : float, array of shape (n_features,) or str, default "scale"
        Bandwidth of the kernel, or the name of a rule that derives it from the data
        (see `kernels.Gaussian`). Ignored if `kernel` is a Kernel object.
    kernel : Kernel, str or None, default None
        Kernel to approximate; None is the Gaussian kernel.
    random_state : int, RandomState or None, default None
        Seed of all random draws.
    n_candidates : int, default 5000
        J₊, the number of candidate features drawn.
    mixing : Projection or str, default "dense"
        Distribution of V, for instance "dense" (Gaussian) or "sorf" (fast Hadamard).
    **parts
        Other parameters of `RandomFeatures`. As in the paper, the defaults are
        ``projection="dense"`` and ``nonlinearity="cos"``.

    Returns
    -------
    RandomFeatures
        An unfitted transformer.

    See Also
    --------
    giga : Lower error, from fewer features computed per row.

    References
    ----------
    R. Agrawal, T. Campbell, J. Huggins and T. Broderick, Data-dependent compression of
    random features for large-scale kernel approximation, AISTATS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import methods
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> methods.jl(16, n_candidates=200, random_state=0).fit_transform(X).shape
    (50, 16)
    """
    compression = JL(n_candidates, mixing)
    return _with_compression(
        compression, n_components, gamma, kernel, random_state, parts
    )


def _with_compression(
    compression: Compression,
    n_components: int,
    gamma: float | str | ArrayLike,
    kernel: Kernel | str | None,
    random_state: int | np.random.RandomState | None,
    parts: dict[str, Any],
) -> RandomFeatures:
    """Compressed cosines of independent frequencies, unless `parts` says otherwise."""
    defaults = {"projection": "dense", "nonlinearity": "cos"}
    return RandomFeatures(
        n_components,
        kernel=kernel,
        gamma=gamma,
        compression=compression,
        random_state=random_state,
        **(defaults | parts),
    )
