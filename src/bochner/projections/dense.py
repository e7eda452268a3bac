"""Dense projections: matrices of independent rows."""

from __future__ import annotations

import numpy as np

from .._core.random import Stream
from ..kernels.laws import Law
from .algebra import Matrix
from .base import Projection

DRAW_ENTRIES = 1 << 22
"""Entries drawn at a time, so that a large matrix needs no second copy."""


class Dense(Projection):
    """W with independent rows ω_1 … ω_m drawn from the law.

    Every law can be used. Sampling takes O(m d) time, applying O(n m d) time (BLAS) or
    O(nnz m) time for CSR rows, and the matrix O(m d) memory. The first m rows of a map
    with 2m rows are those of a map with m rows.

    See Also
    --------
    SORF : A structured projection with less error and O(m log d) time per row.

    References
    ----------
    A. Rahimi and B. Recht, Random features for large-scale kernel machines, NIPS 2007.

    Examples
    --------
    >>> from bochner import RandomFeatures
    >>> X = [[0.0, 1.0], [1.0, 0.0]]
    >>> RandomFeatures(8, projection="dense", random_state=0).fit_transform(X).shape
    (2, 8)
    """

    def _sample(self, law: Law, n_out: int, n_in: int, rng: Stream) -> Matrix:
        transposed = np.empty((n_in, n_out))
        rows = max(1, DRAW_ENTRIES // n_in)
        for start in range(0, n_out, rows):
            stop = min(start + rows, n_out)
            transposed[:, start:stop] = law.frequencies(stop - start, n_in, rng).T
        return Matrix(transposed)
