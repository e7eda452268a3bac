"""Orthogonal projections: random rotations times radii, and orthonormal rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import qr

from .._core.random import Stream
from .._core.validation import check_option
from ..kernels.laws import Law
from .algebra import Matrix
from .base import LinearMap, Projection, linear_only_error


class Orthogonal(Projection):
    """W = S Q: rows of Haar-random rotations Q with lengths S drawn from the law.

    The map consists of blocks of d mutually orthogonal rows. Each row has exactly the
    distribution of the law, so the kernel estimate is unbiased. Its variance is less
    than that of independent rows: for the Gaussian kernel and m = d, by a factor
    between 3/(d + 2) for close pairs and 1 for distant pairs.

    Sampling takes O(m d²) time, applying O(n m d) time (BLAS), and the matrix O(m d)
    memory. The law must be isotropic. The first m rows of a map with 2m rows are those
    of a map with m rows.

    See Also
    --------
    SORF : A structured approximation with O(m log d) time per row.

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
    """Draw k ≤ d orthonormal columns of a uniformly random rotation, (d, k); O(d k²).

    Q of the QR decomposition of a normal matrix is uniform if the diagonal of R is
    positive.
    """
    return orthonormal(rng.normal(k, d).T)


def orthonormal(A: np.ndarray) -> np.ndarray:
    """Return the Gram-Schmidt basis of the columns of A, by a thin QR decomposition."""
    Q, R = qr(A, mode="economic", overwrite_a=True, check_finite=False)
    return Q * np.where(np.diag(R) < 0, -1.0, 1.0)


ENSEMBLES = ("gaussian", "sign")


class Orthoprojector(Projection):
    """P = √(d/p) · orthonormal rows, from i.i.d. normal or ±1 rows by a thin QR.

    E‖P u‖² = ‖u‖², and ‖P u‖²/‖u‖² has the standard deviation √(2/p · (1 − p/d)), which
    is less than without orthonormal rows. The projection has at most d rows. It is
    linear only, for `RandomProjection`.

    Sampling O(d p²), applying O(n p d), memory O(p d).

    Parameters
    ----------
    ensemble : {"gaussian", "sign"}, default "gaussian"
        Distribution of the entries before orthonormalisation: N(0, 1), or ±1 with equal
        probability.

    Raises
    ------
    ValueError
        When more rows than features are sampled.

    See Also
    --------
    Compressive : Random features of the measurements P x.

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
        raise linear_only_error(self)

    def _sample_isometry(self, n_out: int, n_in: int, rng: Stream) -> Matrix:
        check_option("Orthoprojector", "ensemble", self.ensemble, ENSEMBLES)
        if n_out > n_in:
            raise ValueError(
                f"Orthoprojector: {n_out} orthonormal rows do not fit {n_in} features; "
                f"ask for at most {n_in}, or use projection='dense'."
            )
        draw: Any = rng.normal if self.ensemble == "gaussian" else rng.signs
        columns = orthonormal(draw(n_out, n_in).T)
        # A few ±1 rows may be linearly dependent, and QR then favours the first
        # features. Shuffling treats all features alike.
        shuffled = columns[rng.child("order").permutation(n_in)]
        return Matrix(shuffled * np.sqrt(n_in / n_out))
