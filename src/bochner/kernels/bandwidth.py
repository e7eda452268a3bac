"""Bandwidth rules: functions of the data that return γ of exp(−γ · distance).

The distance is ‖x − y‖² for radial kernels and ‖x − y‖₁ for the ℓ1 Laplacian. Where a
rule is stated with σ², ℓ1 kernels use the ℓ1 distance instead. A row of integer weight
w counts as w equal rows. All rules return 1 on constant data.
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

ROUNDING_VARIANCE = 1e-28
"""Variance, relative to the squared mean, that float64 rounding alone may cause."""

WEIGHT_TOLERANCE = 1e-12
"""Relative tolerance in comparisons of sums of weights."""


def scale(X: Any, metric: str, weight: Any = None) -> float:
    """1/(d · var X), as scikit-learn's "scale"; O(n d) time, one block of memory."""
    d = X.shape[1]
    if isinstance(X, LazyRows):
        mean, variance = X.spread(weight)
    else:
        mean, variance = spread_of(X, weight).of_all
    return _reciprocal(d * variance, d * (mean * mean))


def median(X: Any, metric: str, weight: Any = None) -> float:
    """1/(median distance) over the pairs of at most 2000 rows."""
    D, w = sample_distances(X, MEDIAN_ROWS, metric, weight)
    upper = np.triu_indices_from(D, k=1)
    # A row of weight w stands for w rows, and so for w (w − 1)/2 pairs at distance 0.
    pairs = np.append(D[upper], 0.0)
    counts = np.append((w[:, None] * w)[upper], np.maximum(w * (w - 1) / 2, 0).sum())
    middle = _weighted_median(pairs, counts)
    if middle == 0 and pairs.any():
        # More than half of the pairs coincide: take the median of the other pairs.
        middle = _weighted_median(pairs[pairs > 0], counts[pairs > 0])
    return _reciprocal(middle)


def knn(X: Any, metric: str, weight: Any = None) -> float:
    """1/(2σ²), where σ is the mean distance to the 50th neighbour among 1000 rows."""
    return _reciprocal(2 * _neighbour_distance(X, metric, weight))


def cnm(X: Any, metric: str, weight: Any = None) -> float:
    """2/σ² with the σ of `knn`: the rule of the compact-maps paper.

    Kernels with this bandwidth are narrow in practice.
    """
    return _reciprocal(0.5 * _neighbour_distance(X, metric, weight))


RULES: dict[str, Callable[..., float]] = {
    "scale": scale,
    "median": median,
    "knn": knn,
    "cnm": cnm,
}
"""Bandwidth rules by name."""


def _neighbour_distance(X: Any, metric: str, weight: Any) -> float:
    """σ² (or σ, for ℓ1 distances) from the mean distance to the 50th neighbour."""
    D, w = sample_distances(X, NEIGHBOUR_ROWS, metric, weight)
    order = np.argsort(D, axis=1, kind="stable")
    cumulative = np.cumsum(w[order], axis=1)
    # The nearest row is the row itself, which is not its own neighbour: hence the + 1.
    target = min(NEIGHBOUR + 1, w.sum())
    place = (cumulative < target * (1 - WEIGHT_TOLERANCE)).sum(axis=1)
    place = np.minimum(place, len(D) - 1)
    nearest = np.take_along_axis(D, order, axis=1)[np.arange(len(D)), place]
    if metric == "cityblock":
        return float(np.average(nearest, weights=w))
    return float(np.average(np.sqrt(nearest), weights=w) ** 2)


def _weighted_median(values: np.ndarray, counts: np.ndarray) -> float:
    """The median of the values, each repeated `count` times; 0 without any value."""
    order = np.argsort(values, kind="stable")
    values, cumulative = values[order], np.cumsum(counts[order])
    if not len(cumulative) or cumulative[-1] <= 0:
        return 0.0
    middle, last = cumulative[-1] / 2, len(values) - 1
    lower = np.searchsorted(cumulative, (1 - WEIGHT_TOLERANCE) * middle)
    upper = np.searchsorted(cumulative, (1 + WEIGHT_TOLERANCE) * middle)
    return float(values[min(lower, last)] + values[min(upper, last)]) / 2


def _reciprocal(value: float, squared_mean: float = 0.0) -> float:
    """1/value, or 1 on constant data, where every bandwidth gives the same map.

    Data counts as constant if it varies no more than rounding does at its mean.
    """
    tiny = np.finfo(np.float64).tiny
    threshold = max(tiny, ROUNDING_VARIANCE * squared_mean)
    return 1.0 / value if value > threshold else 1.0
