"""Single rows of maps that are fast only in whole blocks of rows."""

from __future__ import annotations

import numpy as np

from .algebra import Matrix, Rows
from .base import LinearMap
from .costs import DENSE_BYTES, DENSE_NS

UNIT_ROWS = 64
"""Rows of a structured map that are written out at a time."""


class BlockMap(LinearMap):
    """Blocks of rows that are computed together, the last one perhaps cut short."""

    block_rows: int
    """Rows of a block."""

    block_ns: float
    """Nanoseconds that a block takes for each row of data."""

    def blocks(self, needed: np.ndarray) -> LinearMap:
        """The map with these blocks alone, given in ascending order."""
        raise NotImplementedError

    def select(self, kept: np.ndarray) -> LinearMap:
        """Blocks with a kept row, whole, or plain rows where those are faster.

        A block costs the same however few of its rows are kept; a plain row costs one
        multiply-add for each of the n_in features.
        """
        n_in = self.shape[1]
        needed, place = np.unique(kept // self.block_rows, return_inverse=True)
        plain_ns = kept.size * n_in * DENSE_NS
        fits = 8 * kept.size * n_in <= DENSE_BYTES
        if fits and plain_ns < needed.size * self.block_ns:
            return plain_rows(self, kept)
        places = place * self.block_rows + kept % self.block_rows
        return Rows(self.blocks(needed), places)

    def rows_in(self, needed: np.ndarray) -> np.ndarray:
        """The rows of some blocks, in order."""
        rows = needed[:, None] * self.block_rows + np.arange(self.block_rows)
        return rows[rows < self.shape[0]]


def plain_rows(linear: LinearMap, kept: np.ndarray) -> Matrix:
    """W[kept] written out, (n_kept, n_in), as the adjoint of unit vectors."""
    n_out, n_in = linear.shape
    transposed = np.empty((n_in, kept.size), dtype=linear.dtype)
    for start in range(0, kept.size, UNIT_ROWS):
        part = kept[start : start + UNIT_ROWS]
        units = np.zeros((part.size, n_out), dtype=linear.dtype)
        units[np.arange(part.size), part] = 1
        transposed[:, start : start + part.size] = linear.apply_adjoint(units).T
    return Matrix(transposed)
