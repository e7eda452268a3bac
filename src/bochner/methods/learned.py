"""Methods that learn their frequencies."""

from __future__ import annotations

from typing import Any

from ..compact import CompactMap


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
