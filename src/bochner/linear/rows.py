"""Rows of features in chunks, and the two products that learners make with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from scipy.linalg import blas

from .._threads import for_row_blocks

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
