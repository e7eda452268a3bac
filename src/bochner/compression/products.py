"""Inner products of candidate features, seen as functions of pairs of rows.

A unit u of features contributes R_u(x, y) = Σ_a z_ua(x) z_ua(y) to the estimated
kernel. Greedy selection uses these functions only through ⟨R_u, R_v⟩, ⟨R_u, r⟩ and
‖r‖, where r is the target. The sums run over all pairs of the sampled rows
(`AllPairs`), or over a sample of pairs (`SampledPairs`).
"""

from __future__ import annotations

from functools import reduce
from operator import iadd
from typing import Any

import numpy as np

from ..features.feature_map import FeatureMap
from ..kernels.base import Kernel
from ..kernels.distances import as_float64

SAMPLE_BYTES = 4 << 30
"""Largest memory for the features and the kernel of the sampled rows or pairs."""

GRAM_COLUMNS = 512
"""Columns of products computed at a time."""

PAIRS_AT_ONCE = 128
"""Pairs whose kernel is computed at a time: the kernel function returns a square
matrix, of which only the diagonal is used."""

Index = slice | np.ndarray


class AllPairs:
    """R over all ordered pairs of s rows: ⟨R_u, R_v⟩ = Σ_ab (z_uaᵀ z_vb)².

    An inner product takes O(s) time, and no array of pairs is formed.

    Parameters
    ----------
    F : array of shape (s, n_parts · n_units)
        Features of the rows: the first parts of all units, then the second parts, ….
    K : array of shape (s, s)
        Target r.
    n_units : int
        Number of units.
    """

    def __init__(self, F: np.ndarray, K: np.ndarray, n_units: int) -> None:
        self._parts = np.split(F, F.shape[1] // n_units, axis=1)
        self.n_units = n_units
        self.norms = np.sqrt(self.squares())
        self.target = self._target(K)
        self.target_norm = float(np.linalg.norm(K))

    def products(self, units: Index, others: Index) -> np.ndarray:
        """⟨R_u, R_v⟩ for u in units and v in others."""
        products = (
            A[:, units].T @ B[:, others] for A in self._parts for B in self._parts
        )
        return reduce(iadd, (np.square(product, out=product) for product in products))

    def squares(self) -> np.ndarray:
        """‖R_u‖², (n_units,)."""
        pairs = [(A, B) for A in self._parts for B in self._parts]
        return np.sum([np.einsum("iu,iu->u", A, B) ** 2 for A, B in pairs], axis=0)

    def _target(self, K: np.ndarray) -> np.ndarray:
        """⟨R_u, K⟩ = Σ_a z_uaᵀ K z_ua, (n_units,)."""
        target = np.zeros(self.n_units)
        for start in range(0, self.n_units, GRAM_COLUMNS):
            block = slice(start, start + GRAM_COLUMNS)
            for A in self._parts:
                target[block] += np.einsum("iu,iu->u", A[:, block], K @ A[:, block])
        return target


class SampledPairs:
    """R over S sampled pairs of rows, as in the paper.

    Parameters
    ----------
    R : array of shape (S, n_units)
        R_u of every pair, held in memory.
    r : array of shape (S,)
        Target of every pair.
    """

    def __init__(self, R: np.ndarray, r: np.ndarray) -> None:
        self._R = R
        self.n_units = R.shape[1]
        self.norms = np.sqrt(np.einsum("su,su->u", R, R))
        self.target = r @ R
        self.target_norm = float(np.linalg.norm(r))

    def products(self, units: Index, others: Index) -> np.ndarray:
        """⟨R_u, R_v⟩ for u in units and v in others."""
        return self._R[:, units].T @ self._R[:, others]


Pairs = AllPairs | SampledPairs


def gram(pairs: Pairs) -> np.ndarray:
    """⟨R_u, R_v⟩ of all units, (n_units, n_units), from its lower triangle."""
    G = np.empty((pairs.n_units, pairs.n_units))
    for start in range(0, pairs.n_units, GRAM_COLUMNS):
        block = slice(start, start + GRAM_COLUMNS)
        below = pairs.products(slice(start, None), block)
        G[start:, block] = below
        G[block, start:] = below.T
    return G


def all_pairs(
    candidates: FeatureMap, X: Any, weight: np.ndarray, kernel: Kernel | None
) -> AllPairs:
    """Compute the features and the target of all pairs of the rows X.

    The target is the kernel, or the estimate from all candidates if kernel is None. The
    weight of a pair is the product of the weights of its rows.
    """
    root = np.sqrt(weight)[:, None]
    rows = as_float64(X)
    F = candidates(rows)
    F *= root
    K = F @ F.T if kernel is None else kernel(rows) * (root * root.T)
    return AllPairs(F, K, candidates.nonlinearity.n_units)


def sampled_pairs(
    candidates: FeatureMap,
    X: Any,
    places: tuple[np.ndarray, np.ndarray],
    weight: np.ndarray,
    kernel: Kernel | None,
) -> SampledPairs:
    """Compute R and the target of the pairs (X[places[0]], X[places[1]]).

    The target is as in `all_pairs`; `weight` holds one weight per pair.
    """
    n_units, n_pairs = candidates.nonlinearity.n_units, len(weight)
    R, r = np.empty((n_pairs, n_units)), np.empty(n_pairs)
    for start in range(0, n_pairs, PAIRS_AT_ONCE):
        block = slice(start, start + PAIRS_AT_ONCE)
        first, second = (as_float64(X[p[block]]) for p in places)
        product = candidates(first) * candidates(second)
        R[block] = sum(np.split(product, product.shape[1] // n_units, axis=1))
        if kernel is None:
            r[block] = R[block].sum(axis=1)
        else:
            r[block] = np.diagonal(kernel(first, second))
    root = np.sqrt(weight)
    R *= root[:, None]
    return SampledPairs(R, r * root)
