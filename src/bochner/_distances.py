"""Distances between rows, in float64 and in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._random import Stream


def distances(X: Any, Y: Any, metric: str) -> np.ndarray:
    """‖x − y‖² ("sqeuclidean") or ‖x − y‖₁ ("cityblock"), (n, n') float64.

    Dense or CSR rows. Time O(n n' d); memory of the result and of float64 copies.
    """
    # Imported on use: sklearn.metrics would double the time of `import bochner`.
    from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances

    X, Y = X.astype(np.float64, copy=False), Y.astype(np.float64, copy=False)
    if metric == "cityblock":
        return manhattan_distances(X, Y)
    return euclidean_distances(X, Y, squared=True)


def sample_distances(X: Any, n_rows: int, metric: str) -> np.ndarray:
    """All distances among at most n_rows rows of X, (k, k), zero on the diagonal.

    The rows depend on X's length alone, so a bandwidth is a function of the data.
    """
    rows = Stream(0).child("bandwidth").subset(X.shape[0], n_rows)
    D = distances(X[rows], X[rows], metric)
    np.fill_diagonal(D, 0)
    return D
