"""Linear maps that structures are written with: matrices, scalings, products, selected
rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self

import numpy as np
from scipy import sparse

from .._core.ops import Ops, Tensor
from .._core.validation import read_only
from ._product import csr_times_dense
from .base import DENSE_BYTES, DENSE_NS, LinearMap, checked_output, dense_rows

FLOAT64 = np.dtype(np.float64)


@dataclass(frozen=True, eq=False)
class Matrix(LinearMap):
    """Any W, kept as Wᵀ, (n_in, n_out): each input feature then owns one row.

    Dense rows cost n·n_in·n_out multiply-adds (BLAS), CSR rows nnz·n_out.
    """

    transposed: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return self.transposed.shape[::-1]

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.transposed.dtype

    def apply(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        if not sparse.issparse(X):
            X = np.asarray(X)
            # a stride in both directions keeps BLAS out: copy the block
            X = X if self.dtype.itemsize in X.strides else np.ascontiguousarray(X)
            return np.matmul(X, self.transposed, out=out)
        out = checked_output(X, self, out)
        parts = (X.data, X.indices, X.indptr, self.transposed)
        csr_times_dense(*map(read_only, parts), out)
        return out

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        return ops.matmul(X, self.transposed)

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        return Z @ self.transposed.T

    def astype(self, dtype: Any) -> Self:
        return type(self)(self.transposed.astype(dtype, copy=False))

    def scale_rows(self, factors: np.ndarray) -> Matrix:
        return Matrix(self.transposed * factors.astype(self.dtype))

    def scale_columns(self, factors: np.ndarray) -> Matrix:
        return Matrix(self.transposed * factors.astype(self.dtype)[:, None])

    def select(self, kept: np.ndarray) -> Matrix:
        return Matrix(np.ascontiguousarray(self.transposed[:, kept]))

    def to_dense(self) -> np.ndarray:
        return read_only(self.transposed).T


@dataclass(frozen=True, eq=False)
class Scale(LinearMap):
    """diag(factors): n·d multiplications, nnz for CSR rows, which stay CSR."""

    factors: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return (self.factors.size, self.factors.size)

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.factors.dtype

    def apply(self, X: Any, out: np.ndarray | None = None) -> Any:
        if sparse.issparse(X):
            return X.multiply(self.factors).tocsr()
        return np.multiply(X, self.factors, out=out)

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        return ops.multiply(X, self.factors)

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        return Z * self.factors

    def astype(self, dtype: Any) -> Self:
        return type(self)(self.factors.astype(dtype, copy=False))

    def scale_rows(self, factors: np.ndarray) -> Scale:
        return Scale(self.factors * factors.astype(self.dtype))

    def scale_columns(self, factors: np.ndarray) -> Scale:
        return self.scale_rows(factors)

    def select(self, kept: np.ndarray) -> Rows:
        return Rows(self, kept)


@dataclass(frozen=True, eq=False)
class Compose(LinearMap):
    """outer · inner: applies `inner` first."""

    outer: LinearMap
    inner: LinearMap

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return (self.outer.shape[0], self.inner.shape[1])

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.outer.dtype

    @property
    def work_columns(self) -> int:
        return self.outer.work_columns + self.inner.work_columns

    def apply(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        return self.outer.apply(self.inner.apply(X), out=out)

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        return self.outer.forward(ops, self.inner.forward(ops, X))

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        return self.inner.apply_adjoint(self.outer.apply_adjoint(Z))

    def astype(self, dtype: Any) -> Self:
        return type(self)(self.outer.astype(dtype), self.inner.astype(dtype))

    def scale_rows(self, factors: np.ndarray) -> Compose:
        return Compose(self.outer.scale_rows(factors), self.inner)

    def scale_columns(self, factors: np.ndarray) -> Compose:
        return Compose(self.outer, self.inner.scale_columns(factors))

    def select(self, kept: np.ndarray) -> Compose:
        return Compose(self.outer.select(kept), self.inner)


@dataclass(frozen=True, eq=False)
class Stack(LinearMap):
    """Maps of the same input, their outputs one after the other."""

    maps: tuple[LinearMap, ...]

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return (sum(m.shape[0] for m in self.maps), self.maps[0].shape[1])

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.maps[0].dtype

    def apply(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        return np.concatenate(
            [dense_rows(m.apply(X)) for m in self.maps], axis=1, out=out
        )

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        return ops.concat([part.forward(ops, X) for part in self.maps])

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        pairs = zip(self.maps, self._split(Z), strict=True)
        return np.sum([m.apply_adjoint(part) for m, part in pairs], axis=0)

    def astype(self, dtype: Any) -> Self:
        return type(self)(tuple(m.astype(dtype) for m in self.maps))

    def scale_rows(self, factors: np.ndarray) -> Stack:
        pairs = zip(self.maps, self._split(factors), strict=True)
        return Stack(tuple(m.scale_rows(part) for m, part in pairs))

    def scale_columns(self, factors: np.ndarray) -> Stack:
        return Stack(tuple(m.scale_columns(factors) for m in self.maps))

    def select(self, kept: np.ndarray) -> Rows:
        return Rows(self, kept)

    def _split(self, Z: np.ndarray) -> list[np.ndarray]:
        cuts = np.cumsum([m.shape[0] for m in self.maps])[:-1]
        return np.split(Z, cuts, axis=-1)


class Structural(LinearMap):
    """A map without numbers of its own: a dataclass with a field `dtype`."""

    def astype(self, dtype: Any) -> Self:
        return replace(self, dtype=np.dtype(dtype))  # type: ignore[type-var]

    def scale_rows(self, factors: np.ndarray) -> Compose:
        return Compose(Scale(factors.astype(self.dtype)), self)

    def scale_columns(self, factors: np.ndarray) -> Compose:
        return Compose(self, Scale(factors.astype(self.dtype)))

    def select(self, kept: np.ndarray) -> Rows:
        return Rows(self, kept)


@dataclass(frozen=True, eq=False)
class Pad(Structural):
    """The first coordinates: zeros are appended, or the last ones are cut."""

    shape: tuple[int, int]
    dtype: np.dtype = FLOAT64

    def apply(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        return _resized(dense_rows(X), self.shape[0], out)

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        n_out, n_in = self.shape
        if n_out <= n_in:
            return X if n_out == n_in else ops.first_columns(X, n_out)
        return ops.pad_columns(X, n_out - n_in)

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        return _resized(Z, self.shape[1], None)


@dataclass(frozen=True, eq=False)
class Permute(Structural):
    """(Π x)_j = x_{order_j}."""

    order: np.ndarray
    dtype: np.dtype = FLOAT64

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return (self.order.size, self.order.size)

    def apply(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        return np.take(dense_rows(X), self.order, axis=1, out=out)

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        return ops.take(X, self.order)

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        return Z[:, np.argsort(self.order)]


@dataclass(frozen=True, eq=False)
class Rows(LinearMap):
    """W[kept] of a structured W, which computes all its outputs before some are kept.

    The cost is that of W whole; maps whose rows stand alone select them instead.
    """

    linear: LinearMap
    kept: np.ndarray

    def __post_init__(self) -> None:
        n_out = self.linear.shape[0]
        if self.kept.size and not 0 <= self.kept.min() <= self.kept.max() < n_out:
            raise IndexError(f"kept rows must be from 0 to {n_out - 1}.")

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return (self.kept.size, self.linear.shape[1])

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.linear.dtype

    @property
    def work_columns(self) -> int:
        return self.linear.work_columns + self.kept.size

    def apply(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        # indices were checked once; "clip" writes into `out` without a second buffer
        Z = dense_rows(self.linear.apply(X))
        return np.take(Z, self.kept, axis=1, out=out, mode="clip")

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        return ops.take(self.linear.forward(ops, X), self.kept)

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        whole = np.zeros((self.linear.shape[0], Z.shape[0]), dtype=Z.dtype)
        np.add.at(whole, self.kept, Z.T)  # a row may be kept twice
        return self.linear.apply_adjoint(whole.T)

    def astype(self, dtype: Any) -> Self:
        return type(self)(self.linear.astype(dtype), self.kept)

    def scale_rows(self, factors: np.ndarray) -> Compose:
        return Compose(Scale(factors.astype(self.dtype)), self)

    def scale_columns(self, factors: np.ndarray) -> Rows:
        return Rows(self.linear.scale_columns(factors), self.kept)

    def select(self, kept: np.ndarray) -> LinearMap:
        return self.linear.select(self.kept[kept])


def balanced_factors(d: int) -> tuple[int, int]:
    """a·b = d with a ≤ b and a as large as possible.

    A transform of length d is then two products with small matrices, O(√d) operations
    a number, where no fast one is available.
    """
    a = max(k for k in range(1, int(d**0.5) + 1) if d % k == 0)
    return a, d // a


def product(*maps: LinearMap) -> LinearMap:
    """maps[0] · maps[1] · …, written as the formula is: the last is applied first."""
    return reduce(Compose, maps)


def _resized(X: np.ndarray, width: int, out: np.ndarray | None) -> np.ndarray:
    if out is None:
        out = np.empty((X.shape[0], width), dtype=X.dtype)
    kept = min(width, X.shape[1])
    out[:, :kept] = X[:, :kept]
    out[:, kept:] = 0
    return out


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
