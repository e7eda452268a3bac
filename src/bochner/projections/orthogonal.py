"""Orthogonal rows: blocks of random rotations, times radii of the law."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.linalg import qr

from .._random import Stream
from ..laws import Law
from .algebra import Matrix
from .base import Projection


class Orthogonal(Projection):
    """W = S Q: rows of Haar-random rotations with lengths S drawn from the law.

    Blocks of d mutually orthogonal rows. Each row has exactly the law's distribution,
    so the kernel estimate is unbiased, and its variance is below that of independent
    rows: for the Gaussian and m = d by a factor from 3/(d + 2) for close pairs to 1 for
    far.

    Sampling O(m d²), applying O(n m d) time (BLAS), memory O(m d). Needs an isotropic
    law. A map of m rows is a prefix of one of 2m.

    References
    ----------
    F. X. Yu et al., Orthogonal random features, NIPS 2016.

    Examples
    --------
    >>> from bochner import RandomFeatures
    >>> X = [[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]]
    >>> RandomFeatures(8, projection="orthogonal").fit_transform(X).shape
    (2, 8)
    """

    needs: ClassVar = ("radii",)

    def _sample(self, law: Law, n_out: int, n_in: int, rng: Stream) -> Matrix:
        directions = rng.child("directions")
        radii = law.radii(n_out, n_in, rng.child("radii"))  # type: ignore[attr-defined]
        transposed = np.empty((n_in, n_out))
        for start in range(0, n_out, n_in):
            stop = min(start + n_in, n_out)
            transposed[:, start:stop] = haar_columns(n_in, stop - start, directions)
        return Matrix(transposed * radii)


def haar_columns(d: int, k: int, rng: Stream) -> np.ndarray:
    """k ≤ d orthonormal columns of a uniformly random rotation, (d, k); O(d k²).

    QR of a normal matrix is uniform once the signs of R's diagonal are made positive.
    """
    return orthonormal(rng.normal(k, d).T)


def orthonormal(A: np.ndarray) -> np.ndarray:
    """The Gram-Schmidt basis of A's columns, by a thin QR with a positive diagonal."""
    Q, R = qr(A, mode="economic", overwrite_a=True, check_finite=False)
    return Q * np.where(np.diag(R) < 0, -1.0, 1.0)
