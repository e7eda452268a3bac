"""Columns of a Gram matrix, k(x, l₁) … k(x, l_m), computed block by block.

Nyström features, and the learners that use them, evaluate these columns repeatedly.
They are computed in X's floating type, on all cores, with memory for the output and one
cache block per thread.
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
"""Largest number of entries for which sparse landmarks are stored densely."""

DIFFERENCES = 1 << 14
"""Differences of coordinates per row that `forward` holds at a time."""


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
        """Write the columns of one cache block of rows to `out`."""
        raise NotImplementedError

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        """k(x, landmarks) of rows X, in the operations of `ops`."""
        raise NotImplementedError

    def astype(self, dtype: Any) -> Self:
        """The same columns, computed in another floating type."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Distance(Columns):
    """Columns of a kernel of distances.

    ‖s(x − l)‖² = ‖s(x − o)‖² + ‖s(l − o)‖² − 2⟨s(x − o), s(l − o)⟩, where the origin o
    is the centre of the landmarks, so that float32 does not cancel. For dense rows one
    product of [−2x', ‖x'‖², 1] with [l', 1, ‖l'‖²] gives all three terms. O(d m) time
    per row.

    The constructor builds the matrix of the [l', 1, ‖l'‖²], and `landmarks` and
    `squares` become views of it.

    Parameters
    ----------
    law : Law
        Spectral law of the kernel, at scale one.
    landmarks : array or CSR matrix of shape (m, d)
        l' = s(l − o).
    squares : array of shape (m,)
        ‖l'‖².
    origin : array of shape (d,) or None
        o; None for sparse landmarks, which are not moved.
    scale : array of shape () or (d,)
        s, one number or one number per feature.
    """

    law: Law
    landmarks: Any
    squares: np.ndarray
    origin: np.ndarray | None
    scale: np.ndarray
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
            rows = as_float64(self._centred(X))
            D = distances(rows, self.landmarks, self.law.metric)
            out[...] = self.law.characteristic(D)
            return
        if sparse.issparse(X) or self._extended is None:
            rows = self._centred(X)
            out[...] = _product(rows, self.landmarks)
            out *= -2
            out += _squares(rows)[:, None]
            out += self.squares
        else:
            np.matmul(self._extended_rows(X), self._extended.T, out=out)
        np.maximum(out, 0, out=out)  # rounding can make squares negative
        values = self.law.characteristic(out)
        if values is not out:
            out[...] = values

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        rows = X if self.origin is None else ops.subtract(X, self.origin)
        rows = ops.multiply(rows, np.broadcast_to(self.scale, self.n_features))
        is_sparse = sparse.issparse(self.landmarks)
        landmarks = self.landmarks.toarray() if is_sparse else self.landmarks
        if self.law.metric == "cityblock":
            return self.law.forward(ops, _cityblock(ops, rows, landmarks))
        D = ops.add(ops.matmul(rows, -2 * landmarks.T), ops.sum_squares(rows))
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

    def _centred(self, X: Any) -> Any:
        """x' = s(x − o) of every row; CSR rows stay CSR if there is no origin."""
        if sparse.issparse(X):
            rows = X.multiply(np.broadcast_to(self.scale, X.shape[1])).tocsr()
            if self.origin is None:
                return rows
            X = X.toarray()  # only one cache block
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
    """Columns of any function k(X, Y) that returns a Gram matrix.

    Parameters
    ----------
    function : callable
        k.
    landmarks : array or CSR matrix of shape (m, d)
        Landmark rows.
    """

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
            f"the kernel {self.function!r} is Python code, which cannot be exported; "
            "use a kernel of distances, or random features."
        )

    def astype(self, dtype: Any) -> Self:
        return replace(self, landmarks=self.landmarks.astype(dtype, copy=False))


@dataclass(frozen=True, eq=False)
class Precomputed(Columns):
    """Columns of rows that hold kernel values with all training rows.

    Parameters
    ----------
    indices : int array of shape (m,)
        Indices of the landmarks among the training rows.
    n_features : int
        Number of training rows.
    dtype : dtype
        Floating type of the columns.
    """

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
        centred = rows.multiply(np.broadcast_to(scale, rows.shape[1])).tocsr()
        if np.prod(centred.shape) <= DENSE_LANDMARKS:
            centred = centred.toarray()
    else:
        centred = (rows - origin) * scale
    columns = Distance(law, centred, _squares(centred), origin, scale)
    return columns.astype(landmarks.dtype)


def _cityblock(ops: Ops, X: Tensor, landmarks: np.ndarray) -> Tensor:
    """‖x − l‖₁, (n, m), for a few landmarks at a time: there are n·m·d differences."""
    m, d = landmarks.shape
    step = max(1, DIFFERENCES // d)
    rows = ops.expand_dims(X, 1)
    parts = []
    for start in range(0, m, step):
        differences = ops.subtract(rows, landmarks[start : start + step])
        parts.append(ops.sum_absolute(differences))
    return ops.concat(parts)


def _product(X: Any, Y: Any) -> np.ndarray:
    """X Yᵀ as a dense array."""
    product = X @ Y.T
    return product.toarray() if sparse.issparse(product) else product


def _squares(X: Any) -> np.ndarray:
    """‖x‖² of every row, (n,)."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)
