"""Linear maps that structures are written with: matrices, scalings, products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from .._validation import read_only
from ._product import csr_times_dense
from .base import LinearMap


@dataclass(frozen=True)
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
            return np.matmul(X, self.transposed, out=out)
        if out is None:
            out = np.empty((X.shape[0], self.shape[0]), dtype=self.dtype)
        parts = (X.data, X.indices, X.indptr, self.transposed)
        csr_times_dense(*map(read_only, parts), out)
        return out

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        return Z @ self.transposed.T

    def astype(self, dtype: Any) -> Self:
        return type(self)(self.transposed.astype(dtype, copy=False))

    def to_dense(self) -> np.ndarray:
        return self.transposed.T


@dataclass(frozen=True)
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

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        return Z * self.factors

    def astype(self, dtype: Any) -> Self:
        return type(self)(self.factors.astype(dtype, copy=False))


@dataclass(frozen=True)
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

    def apply(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        return self.outer.apply(self.inner.apply(X), out=out)

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        return self.inner.apply_adjoint(self.outer.apply_adjoint(Z))

    def astype(self, dtype: Any) -> Self:
        return type(self)(self.outer.astype(dtype), self.inner.astype(dtype))
