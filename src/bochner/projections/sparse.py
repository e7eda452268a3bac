"""Sparse matrices as linear maps, and very sparse random projections."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from .._core.ops import Ops, Tensor
from .._core.random import Stream
from .._core.validation import check_positive, read_only
from ..kernels.laws import Law
from ._product import (
    csr_times_csr,
    csr_times_single,
    dense_times_columns,
    dense_times_rows,
    dense_times_single,
)
from .base import Cost, LinearMap, Projection, checked_output, linear_only

CACHED_COLUMNS = 1 << 13
"""Up to here, eight rows of data in lanes stay in the second-level cache."""

DENSE_SPEED = 8
"""`forward` gathers entries where a row of W has at most one in this many. In
onnxruntime that is 1.6 times (float64: 3.4 times) slower at the limit than the matrix
written out, and faster from 16 (64) on; the file is smaller."""


@dataclass(frozen=True, eq=False)
class SparseMatrix(LinearMap):
    """W with few non-zeros, kept by outputs (W) and by inputs (Wᵀ), both CSR.

    Dense rows: n·nnz(W) multiply-adds, by outputs where the data is narrow, by inputs
    where it is wide, so that it is read once, in order. CSR rows: one step per pair of
    non-zeros that meet.
    """

    by_output: sparse.csr_matrix  # (n_out, n_in)
    by_input: sparse.csr_matrix  # (n_in, n_out)

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return self.by_output.shape

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.by_output.dtype

    def apply(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        out = checked_output(X, self, out)
        if sparse.issparse(X):
            csr_times_csr(*_parts(X), *_parts(self.by_input), out)
            return out
        X = read_only(np.ascontiguousarray(X))
        if self.shape[1] <= max(self.shape[0], CACHED_COLUMNS):
            dense_times_rows(X, *_parts(self.by_output), out)
        else:
            dense_times_columns(X, *_parts(self.by_input), out)
        return out

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        return _gathered_product(ops, X, self.by_output)

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        return Z @ self.by_output

    def astype(self, dtype: Any) -> Self:
        if self.dtype == dtype:
            return self
        return type(self)(self.by_output.astype(dtype), self.by_input.astype(dtype))

    def scale_rows(self, factors: np.ndarray) -> LinearMap:
        return sparse_matrix(sparse.diags(factors.astype(self.dtype)) @ self.by_output)

    def scale_columns(self, factors: np.ndarray) -> LinearMap:
        return sparse_matrix(self.by_output @ sparse.diags(factors.astype(self.dtype)))

    def select(self, kept: np.ndarray) -> LinearMap:
        return sparse_matrix(self.by_output[kept])

    def to_dense(self) -> np.ndarray:
        return self.by_output.toarray()


@dataclass(frozen=True, eq=False)
class SingleEntry(LinearMap):
    """W with at most one non-zero per input: feature j adds values_j x_j to one output.

    Dense rows: n·n_in multiply-adds, X read once and in order. CSR rows: nnz.

    Parameters
    ----------
    outputs : int32 array of shape (n_in,)
    values : array of shape (n_in,)
        Zero where an input feeds no output.
    n_out : int
    """

    outputs: np.ndarray
    values: np.ndarray
    n_out: int

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return (self.n_out, self.outputs.size)

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.values.dtype

    def apply(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        out = checked_output(X, self, out)
        table = read_only(self.values), read_only(self.outputs)
        if sparse.issparse(X):
            csr_times_single(*_parts(X), *table, out)
        else:
            dense_times_single(read_only(np.ascontiguousarray(X)), *table, out)
        return out

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        return _gathered_product(ops, X, self._matrix())

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        return Z[:, self.outputs] * self.values

    def astype(self, dtype: Any) -> Self:
        return replace(self, values=self.values.astype(dtype, copy=False))

    def scale_rows(self, factors: np.ndarray) -> SingleEntry:
        factors = factors.astype(self.dtype)
        return replace(self, values=self.values * factors[self.outputs])

    def scale_columns(self, factors: np.ndarray) -> SingleEntry:
        return replace(self, values=self.values * factors.astype(self.dtype))

    def select(self, kept: np.ndarray) -> LinearMap:
        return sparse_matrix(self._matrix()[kept])

    def _matrix(self) -> sparse.csr_matrix:
        parts = (self.values, (self.outputs, np.arange(self.outputs.size)))
        return sparse.csr_matrix(parts, shape=self.shape)


def sparse_matrix(W: Any) -> SparseMatrix | SingleEntry:
    """The map of a SciPy sparse matrix W, (n_out, n_in), in the form that suits it."""
    W = sparse.csr_matrix(W)
    W.sort_indices()  # products of matrices leave rows in any order
    by_input = sparse.csr_matrix(W.T)
    entries = np.diff(by_input.indptr)
    if entries.max(initial=0) > 1:
        return SparseMatrix(W, by_input)
    outputs = np.zeros(W.shape[1], dtype=np.int32)
    values = np.zeros(W.shape[1], dtype=W.dtype)
    outputs[entries == 1], values[entries == 1] = by_input.indices, by_input.data
    return SingleEntry(outputs, values, W.shape[0])


def _gathered_product(ops: Ops, X: Tensor, W: Any) -> Tensor:
    """X Wᵀ for a sparse W, whose rows are filled up with zeros to one length.

    It takes some rows of W at a time, so that the gathered entries are never more than
    those of X and stay in the cache.
    """
    W = sparse.csr_matrix(W)
    n_out, n_in = W.shape
    lengths = np.diff(W.indptr)
    width = max(1, int(lengths.max(initial=0)))
    if width * DENSE_SPEED > n_in:
        return ops.matmul(X, W.toarray().T)
    filled = np.arange(width) < lengths[:, None]
    places = np.zeros((n_out, width), dtype=np.int64)
    values = np.zeros((n_out, 1, width), dtype=W.dtype)
    places[filled], values[:, 0][filled] = W.indices, W.data
    # columns of X are rows of Xᵀ: whole runs of memory are gathered
    columns = ops.transpose(X)
    parts, step = [], n_in // width
    for start in range(0, n_out, step):
        rows = slice(start, start + step)
        part = ops.take(columns, places[rows].ravel(), axis=0)
        part = ops.reshape(part, len(places[rows]), width, -1)
        parts.append(ops.matmul(values[rows], part))
    sums = ops.concat(parts, axis=0) if len(parts) > 1 else parts[0]
    return ops.transpose(ops.reshape(sums, n_out, -1))


def _parts(W: sparse.csr_matrix) -> tuple[np.ndarray, ...]:
    return tuple(map(read_only, (W.data, W.indices, W.indptr)))


class Sparse(Projection):
    """Very sparse ±√(s/p) entries, non-zero with probability 1/s, s = √d by default.

    E‖W u‖² = ‖u‖². Linear only: used by `RandomProjection`.

    Sampling and memory O(p d/s), applying O(n p d/s), for CSR rows O(nnz p/s).

    Parameters
    ----------
    density : "auto" or float
        1/s, in (0, 1]; "auto" is 1/√d.

    References
    ----------
    P. Li, T. Hastie and K. Church, Very sparse random projections, KDD 2006.

    Examples
    --------
    >>> from bochner import RandomProjection
    >>> X = [[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]]
    >>> RandomProjection(2, projection="sparse", random_state=0).fit_transform(X).shape
    (2, 2)
    """

    is_linear: ClassVar = True

    def __init__(self, density: Any = "auto") -> None:
        self.density = density

    def cost(
        self,
        n_out: int,
        n_in: int,
        law: Law | None = None,
        filled: float | None = None,
    ) -> Cost:
        density = self._density(n_in)
        flops = 2 * density * n_out * (n_in if filled is None else filled)
        return Cost(flops, 2 * density * n_out * n_in)  # values and their places

    def sample(self, law: Law, n_out: int, n_in: int, rng: Stream) -> LinearMap:
        raise linear_only(self)

    def _sample_isometry(self, n_out: int, n_in: int, rng: Stream) -> LinearMap:
        density = self._density(n_in)
        entries = _bernoulli(n_out * n_in, density, rng.child("entries"))
        value = (density * n_out) ** -0.5  # so that n_out·density·value² = 1
        signs = value * rng.child("signs").signs(entries.size)
        rows, columns = np.divmod(entries, n_in)
        W = sparse.csr_matrix((signs, (rows, columns)), shape=(n_out, n_in))
        return sparse_matrix(W)

    def _density(self, n_in: int) -> float:
        if isinstance(self.density, str) and self.density == "auto":
            return n_in**-0.5
        density = check_positive("Sparse", "density", self.density, " or 'auto'")
        if density > 1:
            raise ValueError(f"Sparse: density must be at most 1; got {density}.")
        return density


def _bernoulli(n: int, p: float, rng: Stream) -> np.ndarray:
    """Numbers below n, each taken with probability p, in order; O(n p).

    The gaps between them are geometric; they are drawn in one stream until past n, so a
    smaller n is a prefix.
    """
    if p == 1:
        return np.arange(n)
    batch = 1 << 16
    found, last = [], -1
    while last < n:
        gaps = 1 + np.floor(np.log(rng.uniform(batch)) / np.log1p(-p))
        gaps = np.minimum(gaps, n + 1)  # past the end is past the end
        places = last + np.cumsum(gaps.astype(np.int64))
        found.append(places[places < n])
        last = int(places[-1])
    return np.concatenate(found)
