"""Learned parameters, and the linear maps that they define."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from scipy import fft, sparse

from ..._core.parallel import for_fixed_blocks
from ..._core.validation import read_only
from ...projections.algebra import Matrix
from ...projections.base import LinearMap, dense_rows
from ...projections.circulant import CirculantMap
from ..feature_map import rows_of

WEIGHT_BLOCK_ROWS = 32
"""Rows of a batch that a thread processes at a time."""

SPARSE_BLOCKS = 16
"""Largest number of blocks of a sparse product: slicing CSR rows is expensive."""

MIN_COLUMNS, MAX_COLUMNS = 16, 256
"""Bounds on the columns of one product, which has about a quarter of all columns."""


@dataclass(eq=False)
class Parameter:
    """An array of learned numbers, its gradient, and the unit of its step sizes.

    Parameters
    ----------
    value : array of shape (r, c)
        The numbers; solvers change them in place.
    sizes : array of shape (r,)
        Typical size of the numbers of each row; learning rates are multiples of it.
    """

    value: np.ndarray
    sizes: np.ndarray

    def __post_init__(self) -> None:
        self.gradient = np.zeros_like(self.value)

    @classmethod
    def row(cls, value: np.ndarray, size: float = 1.0) -> Self:
        """A parameter of one row, (1, c), from a flat array."""
        return cls(np.ascontiguousarray(value[None]), np.full(1, size))


class Weights(Protocol):
    """A linear map that is learned: W (x − c) of batches, and its gradient.

    c is the centre of the rows. Without it, for rows far from the origin, a small step
    of a frequency would shift the phases of all rows by the same large angle.
    """

    parameter: Parameter

    def prepare(self, X: Any) -> Any:
        """A batch of rows, (b, d), in the form that the other methods take."""
        ...

    def select(self, batch: Any, rows: np.ndarray) -> Any:
        """Some rows of a prepared batch."""
        ...

    def project(self, batch: Any, out: np.ndarray) -> None:
        """Write W (x − c) of every row to `out`, (b, m)."""
        ...

    def differentiate(self, batch: Any, slopes: np.ndarray) -> None:
        """Write the parameter's gradient, given slopes ∂/∂W(x − c), (b, m)."""
        ...

    def linear_map(self) -> LinearMap:
        """The current W, as a new linear map."""
        ...

    def offset(self) -> np.ndarray:
        """W c, (m,)."""
        ...


class DenseWeights:
    """A matrix W without structure, stored as Wᵀ, (d, m).

    A batch takes two products of b·d·m multiply-adds, or nnz·m if it is CSR. Memory
    O(d m).

    Parameters
    ----------
    linear : LinearMap of shape (m, d)
        Initial W.
    input_scale : array of shape (d,) or None
        Factors of the inputs (ARD), which are multiplied into W.
    center : array of shape (d,)
        c.
    """

    def __init__(
        self, linear: LinearMap, input_scale: np.ndarray | None, center: np.ndarray
    ) -> None:
        self._center = center
        transposed = np.array(linear.to_dense().T, order="C")
        sizes = np.full(len(transposed), _size(transposed))
        if input_scale is not None:
            transposed *= input_scale[:, None].astype(transposed.dtype)
            sizes *= input_scale
        self.parameter = Parameter(transposed, sizes)

    def prepare(self, X: Any) -> Any:
        """The rows x − c and their transpose; `project` and others centre CSR rows."""
        if sparse.issparse(X):
            return X, X.T.tocsr()
        X = X - self._center
        return X, X.T

    def select(self, batch: Any, rows: np.ndarray) -> Any:
        selected = batch[0][rows]
        is_sparse = sparse.issparse(selected)
        return selected, selected.T.tocsr() if is_sparse else selected.T

    def project(self, batch: Any, out: np.ndarray) -> None:
        rows, W = batch[0], self.parameter.value
        if sparse.issparse(rows):
            _sparse_product(rows, W, out)
            out -= self.offset()
            return
        _by_columns(lambda part: np.matmul(rows, W[:, part], out=out[:, part]), out)

    def differentiate(self, batch: Any, slopes: np.ndarray) -> None:
        columns, out = batch[1], self.parameter.gradient
        if sparse.issparse(columns):
            _sparse_product(columns, slopes, out)
            out -= np.outer(self._center, slopes.sum(axis=0))
            return

        def step(part: slice) -> None:
            np.matmul(columns, slopes[:, part], out=out[:, part])

        _by_columns(step, slopes)

    def linear_map(self) -> Matrix:
        return Matrix(self.parameter.value.copy())

    def offset(self) -> np.ndarray:
        return self._center @ self.parameter.value


class CirculantWeights:
    """Stacked circulants: one vector r for each d rows of W, gradients by FFT.

    (circ(r) D x)_i = Σ_j r_{i−j} (D x)_j, so with x̂ = rfft(D x) the gradient of r is
    irfft(Σ_rows conj(x̂) ∘ rfft(slopes)). O(m log d) time per row, O(m + d) memory.

    Parameters
    ----------
    linear : CirculantMap of shape (m, d)
        Initial W.
    input_scale : array of shape (d,) or None
        Factors of the inputs (ARD), which are multiplied into W.
    center : array of shape (d,)
        c.

    References
    ----------
    F. X. Yu et al., Compact nonlinear maps and circulant extensions, 2015, section 8.
    """

    def __init__(
        self, linear: CirculantMap, input_scale: np.ndarray | None, center: np.ndarray
    ) -> None:
        self._center = center
        size = _size(linear.vectors)
        if input_scale is not None:
            linear = linear.scale_columns(input_scale)
        self._initial = linear  # its signs and scale do not change
        r = linear.vectors.copy()
        self.parameter = Parameter(r, np.full(len(r), size))

    def prepare(self, X: Any) -> np.ndarray:
        """x̂ of every row, (b, d/2 + 1) complex."""
        d = self.parameter.value.shape[1]
        kind = np.result_type(self.parameter.value, np.complex64)
        spectra = np.empty((X.shape[0], d // 2 + 1), dtype=kind)

        def step(rows: slice) -> None:
            part = dense_rows(rows_of(X, rows)) - self._center
            spectra[rows] = fft.rfft(part * self._initial.signs, d)

        for_fixed_blocks(step, len(spectra), WEIGHT_BLOCK_ROWS, d)
        return spectra

    def select(self, batch: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return batch[rows]

    def project(self, batch: np.ndarray, out: np.ndarray) -> None:
        vectors, m = fft.rfft(self.parameter.value), out.shape[1]
        d = self.parameter.value.shape[1]

        def step(rows: slice) -> None:
            Z = fft.irfft(batch[rows, None] * vectors, d)  # (r, blocks, d)
            Z = Z.reshape(len(Z), -1)[:, :m]
            np.multiply(Z, self._initial.scale, out=out[rows])

        for_fixed_blocks(step, len(batch), WEIGHT_BLOCK_ROWS, out.shape[1])

    def differentiate(self, batch: np.ndarray, slopes: np.ndarray) -> None:
        n_vectors, d = self.parameter.value.shape
        n_blocks = -(-len(batch) // WEIGHT_BLOCK_ROWS)
        sums = np.empty((n_blocks, n_vectors, d // 2 + 1), dtype=batch.dtype)

        def step(rows: slice) -> None:
            conjugate = batch[rows].conj()
            scaled = np.zeros((len(conjugate), n_vectors * d), dtype=slopes.dtype)
            # the map drops rows of the last circulant; their slopes are zero
            scaled[:, : slopes.shape[1]] = slopes[rows] * self._initial.scale
            spectra = fft.rfft(scaled.reshape(-1, n_vectors, d))
            spectra *= conjugate[:, None]
            spectra.sum(axis=0, out=sums[rows.start // WEIGHT_BLOCK_ROWS])

        for_fixed_blocks(step, len(batch), WEIGHT_BLOCK_ROWS, slopes.shape[1])
        self.parameter.gradient[:] = fft.irfft(sums.sum(axis=0), d)

    def linear_map(self) -> CirculantMap:
        initial = self._initial
        return CirculantMap(self.parameter.value.copy(), initial.signs, initial.scale)

    def offset(self) -> np.ndarray:
        return self.linear_map().apply(self._center[None])[0]


def _size(W: np.ndarray) -> float:
    """The root mean square of the initial frequencies."""
    return float(np.sqrt(np.mean(np.square(W, dtype=np.float64))))


def _by_columns(step: Any, Z: np.ndarray) -> None:
    """Run `step` on slices of Z's columns."""
    b, m = Z.shape
    width = -(-m // 4 // MIN_COLUMNS) * MIN_COLUMNS
    for_fixed_blocks(step, m, max(MIN_COLUMNS, min(MAX_COLUMNS, width)), b)


def _sparse_product(A: Any, B: np.ndarray, out: np.ndarray) -> None:
    """Write A B to `out` for CSR rows A, in blocks of rows."""
    product = Matrix(read_only(B))
    rows = max(WEIGHT_BLOCK_ROWS, -(-len(out) // SPARSE_BLOCKS))

    def step(part: slice) -> None:
        product.apply(rows_of(A, part), out=out[part])

    for_fixed_blocks(step, len(out), rows, out.shape[1])
