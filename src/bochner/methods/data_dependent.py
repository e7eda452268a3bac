"""Methods whose features are fitted to the data: learned maps and Nyström features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..features.compact.compact_map import CompactMap
from ..features.nystroem import Nystroem
from ..kernels.base import Kernel


def compact(
    n_components: int = 1024,
    *,
    gamma: float | str | ArrayLike = "scale",
    kernel: Kernel | str | None = None,
    random_state: int | np.random.RandomState | None = None,
    **parts: Any,
) -> CompactMap:
    """Compact nonlinear maps: few cosines, learned together with a linear model.

    φ(x) = √(2/M) [cos(θ_jᵀx + b_j)]_j, where gradient steps fit Θ and b to y, starting
    from random Fourier features. Tens of learned features replace hundreds of random
    ones. `fit` needs y, unless ``objective="kernel"``. O(n d M) time for each of some
    tens of passes, O(d M) memory.

    Parameters
    ----------
    n_components : int, default 1024
        M, the number of features.
    gamma : float, array of shape (n_features,) or str, default "scale"
        Bandwidth of the kernel, or the name of a rule that derives it from the data
        (see `kernels.Gaussian`). Ignored if `kernel` is a Kernel object.
    kernel : Kernel, str or None, default None
        Kernel whose random features learning starts from; None is the Gaussian kernel.
    random_state : int, RandomState or None, default None
        Seed of all random draws.
    **parts
        Other parameters of `CompactMap`, for instance ``objective="regression"``.

    Returns
    -------
    CompactMap
        An unfitted transformer.

    See Also
    --------
    compact_circulant : Learned maps that take O(M) memory.
    bochner.CompactMap : The transformer, and all of its parameters.

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
    gamma: float | str | ArrayLike = "scale",
    kernel: Kernel | str | None = None,
    random_state: int | np.random.RandomState | None = None,
    **parts: Any,
) -> CompactMap:
    """Learned circulant maps: one vector of d numbers for every d features.

    φ(x) = √(2/M) cos(circ(r) D x + b), where r and b are learned with gradients by FFT.
    For inputs of so many features that a matrix would not fit into memory. O(n M log d)
    time for each pass, O(M) memory.

    Parameters
    ----------
    n_components : int, default 1024
        M, the number of features.
    gamma : float, array of shape (n_features,) or str, default "scale"
        Bandwidth of the kernel, or the name of a rule that derives it from the data
        (see `kernels.Gaussian`). Ignored if `kernel` is a Kernel object.
    kernel : Kernel, str or None, default None
        Kernel whose random features learning starts from; None is the Gaussian kernel.
    random_state : int, RandomState or None, default None
        Seed of all random draws.
    **parts
        Other parameters of `CompactMap`, for instance ``objective="regression"``.

    Returns
    -------
    CompactMap
        An unfitted transformer.

    See Also
    --------
    compact : Learned maps without a structure.
    circulant : The same map with random vectors.

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


def nystroem(
    n_components: int = 1024,
    *,
    gamma: float | str | ArrayLike = "scale",
    kernel: Kernel | str | Callable[[Any, Any], np.ndarray] | None = None,
    random_state: int | np.random.RandomState | None = None,
    landmarks: str | ArrayLike = "uniform",
) -> Nystroem:
    """Nyström features: the kernel, projected on the span of landmarks.

    φ(x) = U⁻ᵀ k(L, x) with UᵀU = k(L, L) for M landmarks L: see `Nystroem`.
    O(n M (d + M)) time, O(M (d + M)) memory.

    Parameters
    ----------
    n_components : int, default 1024
        M, the number of landmarks; at most one per distinct row is used.
    gamma : float, array of shape (n_features,) or str, default "scale"
        Bandwidth of the kernel, or the name of a rule that derives it from the data
        (see `kernels.Gaussian`). Ignored if `kernel` is a Kernel object.
    kernel : Kernel, str, callable or None, default None
        Kernel to approximate; None is the Gaussian kernel. A callable k(X, Y) returns a
        Gram matrix. "precomputed" means that X is a Gram matrix.
    random_state : int, RandomState or None, default None
        Seed of all random draws.
    landmarks : str or array of shape (M, n_features), default "uniform"
        The rule that chooses landmarks ("uniform", "kmeans", "rpcholesky" or "margin"),
        or the landmarks themselves.

    Returns
    -------
    Nystroem
        An unfitted transformer.

    See Also
    --------
    bochner.Nystroem : The transformer, with a description of the rules.

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
