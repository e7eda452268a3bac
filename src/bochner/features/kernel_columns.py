"""Columns of a Gram matrix, k(x, l₁) … k(x, l_m), made block by block.

What Nyström features, and learners on them, evaluate again and again: in X's floating
type, on all cores, without ever holding more than the columns asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from .._core.ops import Ops, Tensor, Unsupported
from .._core.parallel import block_rows, for_row_blocks
from .._core.spread import centre_of
from ..kernels.distances import as_float64, distances
from ..kernels.laws import Law
from ..kernels.shift_invariant import ShiftInvariant
from .feature_map import floating_rows, rows_of

DENSE_LANDMARKS = 1 << 25
"""Entries up to which sparse landmarks are multiplied as a dense matrix."""

DIFFERENCES = 1 << 14
"""Differences of coordinates that `forward` holds at a time, for each row."""


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

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        """k(x, landmarks) of rows X in the operations of any namespace."""
        raise NotImplementedError

    def astype(self, dtype: Any) -> Self:
        """The same columns computed in another floating type."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Distance(Columns):
    """Columns of a kernel of distances.

    ‖s(x − l)‖² = ‖s(x − o)‖² + ‖s(l − o)‖² − 2⟨s(x − o), s(l − o)⟩ with an origin o
    amid the landmarks, so that float32 does not cancel. Dense rows take all of it from
    one product, of [−2x', ‖x'‖², 1] with [l', 1, ‖l'‖²]. O(d m) a row.

    The matrix of those right-hand sides is built at construction, and `landmarks` and
    `squares` become views of it, so that using the columns changes nothing.
    """

    law: Law
    landmarks: Any  # l' = s(l − o), (m, d), dense or CSR
    squares: np.ndarray  # ‖l'‖², (m,)
    origin: np.ndarray | None  # (d,), None for sparse rows
    scale: np.ndarray  # s: one number, or one per feature
    _extended: np.ndarray | None = field(init=False, repr=False)  # [l', 1, ‖l'‖²]

    def __post_init__(self) -> None:
        extended = None
        if self.law.metric != "cityblock" and not sparse.issparse(self.landmarks):
            d = self.landmarks.shape[1]
            ones = np.ones_like(self.squares)
            extended = np.column_stack([self.landmarks, ones, self.squares])
            object.__setattr__(self, "landmarks", extended[:, :d])
            object.__setattr__(self, "squares", extended[:, d + 1])
        object.__setattr__(self, "_extended", extended)

    def __reduce__(self) -> tuple[Any, ...]:
        parts = self.law, self.landmarks, self.squares, self.origin, self.scale
        return type(self), parts

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
        if sparse.issparse(X) or self._extended is None:
            rows = self._moved(X)
            out[...] = _product(rows, self.landmarks)
            out *= -2
            out += _squares(rows)[:, None]
            out += self.squares
        else:
            np.matmul(self._extended_rows(X), self._extended.T, out=out)
        np.maximum(out, 0, out=out)  # rounding
        values = self.law.characteristic(out)
        if values is not out:
            out[...] = values

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        moved = X if self.origin is None else ops.subtract(X, self.origin)
        moved = ops.multiply(moved, np.broadcast_to(self.scale, self.n_features))
        sparse_landmarks = sparse.issparse(self.landmarks)
        landmarks = self.landmarks.toarray() if sparse_landmarks else self.landmarks
        if self.law.metric == "cityblock":
            return self.law.forward(ops, _cityblock(ops, moved, landmarks))
        D = ops.add(ops.matmul(moved, -2 * landmarks.T), ops.sum_squares(moved))
        D = ops.maximum(ops.add(D, self.squares), 0.0)
        return self.law.forward(ops, D)

    def _extended_rows(self, X: np.ndarray) -> np.ndarray:
        """[−2x', ‖x'‖², 1] of every row, (b, d + 2)."""
        n, d = X.shape
        out = np.empty((n, d + 2), dtype=self.dtype)
        rows = out[:, :d]
        if self.origin is None:
            np.multiply(X, self.scale, out=rows)
        else:
            np.subtract(X, self.origin, out=rows)
            rows *= self.scale
        out[:, d], out[:, d + 1] = _squares(rows), 1
        rows *= -2
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

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        raise Unsupported(
            f"columns of {self.function!r} are computed by Python code, which "
            "cannot be exported; take a kernel of distances, or random features."
        )

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

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        return ops.take(X, self.indices)

    def astype(self, dtype: Any) -> Self:
        return replace(self, dtype=np.dtype(dtype))


def columns_of(kernel: Any, landmarks: Any) -> Columns:
    """The columns of a resolved kernel, or of a function, at landmark rows."""
    if not isinstance(kernel, ShiftInvariant):
        return Function(kernel, landmarks)
    law, scale = kernel.unit_law(), np.asarray(kernel.scale, dtype=np.float64)
    rows = as_float64(landmarks)
    origin = None if sparse.issparse(rows) else centre_of(rows)
    if origin is None:
        moved = rows.multiply(np.broadcast_to(scale, rows.shape[1])).tocsr()
        if np.prod(moved.shape) <= DENSE_LANDMARKS:
            moved = moved.toarray()
    else:
        moved = (rows - origin) * scale
    columns = Distance(law, moved, _squares(moved), origin, scale)
    return columns.astype(landmarks.dtype)


def _cityblock(ops: Ops, X: Tensor, landmarks: np.ndarray) -> Tensor:
    """‖x − l‖₁, (n, m), of some landmarks at a time: all differences are n·m·d."""
    m, d = landmarks.shape
    step = max(1, DIFFERENCES // d)
    rows = ops.expand_dims(X, 1)
    parts = []
    for start in range(0, m, step):
        apart = ops.subtract(rows, landmarks[start : start + step])
        parts.append(ops.sum_absolute(apart))
    return ops.concat(parts)


def _product(X: Any, Y: Any) -> np.ndarray:
    product = X @ Y.T
    return product.toarray() if sparse.issparse(product) else product


def _squares(X: Any) -> np.ndarray:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)
