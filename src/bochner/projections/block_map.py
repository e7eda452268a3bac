"""Maps of blocks of rows, and the choice between blocks and a matrix for some rows."""

from __future__ import annotations

import numpy as np

from .algebra import Matrix, Rows
from .base import DENSE_BYTES, DENSE_NS, LinearMap

UNIT_ROWS = 64
"""Rows of a structured map that are converted to a dense matrix at a time."""


class BlockMap(LinearMap):
    """A map whose rows are computed in blocks; the last block may be incomplete."""

    block_rows: int
    """Number of rows in a complete block."""

    block_ns: float
    """Nanoseconds per block and row of data."""

    def blocks(self, needed: np.ndarray) -> LinearMap:
        """Return the map of some blocks, given by their numbers in ascending order."""
        raise NotImplementedError

    def select(self, kept: np.ndarray) -> LinearMap:
        """Return W[kept] as complete blocks, or as a dense matrix if that is faster.

        The cost of a block does not depend on how many of its rows are kept. A row of a
        dense matrix takes one multiply-add for each of the n_in features.
        """
        n_in = self.shape[1]
        matrix_ns = kept.size * n_in * DENSE_NS
        blocks_ns = np.unique(kept // self.block_rows).size * self.block_ns
        fits = 8 * kept.size * n_in <= DENSE_BYTES
        if fits and matrix_ns < blocks_ns:
            return rows_as_matrix(self, kept)
        return rows_of_blocks(self, kept)

    def rows_in(self, needed: np.ndarray) -> np.ndarray:
        """Return the indices of all rows in some blocks, in order."""
        rows = needed[:, None] * self.block_rows + np.arange(self.block_rows)
        return rows[rows < self.shape[0]]


def rows_of_blocks(linear: BlockMap, kept: np.ndarray) -> Rows:
    """Return W[kept], computed with all blocks of W that contain a kept row."""
    needed, position = np.unique(kept // linear.block_rows, return_inverse=True)
    indices = position * linear.block_rows + kept % linear.block_rows
    return Rows(linear.blocks(needed), indices)


def rows_as_matrix(linear: BlockMap, kept: np.ndarray) -> Matrix:
    """Return W[kept] as a dense matrix: the adjoint applied to unit vectors."""
    transposed = np.empty((linear.shape[1], kept.size), dtype=linear.dtype)
    numbers = kept // linear.block_rows
    for number in np.unique(numbers):
        block = linear.blocks(np.array([number]))
        positions = np.flatnonzero(numbers == number)
        for start in range(0, positions.size, UNIT_ROWS):
            part = positions[start : start + UNIT_ROWS]
            units = np.zeros((part.size, block.shape[0]), dtype=linear.dtype)
            units[np.arange(part.size), kept[part] % linear.block_rows] = 1
            transposed[:, part] = block.apply_adjoint(units).T
    return Matrix(transposed)
