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
        plain_ns = kept.size * n_in * DENSE_NS
        blocks_ns = np.unique(kept // self.block_rows).size * self.block_ns
        fits = 8 * kept.size * n_in <= DENSE_BYTES
        if fits and plain_ns < blocks_ns:
            return plain_rows(self, kept)
        return whole_blocks(self, kept)

    def rows_in(self, needed: np.ndarray) -> np.ndarray:
        """The rows of some blocks, in order."""
        rows = needed[:, None] * self.block_rows + np.arange(self.block_rows)
        return rows[rows < self.shape[0]]


def whole_blocks(linear: BlockMap, kept: np.ndarray) -> Rows:
    """W[kept] by the blocks of W that have a kept row."""
    needed, place = np.unique(kept // linear.block_rows, return_inverse=True)
    places = place * linear.block_rows + kept % linear.block_rows
    return Rows(linear.blocks(needed), places)


def plain_rows(linear: BlockMap, kept: np.ndarray) -> Matrix:
    """W[kept] written out, (n_kept, n_in): each block's adjoint of unit vectors."""
    transposed = np.empty((linear.shape[1], kept.size), dtype=linear.dtype)
    blocks = kept // linear.block_rows
    for number in np.unique(blocks):
        block = linear.blocks(np.array([number]))
        own = np.flatnonzero(blocks == number)
        for start in range(0, own.size, UNIT_ROWS):
            part = own[start : start + UNIT_ROWS]
            units = np.zeros((part.size, block.shape[0]), dtype=linear.dtype)
            units[np.arange(part.size), kept[part] % linear.block_rows] = 1
            transposed[:, part] = block.apply_adjoint(units).T
    return Matrix(transposed)
