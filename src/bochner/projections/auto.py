"""The automatic choice of a projection, from measured cost and error."""

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

SEEN_ROWS = 1000
"""Rows of a Dask collection that tell how sparse the others are."""

FEW_FEATURES = 16
"""Up to here Sobol points have the lower error, and a dense product costs no more."""

WORTH = 3.0
"""Independent frequencies that one of SORF's is worth: its error is about 0.55 of
theirs, which falls with the square root of their number."""


class Auto(Projection):
    """Chooses when it sees the data; see `choose`.

    Parameters
    ----------
    spread : bool
        Whether points may be spread evenly (Sobol): see `for_units`.
    n_maps : int
        Maps that are drawn and have to fit together.
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
        chosen = _chosen(n_in, law, n_out, self.n_maps, filled)
        return chosen.cost(n_out, n_in, law, filled)

    def drawing_numbers(self, n_out: int, n_in: int, law: Law | None = None) -> float:
        law = Normal(1.0) if law is None else law
        chosen = _chosen(n_in, law, n_out, self.n_maps, None)
        return chosen.drawing_numbers(n_out, n_in, law)

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
    """The projection that serves best for this data, law and number of frequencies.

    - Up to 16 features: Sobol points. Their error is the smallest there, and the dense
      product is as cheap as anything.
    - A mixture of normals: SORF, whose error is about half that of independent
      frequencies and whose cost grows with log d, unless a product with three times as
      many of those is still cheaper by the measured constants, as it is for few
      frequencies or very sparse rows, and its matrix fits a gigabyte.
    - Otherwise: independent frequencies, or a circulant where their matrix is too
      large.

    `python -m benchmarks auto` and `python -m benchmarks error` print the measurements
    behind the rule.
    """
    asks = X.shape[1] > FEW_FEATURES and not SORF().lacking(law)
    filled = _filled(X) if asks else None
    return _chosen(X.shape[1], law, n_out, n_maps, filled)


def _chosen(
    n_in: int, law: Law, n_out: int, n_maps: int, filled: float | None
) -> Projection:
    """`choose` for rows of n_in features, `filled` of them not zero where CSR."""
    if n_in <= FEW_FEATURES:
        return QMC("sobol")
    product = Dense().cost(n_out, n_in, law, filled)
    large = 8 * n_maps * product.numbers > DENSE_BYTES
    if SORF().lacking(law):
        return Circulant() if large and not Circulant().lacking(law) else Dense()
    product_ns = product.flops / 2 * (DENSE_NS if filled is None else CSR_NS)
    transform_ns = SORF().cost(n_out, n_in, law).flops * BUTTERFLY_NS
    return SORF() if large or transform_ns < WORTH * product_ns else Dense()


def _filled(X: Any) -> float | None:
    """Entries of a CSR row, on average; None for dense rows."""
    if isinstance(X, LazyRows):
        X = X.sample(SEEN_ROWS)[0]
    return X.nnz / max(1, X.shape[0]) if sparse.issparse(X) else None
