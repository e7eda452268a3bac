"""The automatic choice of a projection, from measured costs and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._core.random import Stream
from .._core.remote_rows import LazyRows
from .._core.validation import check_count, check_option
from ..kernels.laws import Law, Normal
from .base import (
    BUTTERFLY_NS,
    CSR_NS,
    DENSE_BYTES,
    DENSE_NS,
    Cost,
    LinearMap,
    Projection,
)
from .circulant import Circulant
from .dense import Dense
from .hadamard import SORF
from .qmc import QMC

DENSITY_ROWS = 1000
"""Rows of a Dask collection that are sampled to estimate its density."""

FEW_FEATURES = 16
"""Up to this number of features Sobol points have the smallest error, and a dense
product is not slower than a structured one."""

SORF_WORTH = 3.0
"""Number of independent frequencies with the same error as one frequency of SORF. The
error of SORF is about 0.55 of that of as many independent frequencies, whose error
falls with the square root of their number."""


class Auto(Projection):
    """Chooses a projection from the data, the law and the number of frequencies.

    With at most 16 features it chooses `QMC("sobol")`, otherwise `SORF`, `Dense` or
    `Circulant`, by measured costs and errors. The choice takes O(1) time, or O(nnz) for
    sparse rows; the cost of the map is that of the chosen projection.

    Parameters
    ----------
    spread : bool, default True
        Whether low-discrepancy points may be chosen. `for_units` sets it to False,
        because features of several projections need independent points.
    n_maps : int, default 1
        Number of maps that must fit into memory together.

    See Also
    --------
    bochner.RandomFeatures : Uses this projection by default.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFeatures
    >>> RandomFeatures(8, projection="auto").fit(np.eye(4)).projection_
    QMC(sequence='sobol')
    """

    def __init__(self, spread: bool = True, n_maps: int = 1) -> None:
        self.spread = spread
        self.n_maps = n_maps

    def for_units(self, n_maps: int) -> Auto:
        return Auto(spread=False, n_maps=n_maps)

    def resolve(self, X: Any, law: Law, n_out: int, rng: Stream) -> Projection:
        return self._choice(X, law, n_out).resolve(X, law, n_out, rng)

    def cost(
        self,
        n_out: int,
        n_in: int,
        law: Law | None = None,
        filled: float | None = None,
    ) -> Cost:
        law = Normal(1.0) if law is None else law
        projection = _choose(n_in, law, n_out, self.n_maps, filled)
        return projection.cost(n_out, n_in, law, filled)

    def drawing_numbers(self, n_out: int, n_in: int, law: Law | None = None) -> float:
        law = Normal(1.0) if law is None else law
        projection = _choose(n_in, law, n_out, self.n_maps, None)
        return projection.drawing_numbers(n_out, n_in, law)

    def _sample(self, law: Law, n_out: int, n_in: int, rng: Stream) -> LinearMap:
        rows = np.empty((0, n_in))
        return self._choice(rows, law, n_out).sample(law, n_out, n_in, rng)

    def _choice(self, X: Any, law: Law, n_out: int) -> Projection:
        check_option("Auto", "spread", self.spread, (True, False))
        check_count("Auto", "n_maps", self.n_maps)
        if not self.spread and X.shape[1] <= FEW_FEATURES:
            return Dense()
        return choose(X, law, n_out, self.n_maps)


def choose(X: Any, law: Law, n_out: int, n_maps: int = 1) -> Projection:
    """Return the best projection for this data, law and number of frequencies.

    - Up to 16 features: Sobol points. They have the smallest error there, and no
      product is cheaper than the dense one.
    - Otherwise, for a mixture of normals: SORF. Its error is about half of that of
      independent frequencies, and its cost grows with log d. `Dense` is chosen instead
      if its matrix fits into a gigabyte and, by the measured constants, a dense product
      with three times as many frequencies is cheaper. This is the case for few
      frequencies or very sparse rows.
    - Otherwise: independent frequencies, or a circulant if their matrix is too large.

    `python -m benchmarks auto` and `python -m benchmarks error` print the measurements
    behind the rule.
    """
    needs_density = X.shape[1] > FEW_FEATURES and not SORF().lacking(law)
    filled = _entries_per_row(X) if needs_density else None
    return _choose(X.shape[1], law, n_out, n_maps, filled)


def _choose(
    n_in: int, law: Law, n_out: int, n_maps: int, filled: float | None
) -> Projection:
    """`choose` for n_in features, with `filled` entries per CSR row (None: dense)."""
    if n_in <= FEW_FEATURES:
        return QMC("sobol")
    product = Dense().cost(n_out, n_in, law, filled)
    is_large = 8 * n_maps * product.numbers > DENSE_BYTES
    if SORF().lacking(law):
        return Circulant() if is_large and not Circulant().lacking(law) else Dense()
    product_ns = product.flops / 2 * (DENSE_NS if filled is None else CSR_NS)
    transform_ns = SORF().cost(n_out, n_in, law).flops * BUTTERFLY_NS
    return SORF() if is_large or transform_ns < SORF_WORTH * product_ns else Dense()


def _entries_per_row(X: Any) -> float | None:
    """Average number of stored entries in a CSR row; None for dense rows."""
    if isinstance(X, LazyRows):
        X = X.sample(DENSITY_ROWS)[0]
    return X.nnz / max(1, X.shape[0]) if sparse.issparse(X) else None
