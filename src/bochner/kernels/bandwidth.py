"""Rules that read a bandwidth off the data: γ of exp(−γ · distance).

The distance is ‖x − y‖² for radial kernels and ‖x − y‖₁ for the ℓ1 Laplacian; where a
rule is stated with σ², an ℓ1 kernel puts the ℓ1 distance in its place. A row of integer
weight w counts as w equal rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.remote_rows import LazyRows
from .._core.spread import spread_of
from .distances import sample_distances

MEDIAN_ROWS = 2000
NEIGHBOUR_ROWS = 1000
NEIGHBOUR = 50
ROUNDING = 1e-28
"""Square of a relative difference that float64 cannot tell from none."""

ROUNDED = 1e-12
"""Relative slack with which sums of weights are compared."""


def scale(X: Any, metric: str, weight: Any = None) -> float:
    """1/(d · var X), scikit-learn's "scale"; O(nd) time, a block of rows of memory."""
    d = X.shape[1]
    lazy = isinstance(X, LazyRows)
    mean, variance = X.spread(weight) if lazy else spread_of(X, weight).of_all
    return _reciprocal(d * variance, d * (mean * mean))


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
    return _reciprocal(middle)


def knn(X: Any, metric: str, weight: Any = None) -> float:
    """1/(2σ²), σ the mean distance to the 50th neighbour among 1000 rows."""
    return _reciprocal(2 * _neighbour_distance(X, metric, weight))


def cnm(X: Any, metric: str, weight: Any = None) -> float:
    """2/σ² with the σ of "knn": the compact-maps paper's rule; narrow in practice."""
    return _reciprocal(0.5 * _neighbour_distance(X, metric, weight))


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


def _reciprocal(value: float, size: float = 0.0) -> float:
    """1/value, or 1 on constant data, where every bandwidth gives the same map.

    Constant is what differs by no more than rounding does at this size.
    """
    tiny = np.finfo(np.float64).tiny
    return 1.0 / value if value > max(tiny, ROUNDING * size) else 1.0
