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
from .base import Cost, LinearMap, Projection, checked_output, linear_only_error

CACHED_COLUMNS = 1 << 13
"""Largest number of columns of which eight rows stay in the second-level cache."""

DENSE_SPEED = 8
"""`forward` gathers the entries of W if at most one entry in this many is stored, and
otherwise multiplies by the dense matrix. In onnxruntime, gathering takes 1.6 times as
long as the dense product at this limit (3.4 times in float64), and less time from 16
(64 in float64) on. The exported file is smaller in any case."""


@dataclass(frozen=True, eq=False)
class SparseMatrix(LinearMap):
    """A sparse matrix W, stored by outputs (W) and by inputs (Wᵀ), both CSR.

    Dense rows take n·nnz(W) multiply-adds. Narrow data is processed by outputs, wide
    data by inputs, so that wide data is read once and in order. CSR rows take one step
    per pair of an entry of X and an entry of W in the same column.

    Parameters
    ----------
    by_output : CSR matrix of shape (n_out, n_in)
        W.
    by_input : CSR matrix of shape (n_in, n_out)
        Wᵀ.
    """

    by_output: sparse.csr_matrix
    by_input: sparse.csr_matrix

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return self.by_output.shape

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.by_output.dtype

    def apply(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        out = checked_output(X, self, out)
        if sparse.issparse(X):
            csr_times_csr(*_csr_arrays(X), *_csr_arrays(self.by_input), out)
            return out
        X = read_only(np.ascontiguousarray(X))
        if self.shape[1] <= max(self.shape[0], CACHED_COLUMNS):
            dense_times_rows(X, *_csr_arrays(self.by_output), out)
        else:
            dense_times_columns(X, *_csr_arrays(self.by_input), out)
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

    Dense rows take n·n_in multiply-adds, and X is read once and in order. CSR rows take
    nnz multiply-adds.

    Parameters
    ----------
    outputs : int32 array of shape (n_in,)
        Index of the output of every feature.
    values : array of shape (n_in,)
        Entries of W; 0 for a feature without an output.
    n_out : int
        Number of outputs.
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
        entries = read_only(self.values), read_only(self.outputs)
        if sparse.issparse(X):
            csr_times_single(*_csr_arrays(X), *entries, out)
        else:
            dense_times_single(read_only(np.ascontiguousarray(X)), *entries, out)
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
        """Return W, (n_out, n_in)."""
        parts = (self.values, (self.outputs, np.arange(self.outputs.size)))
        return sparse.csr_matrix(parts, shape=self.shape)


def sparse_matrix(W: Any) -> SparseMatrix | SingleEntry:
    """Return a sparse matrix W, (n_out, n_in), as the faster of the two maps above."""
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
    """Return X Wᵀ for a sparse W whose rows are padded with zeros to equal length.

    Some rows of W are processed at a time. The gathered array is then not larger than
    X, and stays in the cache.
    """
    W = sparse.csr_matrix(W)
    n_out, n_in = W.shape
    lengths = np.diff(W.indptr)
    width = max(1, int(lengths.max(initial=0)))
    if width * DENSE_SPEED > n_in:
        return ops.matmul(X, W.toarray().T)
    is_stored = np.arange(width) < lengths[:, None]
    indices = np.zeros((n_out, width), dtype=np.int64)
    values = np.zeros((n_out, 1, width), dtype=W.dtype)
    indices[is_stored], values[:, 0][is_stored] = W.indices, W.data
    # Columns of X are rows of Xᵀ, so that contiguous memory is gathered.
    columns = ops.transpose(X)
    parts, step = [], n_in // width
    for start in range(0, n_out, step):
        rows = slice(start, start + step)
        part = ops.take(columns, indices[rows].ravel(), axis=0)
        part = ops.reshape(part, len(indices[rows]), width, -1)
        parts.append(ops.matmul(values[rows], part))
    sums = ops.concat(parts, axis=0) if len(parts) > 1 else parts[0]
    return ops.transpose(ops.reshape(sums, n_out, -1))


def _csr_arrays(W: sparse.csr_matrix) -> tuple[np.ndarray, ...]:
    """Return read-only views of the data, indices and indptr of a CSR matrix."""
    return tuple(map(read_only, (W.data, W.indices, W.indptr)))


class Sparse(Projection):
    """W with p rows of entries ±√(s/p), each non-zero with probability 1/s.

    E‖W u‖² = ‖u‖². The projection is linear only, for `RandomProjection`.

    Sampling takes O(p d/s) time, applying O(n p d/s) time, or O(nnz p/s) for CSR rows.
    Memory is O(p d/s).

    Parameters
    ----------
    density : float or "auto", default "auto"
        1/s, in (0, 1]. "auto" is 1/√d.

    See Also
    --------
    bochner.RandomProjection : The transformer that uses this projection.
    BlockDiagonal : Another sparse projection, which reads every feature once per pass.

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

    def __init__(self, density: float | str = "auto") -> None:
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
        return Cost(flops, 2 * density * n_out * n_in)  # values and indices

    def sample(self, law: Law, n_out: int, n_in: int, rng: Stream) -> LinearMap:
        raise linear_only_error(self)

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
            raise ValueError(
                f"Sparse: density must be at most 1; got {density}. Use density=1 or "
                "projection='dense' for a matrix without zeros."
            )
        return density


def _bernoulli(n: int, p: float, rng: Stream) -> np.ndarray:
    """Draw a subset of range(n) that contains each number with probability p; O(n p).

    The gaps between the sorted numbers are geometric. They are drawn from one stream
    until the numbers exceed n, so the subset for a smaller n is a prefix.
    """
    if p == 1:
        return np.arange(n)
    batch_size = 1 << 16
    batches, last = [], -1
    while last < n:
        gaps = 1 + np.floor(np.log(rng.uniform(batch_size)) / np.log1p(-p))
        gaps = np.minimum(gaps, n + 1)  # larger gaps would overflow the sum
        numbers = last + np.cumsum(gaps.astype(np.int64))
        batches.append(numbers[numbers < n])
        last = int(numbers[-1])
    return np.concatenate(batches)
