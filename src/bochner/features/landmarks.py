"""Rules that choose the landmarks of Nyström features.

| rule | landmarks | cost |
|---|---|---|
| `uniform` | distinct rows at random | O(n), of more than 2²⁰ rows O(m) |
| `kmeans` | means of clusters | O(n d m) |
| `rpcholesky` | rows that the others explain least | O(s m (d + m)) on s rows |
| `margin` | rows near the decision boundary of a small pilot | O(n p (d + p)) |

Rows are drawn in proportion to their weights and no row twice: repeated rows and one
row of their summed weight give the same landmarks (exactly so where n is small). Rows
that stay in a Dask collection are drawn without an array of one entry per row.
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
"""Rows up to which all are sorted, so that the choice depends on their set alone."""

DRAWN_ROWS = 50_000
"""Rows among which distinct ones are looked for, where there are more than 2²⁰."""

CHOLESKY_ROWS = 20_000
"""Rows of which randomly pivoted Cholesky keeps residuals."""

CLUSTERED_ROWS = 50_000
"""Rows that are clustered."""

PILOT = 1000
"""Landmarks of the pilot whose margins are asked for."""

PILOT_ROWS = 20_000
"""Rows the pilot is fitted on; margins are of all."""

PILOT_ALPHA = 1.0
"""Ridge penalty of the pilot, on ±1 codes."""

SCORED_ROWS = 16_384
"""Rows whose columns exist at a time."""

PILOT_RIDGE = np.finfo(np.float32).eps
"""Share of the trace that keeps equal landmarks and rounding apart."""

MARGIN_SHARE = 0.7
"""Share of landmarks from low margins: 0.5, 0.7 and 0.85 do about as well."""


@dataclass(frozen=True)
class Pool:
    """Distinct rows to choose from, each with its weight and (perhaps) its class."""

    X: Any
    index: np.ndarray | None = None  # of a representative among all rows
    weight: Any = None  # array or LazyWeights; None: one each
    y: np.ndarray | None = None  # class numbers

    def __len__(self) -> int:
        return self.X.shape[0]

    def places(self, chosen: np.ndarray) -> np.ndarray:
        """Places among all rows."""
        return chosen if self.index is None else self.index[chosen]

    def weights(self, chosen: np.ndarray) -> np.ndarray:
        return np.ones(len(chosen)) if self.weight is None else self.weight[chosen]


def pool_of(X: Any, y: np.ndarray | None, weight: Any) -> Pool:
    """Rows of positive weight; up to 4096 sorted and without repetition."""
    n = X.shape[0]
    if isinstance(X, LazyRows):  # of positive weight all
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
    """First places of the distinct rows of X, sorted, and each row's place in them."""
    order, new = _sorted_csr(X) if sparse.issparse(X) else _sorted_dense(X)
    inverse = np.empty(len(order), dtype=np.intp)
    inverse[order] = np.cumsum(new) - 1
    return order[new], inverse


def _sorted_dense(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows in order, and which of them differ from the one before."""
    order = np.lexsort(X.T[::-1])
    rows = X[order]
    return order, np.append(True, (rows[1:] != rows[:-1]).any(axis=1))


def _sorted_csr(X: Any) -> tuple[np.ndarray, np.ndarray]:
    X = X.sorted_indices()
    X.eliminate_zeros()
    keys = [
        (X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in pairwise(X.indptr)
    ]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    new = [i == 0 or keys[order[i]] != keys[order[i - 1]] for i in range(len(keys))]
    return np.array(order, dtype=np.intp), np.array(new, dtype=bool)


def uniform(pool: Pool, m: int, kernel: Any, rng: Stream) -> np.ndarray:
    """m distinct rows at random, in proportion to their weights."""
    return _distinct_first(pool.X, _race(pool, max(m, DRAWN_ROWS), rng), m)


def kmeans(pool: Pool, m: int, kernel: Any, rng: Stream) -> np.ndarray:
    """Cluster means, dense (m, d): the landmarks themselves, not their places."""
    from sklearn.cluster import MiniBatchKMeans  # heavy to import

    most = max(m, CLUSTERED_ROWS)
    rows = _race(pool, most, rng)[:most]
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
    # far from zero, scikit-learn's squared distances would cancel
    origin = np.zeros(X.shape[1]) if sparse.issparse(X) else centre_of(X)
    moved = X if sparse.issparse(X) else X - origin.astype(X.dtype)
    centres = clusters.fit(moved, sample_weight=weight).cluster_centers_ + origin
    return np.unique(centres, axis=0).astype(X.dtype)


def rp_cholesky(pool: Pool, m: int, kernel: Any, rng: Stream) -> np.ndarray:
    """Randomly pivoted Cholesky in blocks with rejection ("accelerated").

    A row is drawn in proportion to its residual k(x, x) − ‖projection on the landmarks
    so far‖², which falls to zero at every landmark.
    """
    rows = _race(pool, CHOLESKY_ROWS, rng)[:CHOLESKY_ROWS]
    # residuals fall below what float32 can tell
    X, weight = pool.X[rows].astype(np.float64), pool.weights(rows)
    m = min(m, len(rows))
    draws = rng.child("rpcholesky").generator()
    residual = _diagonal(kernel, X)
    stop = 1e-13 * residual.sum()
    F = np.empty((m, len(rows)))
    chosen: list[int] = []
    while len(chosen) < m and residual.sum() > stop:
        k = len(chosen)
        found = _accepted(kernel, X, F[:k], residual, weight, m - k, draws)
        G = columns_of(kernel, X[found])(X).T.astype(np.float64)
        G -= F[:k, found].T @ F[:k]
        factor = linalg.cholesky(
            G[:, found] + stop * np.eye(len(found)), lower=True, check_finite=False
        )
        F[k : k + len(found)] = linalg.solve_triangular(factor, G, lower=True)
        residual -= (F[k : k + len(found)] ** 2).sum(axis=0)
        np.maximum(residual, 0, out=residual)
        residual[found] = 0
        chosen += found
    # where every k(x, x) is zero, one says as much as all
    return rows[chosen or [0]]


def margin(pool: Pool, m: int, kernel: Any, rng: Stream) -> np.ndarray:
    """Rows whose class a pilot finds hardest to tell, and uniform ones for the rest.

    The pilot is ridge on ±1 codes with at most 1000 uniform landmarks; the margin is
    the score of the row's own class less the best other one, near zero in absolute
    value at the decision boundary.
    """
    if pool.y is None:
        raise ValueError(
            "Nystroem: landmarks='margin' requires y to be passed, but the target y is "
            "None; give class labels, or use 'uniform' or 'rpcholesky'."
        )
    order = _race(pool, max(m, DRAWN_ROWS), rng)
    if m >= len(pool):
        return _distinct_first(pool.X, order, m)
    pilot = _distinct_first(pool.X, order, min(PILOT, m))
    low = np.argsort(abs(_margins(pool, pilot, order, kernel)), kind="stable")
    n_low = int(MARGIN_SHARE * m)
    some = _distinct_first(pool.X, low, n_low)
    rest = order[~np.isin(order, some)]
    return _distinct_first(pool.X, np.concatenate([some, rest]), m)


LANDMARKS: dict[str, Callable[[Pool, int, Any, Stream], np.ndarray]] = {
    "uniform": uniform,
    "kmeans": kmeans,
    "rpcholesky": rp_cholesky,
    "margin": margin,
}
"""Rules by name; each returns places in the pool, or landmark rows."""


def _race(pool: Pool, k: int, rng: Stream) -> np.ndarray:
    """Places in random order, the heavier the earlier: all, or of many the first k.

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


def _distinct_first(X: Any, order: np.ndarray, m: int) -> np.ndarray:
    """The first m places in order whose rows differ, as far as there are that many."""
    kept, start = np.empty(0, dtype=order.dtype), 0
    while len(kept) < m and start < len(order):
        kept = np.concatenate([kept, order[start : start + m]])
        start += m
        first, _ = distinct(X[kept])
        kept = kept[np.sort(first)]
    return kept[:m]


def _gram(kernel: Any, X: Any) -> np.ndarray:
    return np.asarray(kernel(X, X), dtype=np.float64)


def _diagonal(kernel: Any, X: Any) -> np.ndarray:
    """k(x, x) of every row, (n,) float64."""
    if isinstance(kernel, Kernel):
        return kernel.diagonal(X)
    blocks = [X[start : start + 64] for start in range(0, X.shape[0], 64)]
    return np.concatenate([_gram(kernel, block).diagonal() for block in blocks])


def _accepted(
    kernel: Any,
    X: Any,
    F: np.ndarray,
    residual: np.ndarray,
    weight: np.ndarray,
    wanted: int,
    draws: np.random.Generator,
) -> list[int]:
    """Pivots that one-by-one sampling would have drawn, from one block of proposals.

    A proposal is accepted with the probability that what earlier ones of the block left
    of its residual has in what it was drawn with (rejection Cholesky).
    """
    p = residual * weight
    size = min(wanted, max(1, (len(F) + wanted) // 10))
    block = draws.choice(len(p), size=size, p=p / p.sum())
    H = _gram(kernel, X[block]) - F[:, block].T @ F[:, block]
    before, found = residual[block], []
    for i in range(size):
        if draws.random() * before[i] < H[i, i] and block[i] not in found:
            found.append(int(block[i]))
            column = H[:, i] / np.sqrt(H[i, i])
            H -= np.outer(column, column)
    return found


def _margins(
    pool: Pool, pilot: np.ndarray, order: np.ndarray, kernel: Any
) -> np.ndarray:
    """Own score less the best other one, of every row, by ridge on the pilot."""
    assert pool.y is not None
    columns = columns_of(kernel, pool.X[pilot])
    rows = np.sort(order[:PILOT_ROWS])
    C, w = columns(pool.X[rows]), pool.weights(rows)
    codes = np.where(pool.y[rows, None] == np.arange(pool.y.max() + 1), 1.0, -1.0)
    root = np.sqrt(w[:, None]).astype(C.dtype)
    A = C if (w == 1).all() else C * root
    G = (A.T @ A).astype(np.float64)  # one array twice: half the work
    K = _gram(kernel, pool.X[pilot])
    # the share of rows seen scales the penalty
    G += PILOT_ALPHA * len(rows) / len(pool) * K
    G[np.diag_indices_from(G)] += PILOT_RIDGE * np.trace(G)
    b = A.T @ (root * codes).astype(C.dtype)
    solved = linalg.cho_solve(linalg.cho_factor(G, check_finite=False), b)
    B, found = solved.astype(C.dtype), np.empty(len(pool), dtype=C.dtype)
    for start in range(0, len(pool), SCORED_ROWS):
        part = slice(start, start + SCORED_ROWS)
        S, y = columns(pool.X[part]) @ B, pool.y[part, None]
        own = np.take_along_axis(S, y, axis=1)[:, 0].copy()
        np.put_along_axis(S, y, -np.inf, axis=1)
        found[part] = own - S.max(axis=1)
    return found
