"""Distances between rows, in float64 and in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._core.random import Stream
from .._core.remote_rows import drawn_places
from .._core.spread import centre_of, spread_of


def distances(X: Any, Y: Any, metric: str) -> np.ndarray:
    """‖x − y‖² ("sqeuclidean") or ‖x − y‖₁ ("cityblock"), (n, n') float64.

    Float64 rows, dense or CSR (canonical). Time O(n n' d); memory of the result.
    """
    # Imported on use: sklearn.metrics would double the time of `import bochner`.
    from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances

    if metric == "cityblock":
        return manhattan_distances(X, Y)
    return euclidean_distances(X, Y, squared=True)


def sample_distances(
    X: Any, n_rows: int, metric: str, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """All distances among at most n_rows rows of X, (k, k), and the rows' weights.

    The rows depend on X's length alone, so a bandwidth is a function of the data.
    Rows of no weight are left out.
    """
    rows = drawn_places(Stream(0).child("bandwidth"), X.shape[0], n_rows, weight)
    chosen = as_float64(X[rows])
    varies = spread_of(chosen).deviation > 0
    if not sparse.issparse(chosen):
        # columns that are constant to rounding would add that rounding
        chosen = np.where(varies, chosen - centre_of(chosen), 0.0)
    D = distances(chosen, chosen, metric) * varies.any()
    np.fill_diagonal(D, 0)
    return D, np.ones(len(rows)) if weight is None else weight[rows]


def as_float64(X: Any) -> Any:
    """A float64 copy of dense or CSR rows, the CSR one canonical.

    scikit-learn's distances read duplicate entries as they stand, or sum them in place.
    """
    X = X.astype(np.float64)
    if sparse.issparse(X):
        X.sum_duplicates()
    return X


def lengths(X: Any) -> np.ndarray:
    """‖x‖ of every dense or CSR row, (n,) float64."""
    X = as_float64(X)
    is_sparse = sparse.issparse(X)
    largest = abs(X).max(axis=1)
    largest = largest.toarray().ravel() if is_sparse else largest
    # squares of very large or small numbers would over- or underflow
    size = np.maximum(largest, np.finfo(np.float64).tiny)
    factors = (1 / size)[:, None]
    scaled = X.multiply(factors).tocsr() if is_sparse else X * factors
    squares = scaled.power(2).sum(axis=1) if is_sparse else (scaled**2).sum(axis=1)
    return size * np.sqrt(np.asarray(squares).ravel())
