"""Rules that read a bandwidth off the data: γ of exp(−γ · distance).

The distance is ‖x − y‖² for radial kernels and ‖x − y‖₁ for the ℓ1 Laplacian; where a
rule is stated with σ², an ℓ1 kernel puts the ℓ1 distance in its place. A row of integer
weight w counts as w equal rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ._distances import as_float64, sample_distances
from ._lazy import LazyRows

MEDIAN_ROWS = 2000
NEIGHBOUR_ROWS = 1000
NEIGHBOUR = 50
BLOCK_ENTRIES = 1 << 20
ROUNDING = 1e-28
"""Square of a relative difference that float64 cannot tell from none."""

ROUNDED = 1e-12
"""Relative slack with which sums of weights are compared."""


def scale(X: Any, metric: str, weight: Any = None) -> float:
    """1/(d · var X), scikit-learn's "scale"; O(nd) time, a block of rows of memory."""
    n, d = X.shape
    if isinstance(X, LazyRows):
        mean, variance = X.spread(weight)
        return _reciprocal(d * variance, d * mean**2)
    if sparse.issparse(X) and not X.has_canonical_format:
        X = as_float64(X)
    w = np.ones(n) if weight is None else weight
    size = d * w.sum()
    mean = sum(v @ part.sum(axis=1) for part, v, _ in _blocks(X, w)) / size
    squares = 0.0
    for part, v, zeros in _blocks(X, w):
        squares += v @ (((part - mean) ** 2).sum(axis=1) + zeros * mean**2)
    return _reciprocal(d * squares / size, d * mean**2)


def median(X: Any, metric: str, weight: Any = None) -> float:
    """1/median distance over the pairs of at most 2000 rows."""
    D, w = sample_distances(X, MEDIAN_ROWS, metric, weight)
    upper = np.triu_indices_from(D, k=1)
    # a row of weight w stands for w rows: w (w − 1)/2 pairs at distance zero
    pairs = np.append(D[upper], 0.0)
    counts = np.append((w[:, None] * w)[upper], np.maximum(w * (w - 1) / 2, 0).sum())
    middle = _weighted_median(pairs, counts)
    if middle == 0 and pairs.any():
        # More than half of the pairs coincide: ask those that do not.
        middle = _weighted_median(pairs[pairs > 0], counts[pairs > 0])
    return _reciprocal(middle, _size(X, metric))


def knn(X: Any, metric: str, weight: Any = None) -> float:
    """1/(2σ²), σ the mean distance to the 50th neighbour among 1000 rows."""
    return _reciprocal(2 * _neighbour_distance(X, metric, weight), _size(X, metric))


def cnm(X: Any, metric: str, weight: Any = None) -> float:
    """2/σ² with the σ of "knn": the compact-maps paper's rule; narrow in practice."""
    return _reciprocal(0.5 * _neighbour_distance(X, metric, weight), _size(X, metric))


RULES: dict[str, Callable[..., float]] = {
    "scale": scale,
    "median": median,
    "knn": knn,
    "cnm": cnm,
}


def _neighbour_distance(X: Any, metric: str, weight: Any) -> float:
    """σ² (or the ℓ1 σ) from the mean distance to the 50th neighbour."""
    D, w = sample_distances(X, NEIGHBOUR_ROWS, metric, weight)
    order = np.argsort(D, axis=1, kind="stable")
    reached = np.cumsum(w[order], axis=1)
    # the row itself is the first of the rows it stands for, and nobody's neighbour
    wanted = min(NEIGHBOUR + 1, w.sum())
    place = (reached < wanted * (1 - ROUNDED)).sum(axis=1)
    place = np.minimum(place, len(D) - 1)
    nearest = np.take_along_axis(D, order, axis=1)[np.arange(len(D)), place]
    if metric == "cityblock":
        return float(np.average(nearest, weights=w))
    return float(np.average(np.sqrt(nearest), weights=w) ** 2)


def _weighted_median(values: np.ndarray, counts: np.ndarray) -> float:
    """The median of values that each stand for a count, as of the repeated values."""
    order = np.argsort(values, kind="stable")
    values, reached = values[order], np.cumsum(counts[order])
    if not len(reached) or reached[-1] <= 0:
        return 0.0
    half = reached[-1] / 2
    lower, upper = (1 - ROUNDED) * half, (1 + ROUNDED) * half
    last = len(values) - 1
    left = values[min(np.searchsorted(reached, lower), last)]
    return float(left + values[min(np.searchsorted(reached, upper), last)]) / 2


def _blocks(X: Any, weight: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, Any]]:
    """Pieces of X in float64 with their weights and how many zeros each leaves out."""
    n, d = X.shape
    if sparse.issparse(X):
        per_row = np.repeat(weight, np.diff(X.indptr))
        for start in range(0, X.data.size, BLOCK_ENTRIES):
            part = slice(start, start + BLOCK_ENTRIES)
            yield X.data[part, None].astype(np.float64), per_row[part], 0.0
        yield np.empty((n, 0)), weight, d - np.diff(X.indptr)
        return
    rows = max(1, BLOCK_ENTRIES // max(1, d))
    for start in range(0, n, rows):
        part = slice(start, start + rows)
        yield X[part].astype(np.float64), weight[part], 0.0


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
