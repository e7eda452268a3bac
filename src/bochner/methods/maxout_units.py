"""Random maxout features and random maxout codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..features.random_features import RandomFeatures
from ..nonlinearities.argmax_code import ArgmaxCode
from ..nonlinearities.base import Nonlinearity
from ..nonlinearities.maxout import Maxout


def maxout(
    n_components: int = 1024,
    *,
    random_state: int | np.random.RandomState | None = None,
    pool_size: int = 4,
    pool: int | str = "independent",
    center: bool = False,
    **parts: Any,
) -> RandomFeatures:
    """Random maxout features: the largest of q random projections.

    φ(x) = [max_{j ≤ q} ⟨w_j^ℓ, x⟩]_ℓ / √M, w ~ N(0, I): a linear model of these
    features is piecewise linear in x. The only parameter to tune is q
    (`nonlinearity__pool_size` in a grid search). There is no bandwidth, but columns of
    different scales should be standardised. The projections are independent, as in the
    paper; on more than a hundred input features, ``projection="sorf"`` is as accurate,
    faster and smaller. O(n d M q) time, O(d M q) memory.

    Parameters
    ----------
    n_components : int, default 1024
        M, the number of maxout units, which is the number of features.
    random_state : int, RandomState or None, default None
        Seed of all random draws.
    pool_size : int, default 4
        q, the number of projections of which a unit takes the largest.
    pool : int or "independent", default "independent"
        Whether units have their own projections, or share a pool of this size: see
        `nonlinearities.Maxout`.
    center : bool, default False
        Whether to subtract μ_q‖x‖, the mean of a unit, which depends on the length of x
        only.
    **parts
        Other parameters of `RandomFeatures`, for instance ``projection="sorf"``.

    Returns
    -------
    RandomFeatures
        An unfitted transformer.

    See Also
    --------
    maxout_codes : The index of the largest projection instead of its value.
    bochner.nonlinearities.Maxout : The nonlinearity of this method.

    References
    ----------
    Y. Mroueh, S. Rennie and V. Goel, Random maxout features, 2015.

    Examples
    --------
    >>> from bochner import methods
    >>> methods.maxout(64, pool_size=4).fit_transform([[1, 2]]).shape
    (1, 64)
    """
    nonlinearity = Maxout(pool_size, pool, center)
    return _of_independent_projections(n_components, nonlinearity, random_state, parts)


def maxout_codes(
    n_components: int = 1024,
    *,
    random_state: int | np.random.RandomState | None = None,
    pool_size: int = 4,
    output: str = "codes",
    **parts: Any,
) -> RandomFeatures:
    """Random maxout codes: the index of the largest of q random projections.

    φ(x) = [argmax_{j ≤ q} ⟨w_j^ℓ, x⟩]_ℓ, w ~ N(0, I): a locality-sensitive hash of the
    direction of x. Codes serve nearest-neighbour search in Hamming distance
    (`metrics.equal_codes`, `NearestNeighbors(metric="hamming")`). Linear models need
    one-hot codes, because codes are labels, not numbers. As for `maxout`,
    ``projection="sorf"`` is faster on wide data. O(n d M q) time, O(d M q) memory, and
    one byte per code (two bytes for q > 256).

    Parameters
    ----------
    n_components : int, default 1024
        M, the number of codes per row; one-hot output has M·q columns.
    random_state : int, RandomState or None, default None
        Seed of all random draws.
    pool_size : int, default 4
        q, the number of values of a code.
    output : {"codes", "onehot"}, default "codes"
        Integer codes, or one-hot codes as a CSR matrix.
    **parts
        Other parameters of `RandomFeatures`, for instance ``projection="sorf"``.

    Returns
    -------
    RandomFeatures
        An unfitted transformer.

    See Also
    --------
    maxout : The value of the largest projection instead of its index.
    bochner.nonlinearities.ArgmaxCode : The nonlinearity of this method.

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
    nonlinearity = ArgmaxCode(pool_size, output)
    return _of_independent_projections(n_components, nonlinearity, random_state, parts)


def _of_independent_projections(
    n_components: int,
    nonlinearity: Nonlinearity,
    random_state: int | np.random.RandomState | None,
    parts: dict[str, Any],
) -> RandomFeatures:
    """Features of dense projections, unless `parts` names another projection."""
    return RandomFeatures(
        n_components,
        nonlinearity=nonlinearity,
        random_state=random_state,
        **({"projection": "dense"} | parts),
    )
