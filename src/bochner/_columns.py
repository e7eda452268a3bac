"""Columns of a Gram matrix, k(x, l₁) … k(x, l_m), made block by block.

What Nyström features, and learners on them, evaluate again and again: in X's floating
type, on all cores, without ever holding more than the columns asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from ._distances import as_float64, distances, middle
from ._threads import block_rows, for_row_blocks
from .feature_map import floating_rows, rows_of
from .kernels import ShiftInvariant
from .laws import Law

DENSE_LANDMARKS = 1 << 25
"""Entries up to which sparse landmarks are multiplied as a dense matrix."""


class Columns:
    """k(x, landmarks) as a function of rows: (n, n_features) → (n, n_landmarks)."""

    n_features: int
    n_landmarks: int
    dtype: np.dtype

    def __call__(self, X: Any) -> np.ndarray:
        """All columns of dense or CSR rows X, in X's floating type."""
        X = floating_rows(X, self.n_features)
        columns = self.astype(X.dtype)
        C = np.empty((X.shape[0], self.n_landmarks), dtype=X.dtype)

        def step(block: slice) -> None:
            columns.evaluate(rows_of(X, block), C[block])

        rows = block_rows(self.n_landmarks, C.itemsize)
        for_row_blocks(lambda: step, len(C), rows, self.n_landmarks)
        return C

    def evaluate(self, X: Any, out: np.ndarray) -> None:
        """Columns of one cache block of rows, written to `out`."""
        raise NotImplementedError

    def astype(self, dtype: Any) -> Self:
        """The same columns computed in another floating type."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Distance(Columns):
    """Columns of a kernel of distances.

    ‖s(x − l)‖² = ‖s(x − o)‖² + ‖s(l − o)‖² − 2⟨s(x − o), s(l − o)⟩ with an origin o
    amid the landmarks, so that float32 does not cancel. Dense rows take all of it from
    one product, of [x', ‖x'‖², 1] with [−2l', 1, ‖l'‖²]. O(d m) a row.
    """

    law: Law
    landmarks: Any  # l' = s(l − o), (m, d), dense or CSR
    squares: np.ndarray  # ‖l'‖², (m,)
    origin: np.ndarray | None  # (d,), None for sparse rows
    scale: np.ndarray  # s: one number, or one per feature

    @property
    def n_landmarks(self) -> int:  # type: ignore[override]
        return self.landmarks.shape[0]

    @property
    def n_features(self) -> int:  # type: ignore[override]
        return self.landmarks.shape[1]

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.landmarks.dtype

    def evaluate(self, X: Any, out: np.ndarray) -> None:
        if self.law.metric == "cityblock":
            D = distances(as_float64(self._moved(X)), self.landmarks, self.law.metric)
            out[...] = self.law.characteristic(D)
            return
        if sparse.issparse(X) or sparse.issparse(self.landmarks):
            rows = self._moved(X)
            out[...] = _product(rows, self.landmarks)
            out *= -2
            out += _squares(rows)[:, None]
            out += self.squares
        else:
            np.matmul(self._lifted(X), self._table, out=out)
        np.maximum(out, 0, out=out)  # rounding
        values = self.law.characteristic(out)
        if values is not out:
            out[...] = values

    @cached_property
    def _table(self) -> np.ndarray:
        """[−2l', 1, ‖l'‖²] of every landmark, (d + 2, m)."""
        ones = np.ones_like(self.squares)
        return np.column_stack([-2 * self.landmarks, ones, self.squares]).T

    def _lifted(self, X: np.ndarray) -> np.ndarray:
        """[x', ‖x'‖², 1] of every row, (b, d + 2)."""
        n, d = X.shape
        out = np.empty((n, d + 2), dtype=self.dtype)
        rows = out[:, :d]
        if self.origin is None:
            np.multiply(X, self.scale, out=rows)
        else:
            np.subtract(X, self.origin, out=rows)
            rows *= self.scale
        out[:, d], out[:, d + 1] = _squares(rows), 1
        return out

    def _moved(self, X: Any) -> Any:
        if sparse.issparse(X):
            rows = X.multiply(np.broadcast_to(self.scale, X.shape[1])).tocsr()
            if self.origin is None:
                return rows
            X = X.toarray()  # of one cache block
        return (X if self.origin is None else X - self.origin) * self.scale

    def astype(self, dtype: Any) -> Self:
        if self.dtype == dtype or self.law.metric == "cityblock":
            return self
        return replace(
            self,
            landmarks=self.landmarks.astype(dtype),
            squares=self.squares.astype(dtype),
            origin=None if self.origin is None else self.origin.astype(dtype),
            scale=self.scale.astype(dtype),
        )


@dataclass(frozen=True, eq=False)
class Function(Columns):
    """Columns of any function k(X, Y) that returns a Gram matrix."""

    function: Callable[[Any, Any], np.ndarray]
    landmarks: Any

    @property
    def n_landmarks(self) -> int:  # type: ignore[override]
        return self.landmarks.shape[0]

    @property
    def n_features(self) -> int:  # type: ignore[override]
        return self.landmarks.shape[1]

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.landmarks.dtype

    def evaluate(self, X: Any, out: np.ndarray) -> None:
        out[...] = self.function(X, self.landmarks)

    def astype(self, dtype: Any) -> Self:
        return replace(self, landmarks=self.landmarks.astype(dtype, copy=False))


@dataclass(frozen=True, eq=False)
class Precomputed(Columns):
    """Columns picked from rows that hold kernel values with all training rows."""

    indices: np.ndarray
    n_features: int
    dtype: np.dtype

    @property
    def n_landmarks(self) -> int:  # type: ignore[override]
        return len(self.indices)

    def evaluate(self, X: Any, out: np.ndarray) -> None:
        columns = X[:, self.indices]
        out[...] = columns.toarray() if sparse.issparse(columns) else columns

    def astype(self, dtype: Any) -> Self:
        return replace(self, dtype=np.dtype(dtype))


def columns_of(kernel: Any, landmarks: Any) -> Columns:
    """The columns of a resolved kernel, or of a function, at landmark rows."""
    if not isinstance(kernel, ShiftInvariant):
        return Function(kernel, landmarks)
    law, scale = kernel.unit_law(), np.asarray(kernel.scale, dtype=np.float64)
    rows = as_float64(landmarks)
    origin = None if sparse.issparse(rows) else middle(rows)
    if origin is None:
        moved = rows.multiply(np.broadcast_to(scale, rows.shape[1])).tocsr()
        if np.prod(moved.shape) <= DENSE_LANDMARKS:
            moved = moved.toarray()
    else:
        moved = (rows - origin) * scale
    columns = Distance(law, moved, _squares(moved), origin, scale)
    return columns.astype(landmarks.dtype)


def _product(X: Any, Y: Any) -> np.ndarray:
    product = X @ Y.T
    return product.toarray() if sparse.issparse(product) else product


def _squares(X: Any) -> np.ndarray:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)
