"""Distances between rows, and lengths of rows, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._core.random import Stream
from .._core.remote_rows import drawn_places
from .._core.spread import centre_of, spread_of


def distances(X: Any, Y: Any, metric: str) -> np.ndarray:
    """‖x − y‖² ("sqeuclidean") or ‖x − y‖₁ ("cityblock"), (n, n') float64.

    Takes float64 rows, dense or canonical CSR. Time O(n n' d); memory of the result.
    """
    # Imported on use: sklearn.metrics would double the time of `import bochner`.
    from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances

    if metric == "cityblock":
        return manhattan_distances(X, Y)
    return euclidean_distances(X, Y, squared=True)


def sample_distances(
    X: Any, n_rows: int, metric: str, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """All distances among k ≤ n_rows sampled rows of X, (k, k), and their weights.

    Which rows are sampled depends on the number of rows and the weights alone, so that
    a bandwidth is a function of the data. Rows of weight zero are left out.
    """
    places = drawn_places(Stream(0).child("bandwidth"), X.shape[0], n_rows, weight)
    rows = as_float64(X[places])
    varies = spread_of(rows).deviation > 0
    if not sparse.issparse(rows):
        # Columns that are constant up to rounding would add their rounding errors.
        rows = np.where(varies, rows - centre_of(rows), 0.0)
    D = distances(rows, rows, metric) * varies.any()
    np.fill_diagonal(D, 0)
    return D, np.ones(len(places)) if weight is None else weight[places]


def as_float64(X: Any) -> Any:
    """A float64 copy of dense or CSR rows; the CSR copy is canonical.

    scikit-learn's distances either ignore duplicate CSR entries or sum them in place.
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
    # Squares of very large or very small numbers would overflow or underflow.
    size = np.maximum(largest, np.finfo(np.float64).tiny)
    factors = (1 / size)[:, None]
    scaled = X.multiply(factors).tocsr() if is_sparse else X * factors
    squares = scaled.power(2).sum(axis=1) if is_sparse else (scaled**2).sum(axis=1)
    return size * np.sqrt(np.asarray(squares).ravel())
