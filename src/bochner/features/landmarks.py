"""Rules that choose the landmarks of Nyström features.

| rule | landmarks | cost |
|---|---|---|
| `uniform` | random distinct rows | O(n); O(m) for more than 2²⁰ rows |
| `kmeans` | cluster means | O(n d m) |
| `rpcholesky` | rows that other landmarks explain least | O(s m (d + m)) on s rows |
| `margin` | rows near the decision boundary of a pilot model | O(n p (d + p)) |

n is the number of rows, d of features, m of landmarks, and p the number of landmarks of
the pilot model.

Rows are drawn in proportion to their weights, and no row is drawn twice: repeated rows
give the same landmarks as one row with the sum of their weights (exactly so if n is
small). Rows of a Dask collection are drawn without an array of one entry per row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import linalg, sparse

from .._core.random import PERMUTED, Stream, earliest
from .._core.remote_rows import LazyRows, LazyWeights
from .._core.spread import centre_of
from ..kernels.base import Kernel
from .kernel_columns import columns_of

SORTED_ROWS = 4096
"""Largest number of rows that are sorted, so that their order has no influence."""

DRAWN_ROWS = 50_000
"""Rows that are drawn to find distinct ones, if there are more than 2²⁰ rows."""

CHOLESKY_ROWS = 20_000
"""Largest number of rows on which randomly pivoted Cholesky runs."""

CLUSTERED_ROWS = 50_000
"""Largest number of rows that are clustered."""

PILOT = 1000
"""Largest number of landmarks of the pilot model."""

PILOT_ROWS = 20_000
"""Rows that the pilot model is fitted on; it scores all rows."""

PILOT_ALPHA = 1.0
"""Ridge penalty of the pilot model, for targets ±1."""

SCORED_ROWS = 16_384
"""Rows whose kernel columns are in memory at a time."""

PILOT_RIDGE = np.finfo(np.float32).eps
"""Share of the trace that is added to the diagonal: landmarks may be equal."""

MARGIN_SHARE = 0.7
"""Share of landmarks with low margins: 0.5, 0.7 and 0.85 are about equally good."""


@dataclass(frozen=True)
class Pool:
    """The rows that landmarks are chosen from, with their weights and classes."""

    X: Any
    index: np.ndarray | None = None  # of each row in X of `fit`; None: the same order
    weight: Any = None  # array or LazyWeights; None: all 1
    y: np.ndarray | None = None  # class numbers

    def __len__(self) -> int:
        return self.X.shape[0]

    def places(self, chosen: np.ndarray) -> np.ndarray:
        """Indices in X of `fit` of rows of the pool."""
        return chosen if self.index is None else self.index[chosen]

    def weights(self, chosen: np.ndarray) -> np.ndarray:
        """Weights of rows of the pool."""
        return np.ones(len(chosen)) if self.weight is None else self.weight[chosen]


def pool_of(X: Any, y: np.ndarray | None, weight: Any) -> Pool:
    """The rows of positive weight; up to 4096 rows are sorted and made distinct."""
    n = X.shape[0]
    if isinstance(X, LazyRows):  # they hold rows of positive weight only
        if n > SORTED_ROWS:
            return Pool(X, weight=weight)
        X, weight = X[:], None if weight is None else weight[:]
    index = np.arange(n) if weight is None else np.flatnonzero(weight > 0)
    if len(index) > SORTED_ROWS:
        if len(index) == n:
            return Pool(X, None, weight, y)
        return Pool(X[index], index, weight[index], None if y is None else y[index])
    first, inverse = distinct(X[index])
    summed = np.bincount(inverse, weights=None if weight is None else weight[index])
    index = index[first]
    summed = summed.astype(np.float64)
    return Pool(X[index], index, summed, None if y is None else y[index])


def distinct(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the distinct rows of X in sorted order, and of each row among them."""
    order, new = _sorted_csr(X) if sparse.issparse(X) else _sorted_dense(X)
    inverse = np.empty(len(order), dtype=np.intp)
    inverse[order] = np.cumsum(new) - 1
    return order[new], inverse


def _sorted_dense(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted order of the rows, and whether each differs from the row before it."""
    order = np.lexsort(X.T[::-1])
    rows = X[order]
    return order, np.append(True, (rows[1:] != rows[:-1]).any(axis=1))


def _sorted_csr(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """As `_sorted_dense`, in some order of the bytes of the rows."""
    X = X.sorted_indices()
    X.eliminate_zeros()
    keys = [
        (X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in pairwise(X.indptr)
    ]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    new = [i == 0 or keys[order[i]] != keys[order[i - 1]] for i in range(len(keys))]
    return np.array(order, dtype=np.intp), np.array(new, dtype=bool)


def uniform(pool: Pool, m: int, kernel: Any, rng: Stream) -> np.ndarray:
    """m random distinct rows, in proportion to their weights."""
    order = _weighted_order(pool, max(m, DRAWN_ROWS), rng)
    return _first_distinct(pool.X, order, m)


def kmeans(pool: Pool, m: int, kernel: Any, rng: Stream) -> np.ndarray:
    """Cluster means, dense (m, d): landmark rows instead of indices."""
    from sklearn.cluster import MiniBatchKMeans  # heavy to import

    n_rows = max(m, CLUSTERED_ROWS)
    rows = _weighted_order(pool, n_rows, rng)[:n_rows]
    X, weight = pool.X[rows], pool.weights(rows)
    if m >= len(rows):
        return X.toarray() if sparse.issparse(X) else X
    clusters = MiniBatchKMeans(
        m,
        init="random",
        n_init=1,
        batch_size=max(1024, m),
        max_iter=20,
        random_state=int(rng.child("kmeans").words(1)[0] >> np.uint64(33)),
    )
    # far from the origin, scikit-learn's squared distances would cancel
    origin = np.zeros(X.shape[1]) if sparse.issparse(X) else centre_of(X)
    centred = X if sparse.issparse(X) else X - origin.astype(X.dtype)
    centres = clusters.fit(centred, sample_weight=weight).cluster_centers_ + origin
    return np.unique(centres, axis=0).astype(X.dtype)


def rp_cholesky(pool: Pool, m: int, kernel: Any, rng: Stream) -> np.ndarray:
    """Randomly pivoted Cholesky in blocks with rejection ("accelerated").

    A row is drawn in proportion to its residual k(x, x) − ‖projection on the current
    landmarks‖², which is zero at every landmark.

    References
    ----------
    Y. Chen, E. Epperly, J. Tropp and R. Webber, Randomly pivoted Cholesky, CPAM 2025.
    E. Epperly et al., Embrace rejection, 2024.
    """
    rows = _weighted_order(pool, CHOLESKY_ROWS, rng)[:CHOLESKY_ROWS]
    # float64, because residuals fall below the precision of float32
    X, weight = pool.X[rows].astype(np.float64), pool.weights(rows)
    m = min(m, len(rows))
    draws = rng.child("rpcholesky").generator()
    residual = _diagonal(kernel, X)
    stop = 1e-13 * residual.sum()
    F = np.empty((m, len(rows)))
    chosen: list[int] = []
    while len(chosen) < m and residual.sum() > stop:
        k = len(chosen)
        pivots = _draw_pivots(kernel, X, F[:k], residual, weight, m - k, draws)
        G = columns_of(kernel, X[pivots])(X).T.astype(np.float64)
        G -= F[:k, pivots].T @ F[:k]
        factor = linalg.cholesky(
            G[:, pivots] + stop * np.eye(len(pivots)), lower=True, check_finite=False
        )
        F[k : k + len(pivots)] = linalg.solve_triangular(factor, G, lower=True)
        residual -= (F[k : k + len(pivots)] ** 2).sum(axis=0)
        np.maximum(residual, 0, out=residual)
        residual[pivots] = 0
        chosen += pivots
    # if every k(x, x) is zero, any row will do
    return rows[chosen or [0]]


def margin(pool: Pool, m: int, kernel: Any, rng: Stream) -> np.ndarray:
    """Rows near the decision boundary of a pilot model, and uniformly drawn rows.

    The pilot model is ridge regression on targets ±1, with at most 1000 uniform
    landmarks. The margin of a row is the score of its class minus the best score of
    another class, and is near zero at the decision boundary.
    """
    if pool.y is None:
        raise ValueError(
            "Nystroem: landmarks='margin' requires y to be passed, but the target y is "
            "None; pass class labels, or use 'uniform' or 'rpcholesky'."
        )
    order = _weighted_order(pool, max(m, DRAWN_ROWS), rng)
    if m >= len(pool):
        return _first_distinct(pool.X, order, m)
    pilot = _first_distinct(pool.X, order, min(PILOT, m))
    by_margin = np.argsort(abs(_margins(pool, pilot, order, kernel)), kind="stable")
    near = _first_distinct(pool.X, by_margin, int(MARGIN_SHARE * m))
    rest = order[~np.isin(order, near)]
    return _first_distinct(pool.X, np.concatenate([near, rest]), m)


LANDMARKS: dict[str, Callable[[Pool, int, Any, Stream], np.ndarray]] = {
    "uniform": uniform,
    "kmeans": kmeans,
    "rpcholesky": rp_cholesky,
    "margin": margin,
}
"""Rules by name; each returns indices of rows of the pool, or landmark rows."""


def _weighted_order(pool: Pool, k: int, rng: Stream) -> np.ndarray:
    """Indices of the pool in random order; of a large pool, at least the first k.

    The first m are m draws without replacement in proportion to the weights.
    """
    n, draws = len(pool), rng.child("race")
    k = n if n <= PERMUTED else min(n, k)
    if isinstance(pool.weight, LazyWeights):
        return pool.weight.race(draws, k)
    if pool.weight is None and k < n:
        return draws.permutation(n, k)
    weight = np.ones(n) if pool.weight is None else pool.weight
    return earliest(draws.arrivals(weight), k)


def _first_distinct(X: Any, order: np.ndarray, m: int) -> np.ndarray:
    """The first m indices in `order` whose rows differ, or all if there are fewer."""
    kept, start = np.empty(0, dtype=order.dtype), 0
    while len(kept) < m and start < len(order):
        kept = np.concatenate([kept, order[start : start + m]])
        start += m
        first, _ = distinct(X[kept])
        kept = kept[np.sort(first)]
    return kept[:m]


def _gram(kernel: Any, X: Any) -> np.ndarray:
    """k(X, X) in float64."""
    return np.asarray(kernel(X, X), dtype=np.float64)


def _diagonal(kernel: Any, X: Any) -> np.ndarray:
    """k(x, x) of every row, (n,) float64."""
    if isinstance(kernel, Kernel):
        return kernel.diagonal(X)
    blocks = [X[start : start + 64] for start in range(0, X.shape[0], 64)]
    return np.concatenate([_gram(kernel, block).diagonal() for block in blocks])


def _draw_pivots(
    kernel: Any,
    X: Any,
    F: np.ndarray,
    residual: np.ndarray,
    weight: np.ndarray,
    n_pivots: int,
    draws: np.random.Generator,
) -> list[int]:
    """At most n_pivots pivots, distributed as if they were drawn one by one.

    A block of proposals is drawn with the current residuals. A proposal is accepted
    with probability (its residual after the accepted pivots of the block) / (its
    residual when it was drawn): rejection Cholesky.
    """
    p = residual * weight
    size = min(n_pivots, max(1, (len(F) + n_pivots) // 10))
    block = draws.choice(len(p), size=size, p=p / p.sum())
    H = _gram(kernel, X[block]) - F[:, block].T @ F[:, block]
    before = residual[block]
    pivots: list[int] = []
    for i in range(size):
        if draws.random() * before[i] < H[i, i] and block[i] not in pivots:
            pivots.append(int(block[i]))
            column = H[:, i] / np.sqrt(H[i, i])
            H -= np.outer(column, column)
    return pivots


def _margins(
    pool: Pool, pilot: np.ndarray, order: np.ndarray, kernel: Any
) -> np.ndarray:
    """Margins of all rows of the pool, from ridge regression on pilot landmarks."""
    assert pool.y is not None
    columns = columns_of(kernel, pool.X[pilot])
    rows = np.sort(order[:PILOT_ROWS])
    C, w = columns(pool.X[rows]), pool.weights(rows)
    codes = np.where(pool.y[rows, None] == np.arange(pool.y.max() + 1), 1.0, -1.0)
    root = np.sqrt(w[:, None]).astype(C.dtype)
    A = C if (w == 1).all() else C * root
    G = (A.T @ A).astype(np.float64)  # BLAS computes half of AᵀA
    K = _gram(kernel, pool.X[pilot])
    # the penalty shrinks with the share of rows in the fit
    G += PILOT_ALPHA * len(rows) / len(pool) * K
    G[np.diag_indices_from(G)] += PILOT_RIDGE * np.trace(G)
    b = A.T @ (root * codes).astype(C.dtype)
    B = linalg.cho_solve(linalg.cho_factor(G, check_finite=False), b).astype(C.dtype)
    margins = np.empty(len(pool), dtype=C.dtype)
    for start in range(0, len(pool), SCORED_ROWS):
        part = slice(start, start + SCORED_ROWS)
        S, y = columns(pool.X[part]) @ B, pool.y[part, None]
        own_score = np.take_along_axis(S, y, axis=1)[:, 0].copy()
        np.put_along_axis(S, y, -np.inf, axis=1)
        margins[part] = own_score - S.max(axis=1)
    return margins
