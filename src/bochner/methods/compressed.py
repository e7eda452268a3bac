"""Methods that measure data first, keep few of their features, or learn them."""

from __future__ import annotations

from typing import Any

from ..compression.base import N_CANDIDATES, Compression
from ..compression.frank_wolfe import FrankWolfe
from ..compression.giga import GIGA
from ..compression.greedy import N_ROWS
from ..compression.jl import JL
from ..features.compact.compact_map import CompactMap
from ..features.random_features import RandomFeatures
from ..projections.compressive import Compressive


def compressive(
    n_components: int = 1024,
    *,
    gamma: Any = "scale",
    kernel: Any = None,
    random_state: Any = None,
    n_measurements: Any = "auto",
    projection: Any = "dense",
    ensemble: str = "gaussian",
    **parts: Any,
) -> RandomFeatures:
    """Compressive random features: features of p random measurements of the data.

    φ(P x), P an orthoprojector to R^p: close to φ(x) for sparse x, and measurements may
    come from elsewhere: `P, second = features.feature_map_.split()`. See
    `projections.Compressive`. O(n p (d + M)) time, O(p (d + M)) memory.

    Parameters
    ----------
    n_measurements : int or "auto"
        p, at most d; "auto" is a quarter of d.
    projection : Projection or name
        The second stage, on measurements.
    ensemble : "gaussian" or "sign"

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
    gamma: Any = "scale",
    kernel: Any = None,
    random_state: Any = None,
    n_candidates: int = N_CANDIDATES,
    target: str = "kernel",
    refit: bool = True,
    n_rows: int = N_ROWS,
    n_pairs: int | None = None,
    **parts: Any,
) -> RandomFeatures:
    """RFM-GIGA: the weighted subset of many features that gives the kernel best.

    √w_j z_j for few of n_candidates features z_j, chosen on pairs of rows by
    greedy iterative geodesic ascent: see `compression.GIGA`. As in the paper, of dense
    frequencies with random phases (`nonlinearity="cos"`), so M columns take M
    frequencies. Fewer are kept, with a warning, where more do not lower the error.
    O(n d M) time after the selection, O(d M) memory.

    Parameters
    ----------
    n_candidates, target, refit, n_rows, n_pairs
        As in `compression.GIGA`.

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
    few = GIGA(n_candidates, target, refit, n_rows, n_pairs)
    return _compressed(n_components, gamma, kernel, random_state, few, parts)


def frank_wolfe(
    n_components: int = 1024,
    *,
    gamma: Any = "scale",
    kernel: Any = None,
    random_state: Any = None,
    n_candidates: int = N_CANDIDATES,
    target: str = "kernel",
    refit: bool = True,
    n_rows: int = N_ROWS,
    n_pairs: int | None = None,
    **parts: Any,
) -> RandomFeatures:
    """RFM-FW: a weighted subset of many features by the Frank-Wolfe algorithm.

    As `giga`, by another path that cannot shrink the kernel: see
    `compression.FrankWolfe`. O(n d M) time after the selection, O(d M) memory.

    Parameters
    ----------
    n_candidates, target, refit, n_rows, n_pairs
        As in `compression.GIGA`.

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
    few = FrankWolfe(n_candidates, target, refit, n_rows, n_pairs)
    return _compressed(n_components, gamma, kernel, random_state, few, parts)


def jl(
    n_components: int = 1024,
    *,
    gamma: Any = "scale",
    kernel: Any = None,
    random_state: Any = None,
    n_candidates: int = N_CANDIDATES,
    mixing: Any = "dense",
    **parts: Any,
) -> RandomFeatures:
    """RFM-JL: random mixtures of many features, the baseline of `giga`.

    V z(x), V a random projection of all n_candidates features z: see `compression.JL`.
    O(n J₊ (d + M)) time, O(J₊ (d + M)) memory.

    Parameters
    ----------
    n_candidates : int
        J₊.
    mixing : Projection or name
        Draws V: "dense" (Gaussian) or "sorf" (fast Hadamard).

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
    few = JL(n_candidates, mixing)
    return _compressed(n_components, gamma, kernel, random_state, few, parts)


def _compressed(
    n_components: int,
    gamma: Any,
    kernel: Any,
    random_state: Any,
    compression: Compression,
    parts: dict[str, Any],
) -> RandomFeatures:
    """Features of independent frequencies with random phases, as in the paper."""
    usual = {"projection": "dense", "nonlinearity": "cos"}
    return RandomFeatures(
        n_components,
        kernel=kernel,
        gamma=gamma,
        compression=compression,
        random_state=random_state,
        **(usual | parts),
    )


def compact(
    n_components: int = 1024,
    *,
    gamma: Any = "scale",
    kernel: Any = None,
    random_state: Any = None,
    **parts: Any,
) -> CompactMap:
    """Compact nonlinear maps: few cosines, learned along with a linear model of them.

    φ(x) = √(2/M) [cos(θ_jᵀx + b_j)]_j, Θ and b fitted to y by gradients, from random
    Fourier features on. Some tens of features do what takes hundreds of random ones;
    `fit` needs y, unless `objective="kernel"`. O(n d M) time for each of some tens of
    passes, O(d M) memory.

    Parameters
    ----------
    **parts
        As in `CompactMap`.

    References
    ----------
    F. X. Yu, S. Kumar, H. Rowley and S.-F. Chang, Compact nonlinear maps and circulant
    extensions, 2015.

    Examples
    --------
    >>> from bochner import methods
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1]
    >>> methods.compact(8, random_state=0).fit(X, y).transform(X).shape
    (3, 8)
    """
    return CompactMap(
        n_components, kernel=kernel, gamma=gamma, random_state=random_state, **parts
    )


def compact_circulant(
    n_components: int = 1024,
    *,
    gamma: Any = "scale",
    kernel: Any = None,
    random_state: Any = None,
    **parts: Any,
) -> CompactMap:
    """Learned circulant maps: one vector of d numbers for every d features.

    φ(x) = √(2/M) cos(circ(r) D x + b), r and b learned by FFT gradients: for inputs of
    many features, where a matrix would not fit. O(n M log d) time for each pass, O(M)
    memory.

    Parameters
    ----------
    **parts
        As in `CompactMap`.

    References
    ----------
    F. X. Yu, S. Kumar, H. Rowley and S.-F. Chang, Compact nonlinear maps and circulant
    extensions, 2015, section 8.

    Examples
    --------
    >>> from bochner import methods
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1]
    >>> methods.compact_circulant(8, random_state=0).fit(X, y).transform(X).shape
    (3, 8)
    """
    return CompactMap(
        n_components,
        kernel=kernel,
        gamma=gamma,
        projection="circulant",
        random_state=random_state,
        **parts,
    )
