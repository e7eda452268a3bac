"""Rules that read a bandwidth off the data: γ of exp(−γ · distance).

The distance is ‖x − y‖² for radial kernels and ‖x − y‖₁ for the ℓ1 Laplacian; where a
rule is stated with σ², an ℓ1 kernel puts the ℓ1 distance in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ._distances import sample_distances

MEDIAN_ROWS = 2000
NEIGHBOUR_ROWS = 1000
NEIGHBOUR = 50


def scale(X: Any, metric: str) -> float:
    """1/(d · var X), scikit-learn's "scale"; O(nd)."""
    if sparse.issparse(X):
        mean = X.mean(dtype=np.float64)
        variance = X.multiply(X).mean(dtype=np.float64) - mean**2
    else:
        variance = X.var(dtype=np.float64)
    return _reciprocal(X.shape[1] * variance)


def median(X: Any, metric: str) -> float:
    """1/median distance over the pairs of at most 2000 rows."""
    D = sample_distances(X, MEDIAN_ROWS, metric)
    pairs = D[np.triu_indices_from(D, k=1)]
    middle = np.median(pairs) if pairs.size else 0.0
    if middle == 0 and pairs.any():
        # More than half of the pairs coincide: ask those that do not.
        middle = np.median(pairs[pairs > 0])
    return _reciprocal(float(middle))


def knn(X: Any, metric: str) -> float:
    """1/(2σ²), σ the mean distance to the 50th neighbour among 1000 rows."""
    return _reciprocal(2 * _neighbour_distance(X, metric))


def cnm(X: Any, metric: str) -> float:
    """2/σ² with the σ of "knn": the compact-maps paper's rule; narrow in practice."""
    return _reciprocal(0.5 * _neighbour_distance(X, metric))


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


def _reciprocal(value: float) -> float:
    """1/value, or 1 on constant data, where every bandwidth gives the same map."""
    return 1.0 / value if value > np.finfo(np.float64).tiny else 1.0
