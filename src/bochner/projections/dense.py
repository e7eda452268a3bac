"""Independent rows: the plain random matrix."""

from __future__ import annotations

import numpy as np

from .._core.random import Stream
from ..kernels.laws import Law
from .algebra import Matrix
from .base import Projection

DRAW_ENTRIES = 1 << 22
"""Entries drawn at a time, so that a large matrix needs no second one beside it."""


class Dense(Projection):
    """Every row an independent draw of the law (Rahimi and Recht, 2007).

    Takes every law. Sampling O(m d); applying O(n m d) time (BLAS), O(nnz m) for CSR
    rows; memory O(m d). A map of m rows is a prefix of one of 2m.

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
