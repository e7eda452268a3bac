"""Rules that read a bandwidth off the data: γ of exp(−γ · distance).

The distance is ‖x − y‖² for radial kernels and ‖x − y‖₁ for the ℓ1 Laplacian; where a
rule is stated with σ², an ℓ1 kernel puts the ℓ1 distance in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ._distances import as_float64, sample_distances

MEDIAN_ROWS = 2000
NEIGHBOUR_ROWS = 1000
NEIGHBOUR = 50
BLOCK_ENTRIES = 1 << 20
ROUNDING = 1e-28
"""Square of a relative difference that float64 cannot tell from none."""


def scale(X: Any, metric: str) -> float:
    """1/(d · var X), scikit-learn's "scale"; O(nd) time, a block of rows of memory."""
    n, d = X.shape
    if sparse.issparse(X) and not X.has_canonical_format:
        X = as_float64(X)
    stored = X.data if sparse.issparse(X) else X
    zeros = n * d - stored.size
    mean = sum(block.sum() for block in _blocks(stored)) / (n * d)
    squares = sum(((block - mean) ** 2).sum() for block in _blocks(stored))
    variance = (squares + zeros * mean**2) / (n * d)
    return _reciprocal(d * variance, d * mean**2)


def median(X: Any, metric: str) -> float:
    """1/median distance over the pairs of at most 2000 rows."""
    D = sample_distances(X, MEDIAN_ROWS, metric)
    pairs = D[np.triu_indices_from(D, k=1)]
    middle = np.median(pairs) if pairs.size else 0.0
    if middle == 0 and pairs.any():
        # More than half of the pairs coincide: ask those that do not.
        middle = np.median(pairs[pairs > 0])
    return _reciprocal(float(middle), _size(X, metric))


def knn(X: Any, metric: str) -> float:
    """1/(2σ²), σ the mean distance to the 50th neighbour among 1000 rows."""
    return _reciprocal(2 * _neighbour_distance(X, metric), _size(X, metric))


def cnm(X: Any, metric: str) -> float:
    """2/σ² with the σ of "knn": the compact-maps paper's rule; narrow in practice."""
    return _reciprocal(0.5 * _neighbour_distance(X, metric), _size(X, metric))


RULES: dict[str, Callable[[Any, str], float]] = {
    "scale": scale,
    "median": median,
    "knn": knn,
    "cnm": cnm,
}


def _neighbour_distance(X: Any, metric: str) -> float:
    """σ² (or the ℓ1 σ) from the mean distance to the 50th neighbour."""
    D = sample_distances(X, NEIGHBOUR_ROWS, metric)
    neighbour = min(NEIGHBOUR, len(D) - 1)
    nearest = np.partition(D, neighbour, axis=1)[:, neighbour]
    if metric == "cityblock":
        return float(nearest.mean())
    return float(np.sqrt(nearest).mean() ** 2)


def _blocks(X: np.ndarray) -> Iterator[np.ndarray]:
    """X, along its first axis, in float64 pieces of moderate size."""
    rows = max(1, BLOCK_ENTRIES * len(X) // max(1, X.size))
    for start in range(0, len(X), rows):
        yield X[start : start + rows].astype(np.float64)


def _size(X: Any, metric: str) -> float:
    """The distance of a typical row from the origin, beside which rounding is seen."""
    row = as_float64(X[:1])
    numbers = abs(row.data if sparse.issparse(row) else row)
    return float((numbers**2 if metric == "sqeuclidean" else numbers).sum())


def _reciprocal(value: float, size: float) -> float:
    """1/value, or 1 on constant data, where every bandwidth gives the same map.

    Constant is what differs by no more than rounding does at this size.
    """
    tiny = np.finfo(np.float64).tiny
    return 1.0 / value if value > max(tiny, ROUNDING * size) else 1.0
