"""Linear maps that structured maps are composed of.

| map | W |
|---|---|
| `Matrix` | any dense matrix |
| `Scale` | a diagonal matrix |
| `Compose`, `product` | a product of maps |
| `Stack` | maps with the same input, one below the other |
| `Pad`, `Permute` | zero padding, and permutation of coordinates |
| `Rows` | selected rows of a map |
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
from .base import LinearMap, checked_output, dense_rows

FLOAT64 = np.dtype(np.float64)


@dataclass(frozen=True, eq=False)
class Matrix(LinearMap):
    """A dense matrix W, stored as Wᵀ so that each input feature owns one row.

    Dense rows take n·n_in·n_out multiply-adds (BLAS), CSR rows nnz·n_out.

    Parameters
    ----------
    transposed : array of shape (n_in, n_out)
        Wᵀ.

    See Also
    --------
    Dense : The projection that samples dense matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.projections import Matrix
    >>> Matrix(np.array([[1.0], [2.0]])).apply(np.array([[3.0, 4.0]]))
    array([[11.]])
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
            # BLAS needs one contiguous direction: otherwise copy the block.
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
    """W = diag(factors).

    Dense rows take n·d multiplications, CSR rows nnz; the product of CSR rows is CSR.

    Parameters
    ----------
    factors : array of shape (d,)
        The diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.projections import Scale
    >>> Scale(np.array([1.0, -1.0])).apply(np.array([[3.0, 4.0]]))
    array([[ 3., -4.]])
    """

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
    """The product W = outer · inner, which applies `inner` first.

    Time and memory are the sums of those of both maps.

    Parameters
    ----------
    outer, inner : LinearMap
        The factors; outer.shape[1] equals inner.shape[0].

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.projections import Compose, Pad, Scale
    >>> Compose(Scale(np.array([1.0, 2.0, 3.0])), Pad((3, 2))).to_dense()
    array([[1., 0.],
           [0., 2.],
           [0., 0.]])
    """

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
    """W = [W_1; W_2; …]: maps of the same input with concatenated outputs.

    Time and memory are the sums of those of all maps.

    Parameters
    ----------
    maps : tuple of LinearMap
        Maps with the same n_in.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.projections import Scale, Stack
    >>> part = Scale(np.array([1.0, 2.0]))
    >>> Stack((part, part)).apply(np.array([[1.0, 1.0]]))
    array([[1., 2., 1., 2.]])
    """

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
        """Split the last axis of Z, (…, n_out), into the outputs of the maps."""
        cuts = np.cumsum([m.shape[0] for m in self.maps])[:-1]
        return np.split(Z, cuts, axis=-1)


class Structural(LinearMap):
    """A map without stored numbers: a dataclass with a field `dtype`."""

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
    """The first n_out coordinates of x, followed by zeros if n_out > n_in.

    Applying takes O(n n_out) time, and the map takes no memory.

    Parameters
    ----------
    shape : tuple of two ints
        (n_out, n_in).
    dtype : float32 or float64, default float64
        Type of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.projections import Pad
    >>> Pad((3, 2)).apply(np.array([[1.0, 2.0]]))
    array([[1., 2., 0.]])
    """

    shape: tuple[int, int]
    dtype: np.dtype = FLOAT64

    def apply(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        return _resize(dense_rows(X), self.shape[0], out)

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        n_out, n_in = self.shape
        if n_out <= n_in:
            return X if n_out == n_in else ops.first_columns(X, n_out)
        return ops.pad_columns(X, n_out - n_in)

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        return _resize(Z, self.shape[1], None)


@dataclass(frozen=True, eq=False)
class Permute(Structural):
    """The permutation (Π x)_j = x_{order_j}.

    Applying takes O(n d) time, and the map O(d) memory.

    Parameters
    ----------
    order : int array of shape (d,)
        A permutation of range(d).
    dtype : float32 or float64, default float64
        Type of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.projections import Permute
    >>> Permute(np.array([2, 0, 1])).apply(np.array([[1.0, 2.0, 3.0]]))
    array([[3., 1., 2.]])
    """

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
    """W[kept] of a structured map W, which computes all outputs and then selects.

    The cost is that of W. Maps with independent rows, such as `Matrix`, implement
    `select` without this class.

    Parameters
    ----------
    linear : LinearMap
        W.
    kept : int array of shape (n_kept,)
        Indices of rows; an index may occur more than once.

    Raises
    ------
    IndexError
        If an index is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.projections import Pad, Rows
    >>> Rows(Pad((3, 3)), np.array([2, 0])).apply(np.array([[1.0, 2.0, 3.0]]))
    array([[3., 1.]])
    """

    linear: LinearMap
    kept: np.ndarray

    def __post_init__(self) -> None:
        n_out = self.linear.shape[0]
        if self.kept.size and not 0 <= self.kept.min() <= self.kept.max() < n_out:
            raise IndexError(
                f"kept rows must be from 0 to {n_out - 1}; got indices from "
                f"{self.kept.min()} to {self.kept.max()}."
            )

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
        # Indices are checked in __post_init__; "clip" avoids a second buffer.
        Z = dense_rows(self.linear.apply(X))
        return np.take(Z, self.kept, axis=1, out=out, mode="clip")

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        return ops.take(self.linear.forward(ops, X), self.kept)

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        scattered = np.zeros((self.linear.shape[0], Z.shape[0]), dtype=Z.dtype)
        np.add.at(scattered, self.kept, Z.T)  # a row may be kept twice
        return self.linear.apply_adjoint(scattered.T)

    def astype(self, dtype: Any) -> Self:
        return type(self)(self.linear.astype(dtype), self.kept)

    def scale_rows(self, factors: np.ndarray) -> Compose:
        return Compose(Scale(factors.astype(self.dtype)), self)

    def scale_columns(self, factors: np.ndarray) -> Rows:
        return Rows(self.linear.scale_columns(factors), self.kept)

    def select(self, kept: np.ndarray) -> LinearMap:
        return self.linear.select(self.kept[kept])


def balanced_factors(d: int) -> tuple[int, int]:
    """Return a·b = d with a ≤ b and a as large as possible.

    Where no fast transform is available, a transform of length d is computed by two
    products with small matrices, in O(√d) operations per number.
    """
    a = max(k for k in range(1, int(d**0.5) + 1) if d % k == 0)
    return a, d // a


def product(*maps: LinearMap) -> LinearMap:
    """Return maps[0] · maps[1] · …, as in formulas: the last map is applied first."""
    return reduce(Compose, maps)


def _resize(X: np.ndarray, width: int, out: np.ndarray | None) -> np.ndarray:
    """Cut the columns of X, or append zeros, to get `width` columns."""
    if out is None:
        out = np.empty((X.shape[0], width), dtype=X.dtype)
    kept = min(width, X.shape[1])
    out[:, :kept] = X[:, :kept]
    out[:, kept:] = 0
    return out
