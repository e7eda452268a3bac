"""The automatic choice of a projection, from measured cost and error."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._lazy import LazyRows
from .._random import Stream
from .._validation import check_count, check_option
from ..laws import Law
from .base import LinearMap, Projection
from .circulant import Circulant
from .costs import BUTTERFLY_NS, CSR_NS, DENSE_BYTES, DENSE_NS
from .dense import Dense
from .hadamard import SORF, padded
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
    d = X.shape[1]
    if d <= FEW_FEATURES:
        return QMC("sobol")
    large = 8 * d * n_out * n_maps > DENSE_BYTES
    if not _serves(SORF, law):
        return Circulant() if large and _serves(Circulant, law) else Dense()
    if isinstance(X, LazyRows):
        X = X.sample(SEEN_ROWS)[0]
    filled = X.nnz / max(1, X.shape[0]) if sparse.issparse(X) else d
    each = CSR_NS if sparse.issparse(X) else DENSE_NS
    product = filled * n_out * each * WORTH
    width = padded(d)
    transform = -(-n_out // width) * width * 3 * np.log2(width) * BUTTERFLY_NS
    return SORF() if large or transform < product else Dense()


def _serves(projection: type[Projection], law: Law) -> bool:
    return all(hasattr(law, capability) for capability in projection.needs)
