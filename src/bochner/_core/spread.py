"""Means and spreads of columns, computed about a centre.

E[x²] − (E x)² cancels where a column lies far from zero: for a time stamp in seconds,
1.7e9, squares keep no digit of a spread of a minute. Here every difference is taken
first, from a centre that is a value of the column itself, so that a column and the same
column moved by a constant have the same spread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .random import Stream
from .validation import warn_user

BLOCK_ENTRIES = 1 << 20
"""Entries that are copied to float64 at a time."""

CENTRE_ROWS = 101
"""Rows whose median is the centre: an odd number, so that it is one of the values."""

RESOLVED_STEPS = 256
"""Steps of the floating type that a standard deviation must hold, or a fit warns."""

TOO_COARSE = r"float(32|64) is too coarse for column"
"""How the warning begins."""

RESOLUTION_ROWS = 200
"""Rows that are read for that warning."""

ROUNDING = 8
"""Deviations up to this many units of rounding are taken for none."""


def centre_of(X: np.ndarray) -> np.ndarray:
    """A point among the dense rows of X, (d,), whatever outliers are in it.

    The median of the first rows, an odd number of them: a value of every column, so
    that differences from it are as exact as the rows.
    """
    rows = X[:CENTRE_ROWS]
    return np.median(rows[: len(rows) - (len(rows) % 2 == 0)], axis=0)


@dataclass(frozen=True)
class Spread:
    """Weight, mean and Σw(x − mean)² of every column; those of parts merge."""

    weight: float
    mean: np.ndarray  # (d,)
    squares: np.ndarray  # (d,)
    largest: np.ndarray  # (d,), |x|

    @classmethod
    def of(cls, X: Any, weight: np.ndarray) -> Spread:
        """Of one block of dense or CSR rows, in float64."""
        total = float(weight.sum())
        share = weight / total if total else weight
        if sparse.issparse(X):
            return cls._of_csr(X.tocsr(), weight, share, total)
        if not X.shape[0]:
            zero = np.zeros(X.shape[1])
            return cls(total, zero, zero, zero)
        largest = np.maximum(X.max(axis=0), -X.min(axis=0)).astype(np.float64)
        origin = X[0].astype(np.float64)
        X = X - origin  # exact for values of one size, whatever that is
        shift = share @ X
        X -= shift
        squares = np.einsum("ij,ij->j", X * weight[:, None], X)
        return cls(total, origin + shift, squares, largest)

    @classmethod
    def _of_csr(
        cls, X: Any, weight: np.ndarray, share: np.ndarray, total: float
    ) -> Spread:
        """The zeros that are not stored count too."""
        X = X.astype(np.float64)
        X.sum_duplicates()
        mean = X.T @ share
        entry_weight = np.repeat(weight, np.diff(X.indptr))
        stored = np.bincount(X.indices, weights=entry_weight, minlength=X.shape[1])
        deviations = (X.data - mean[X.indices]) ** 2 * entry_weight
        squares = np.bincount(X.indices, weights=deviations, minlength=X.shape[1])
        squares = squares + np.maximum(total - stored, 0) * mean**2
        largest = abs(X).max(axis=0).toarray().ravel()
        return cls(total, mean, squares, largest)

    def merge(self, other: Spread) -> Spread:
        """Of the rows of both."""
        total = self.weight + other.weight
        if not total:
            return self
        step = other.mean - self.mean
        between = step**2 * (self.weight * other.weight / total)
        return Spread(
            total,
            self.mean + step * (other.weight / total),
            self.squares + other.squares + between,
            np.maximum(self.largest, other.largest),
        )

    @property
    def variance(self) -> np.ndarray:
        """Of every column, (d,)."""
        return self.squares / (self.weight or 1.0)

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviation of every column, 0 where it is constant to rounding."""
        deviation = np.sqrt(self.variance)
        rounding = ROUNDING * np.finfo(np.float64).eps * self.largest
        return np.where(deviation > rounding, deviation, 0.0)

    @property
    def of_all(self) -> tuple[float, float]:
        """Mean and mean squared deviation of the entries of all columns."""
        centre = self.mean[0]
        mean = float((self.mean - centre).mean())
        between = (self.mean - centre - mean) ** 2
        return float(centre + mean), float((self.variance + between).mean())


def spread_of(X: Any, weight: np.ndarray | None = None) -> Spread:
    """The spread of dense or CSR rows; O(nd) time, a block of rows of memory."""
    weight = np.ones(X.shape[0]) if weight is None else weight
    parts = [Spread.of(X[rows], weight[rows]) for rows in _blocks(X)]
    total = parts[0]
    for part in parts[1:]:
        total = total.merge(part)
    return total


def _blocks(X: Any) -> Iterator[slice]:
    n, d = X.shape
    per_row = X.nnz / max(1, n) if sparse.issparse(X) else d
    step = max(1, int(BLOCK_ENTRIES // max(1.0, per_row)))
    for start in range(0, max(n, 1), step):
        yield slice(start, start + step)


def warn_of_resolution(X: Any) -> None:
    """Warn where X's floating type has too few steps within a column's spread.

    At a distance of 1e5 deviations from zero, float32 has 83 steps within a deviation.
    """
    if sparse.issparse(X) or not X.shape[0]:
        return
    rows = X[Stream(0).child("resolution").subset(X.shape[0], RESOLUTION_ROWS)]
    spread = spread_of(rows)
    step = np.finfo(X.dtype).eps * spread.largest
    deviation = np.sqrt(spread.variance)
    coarse = np.flatnonzero((deviation > 0) & (deviation < RESOLVED_STEPS * step))
    if len(coarse):
        j = coarse[0]
        wider = ", or give float64" if X.dtype == np.float32 else ""
        warn_user(
            f"{X.dtype} is too coarse for column {j} of X: its values reach "
            f"{spread.largest[j]:.3g}, where neighbouring numbers differ by "
            f"{step[j]:.3g}, and its standard deviation is {deviation[j]:.3g} "
            f"({len(coarse)} such columns). Subtract a constant from the column before "
            f"it is converted{wider}."
        )
