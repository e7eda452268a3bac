"""A sample of rows that does not depend on how their stream is cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

ROWS = 4096
"""Rows kept: all of small data, and enough of large data to choose a penalty by."""

FEW_ROWS = 1024
"""Rows kept where the penalty is given, and only noise and scores are judged."""


@dataclass
class RowSample:
    """The rows with the smallest keys, a key being a hash of the row's place.

    Whatever the blocks, the same places are kept. `seen` is the place of the next row,
    `size` how many rows are kept. Memory O(size · M).
    """

    seen: int = 0
    keys: np.ndarray | None = None
    F: np.ndarray | None = None  # (s, M)
    T: np.ndarray | None = None  # (s, K)
    weight: np.ndarray | None = None  # (s,)
    size: int = ROWS

    def add(self, F: Any, T: np.ndarray, weight: np.ndarray | None) -> None:
        """Take in rows F (b, M) with targets T (b, K)."""
        n = F.shape[0]
        keys = hashed_places(np.arange(self.seen, self.seen + n, dtype=np.uint64))
        self.seen += n
        low = np.arange(n)
        if self.keys is not None and len(self.keys) == self.size:
            low = np.flatnonzero(keys < self.keys.max())
        rows = F[low].toarray() if sparse.issparse(F) else F[low]
        w = np.ones(len(low)) if weight is None else weight[low]
        self._join(keys[low], rows, T[low], w)

    def merge(self, other: RowSample) -> None:
        """Take in what another has kept, of rows at other places."""
        self.seen = max(self.seen, other.seen)
        if other.keys is not None:
            self._join(other.keys, other.F, other.T, other.weight)

    def _join(self, keys: np.ndarray, F: Any, T: Any, w: Any) -> None:
        if self.keys is not None:
            keys = np.concatenate([self.keys, keys])
            F, T = np.concatenate([self.F, F]), np.concatenate([self.T, T])
            w = np.concatenate([self.weight, w])
        # in the order of their keys, whatever the order they came in
        kept = np.argsort(keys, kind="stable")[: self.size]
        self.keys, self.F, self.T, self.weight = keys[kept], F[kept], T[kept], w[kept]


def hashed_places(places: np.ndarray) -> np.ndarray:
    """Scattered 64-bit numbers, one per place (SplitMix64)."""
    with np.errstate(over="ignore"):
        z = (places + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
