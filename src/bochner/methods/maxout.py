"""Methods that compare projections: features and codes of the largest."""

from __future__ import annotations

from typing import Any

from ..maps import RandomFeatures
from ..nonlinearities import ArgmaxCode, Maxout


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
