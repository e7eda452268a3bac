"""Rows of features in chunks, and the two products that learners make with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from .._core.parallel import for_row_blocks

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


T = TypeVar("T")

STRIPS = 8
"""Parts of a chunk with a sum of their own: the result does not depend on threads."""

STRIP_ROWS = 256
"""Rows multiplied at a time: they stay in the cache for the second product."""


class Chunk(NamedTuple):
    """Feature rows with their targets and weights."""

    F: Any  # (b, M) array or CSR matrix
    y: np.ndarray  # (b,) class numbers or (b, K) targets
    weight: np.ndarray | None  # (b,)


class Rows(Protocol):
    """Feature rows F · mixing (None: F itself) that can be walked again and again.

    Coefficients have one row per feature and, behind them, one for the intercept where
    there is one.
    """

    @property
    def n_rows(self) -> int: ...

    @property
    def n_columns(self) -> int: ...

    @property
    def dtype(self) -> np.dtype: ...

    @property
    def mixing(self) -> np.ndarray | None: ...

    def chunks(self) -> Iterator[Chunk]:
        """The rows once, in the same chunks every time."""
        ...

    def differentiate(self, loss: Any, B: np.ndarray) -> Any:
        """A pass: the `passes.Derivative` of Σ loss at B, (M or M + 1, K)."""
        ...

    def values_along(self, loss: Any, both: np.ndarray) -> np.ndarray:
        """A pass: Σ loss at B + t D for all step lengths t, `both` being [B, D]."""
        ...

    def fold(self, start: Callable[[int], T], add: Callable[[T, Chunk], None]) -> T:
        """A pass: what `add` makes of all chunks, from what `start` gives.

        `start` takes the place of a first row: where rows are in several places at
        once, each has a total of its own, and totals are merged by their `merge`.
        """
        ...

    def sample(self, n_rows: int) -> Rows:
        """About n_rows of the rows at random, kept in memory."""
        ...

    def narrowed(self, masks: list[np.ndarray]) -> Rows | None:
        """The rows that the masks (one per chunk) let through, kept in memory.

        None where they do not fit there, or nothing would be gained.
        """
        ...


def mixed(F: Any, mixing: np.ndarray | None) -> Any:
    """F · mixing, which is upper triangular: half the work of a full product."""
    if mixing is None:
        return F
    trmm = blas.strmm if F.dtype == np.float32 else blas.dtrmm
    # in Fortran's order: mixingᵀ Fᵀ
    return trmm(1.0, mixing.T, F.T, lower=1).T


def scores(F: Any, B: np.ndarray) -> np.ndarray:
    """F B plus the intercept row that B may carry behind its others, (b, K)."""
    m = F.shape[1]
    S = multiply(F, B[:m]) if isinstance(F, np.ndarray) else F @ B[:m].astype(F.dtype)
    S += B[m:].sum(axis=0).astype(F.dtype)
    return S


def multiply(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B for few columns of B, on all cores, in A's floating type."""
    B = B.astype(A.dtype)
    out = np.empty((len(A), B.shape[1]), dtype=A.dtype)

    def step(rows: slice) -> None:
        np.matmul(A[rows], B, out=out[rows])

    for_row_blocks(lambda: step, len(A), STRIP_ROWS, A.shape[1])
    return out


def reduce_rows(
    F: Any, B: np.ndarray, step: Callable[[slice, np.ndarray], np.ndarray | None]
) -> np.ndarray:
    """Σ over blocks of Fᵀ step(rows, F B), (len(B), K) float64, F read once.

    `step` may return None where only its side effects are wanted. O(b M K) time.
    """
    n, m = F.shape
    total = np.zeros((STRIPS, *B.shape))
    inner, constant = B[:m].astype(F.dtype), B[m:].sum(axis=0).astype(F.dtype)
    strip = -(-n // STRIPS)

    def run(strips: slice) -> None:
        for s in range(strips.start, strips.stop):
            for start in range(s * strip, min((s + 1) * strip, n), STRIP_ROWS):
                stop = min(start + STRIP_ROWS, (s + 1) * strip, n)
                block = F[start:stop]
                S = block @ inner
                S += constant
                U = step(slice(start, stop), S)
                if U is not None:
                    total[s, :m] += block.T @ U
                    total[s, m:] += U.sum(axis=0, dtype=np.float64)

    for_row_blocks(lambda: run, STRIPS, 1, strip * m)
    return total.sum(axis=0)
