"""Orthonormal rows for a plain linear projection."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .._random import Stream
from .._validation import check_option
from ..laws import Law
from .algebra import Matrix
from .base import LinearMap, Projection, linear_only
from .orthogonal import orthonormal

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
