"""Orthogonal rows: blocks of random rotations times radii, and orthonormal rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import qr

from .._core.random import Stream
from .._core.validation import check_option
from ..kernels.laws import Law
from .algebra import Matrix
from .base import LinearMap, Projection, linear_only


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


ENSEMBLES = ("gaussian", "sign")


class Orthoprojector(Projection):
    """P = √(d/p) · orthonormal rows, from i.i.d. normal or ±1 rows by a thin QR.

    E‖P u‖² = ‖u‖², and the squared length of a projected vector varies by
    √(2/p · (1 − p/d)), less than without orthonormal rows. Linear only: used by
    `RandomProjection`. At most d rows.

    Sampling O(d p²), applying O(n p d), memory O(p d).

    Parameters
    ----------
    ensemble : "gaussian" or "sign"
        Rows before orthonormalisation.

    References
    ----------
    R. Baraniuk et al., A simple proof of the restricted isometry property for random
    matrices, Constructive Approximation 2008.

    Examples
    --------
    >>> from bochner import RandomProjection
    >>> X = [[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]]
    >>> RandomProjection(2, projection="orthoprojector").fit_transform(X).shape
    (2, 2)
    """

    is_linear: ClassVar = True

    def __init__(self, ensemble: str = "gaussian") -> None:
        self.ensemble = ensemble

    def sample(self, law: Law, n_out: int, n_in: int, rng: Stream) -> LinearMap:
        raise linear_only(self)

    def _sample_isometry(self, n_out: int, n_in: int, rng: Stream) -> Matrix:
        check_option("Orthoprojector", "ensemble", self.ensemble, ENSEMBLES)
        if n_out > n_in:
            raise ValueError(
                f"Orthoprojector: {n_out} orthonormal rows do not fit {n_in} features; "
                f"ask for at most {n_in}, or use projection='dense'."
            )
        draw: Any = rng.normal if self.ensemble == "gaussian" else rng.signs
        columns = orthonormal(draw(n_out, n_in).T)
        # Few ±1 rows may depend on each other, and QR then favours the first features:
        # shuffled, every feature is treated alike.
        shuffled = columns[rng.child("order").permutation(n_in)]
        return Matrix(shuffled * np.sqrt(n_in / n_out))
