"""Circulant projections: one random vector for d rows, applied by FFT."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import fft

from .._core.ops import Ops, Tensor
from .._core.random import Stream
from ..kernels.laws import Law
from .algebra import Pad, balanced_factors
from .base import FFT_NS, Cost, Projection, dense_rows
from .block_map import BlockMap


class Circulant(Projection):
    """W = circ(r) D: cyclic shifts of a random vector r, after random sign flips D.

    (circ(r) x)_i = Σ_j r_{i−j mod d} x_j. More than d rows stack several circulants
    with the same D, so that the FFT of D x is computed once. Given D, each row still
    has the distribution of the law, so the kernel estimate is unbiased. Rows of one
    circulant are dependent: for the Gaussian kernel the variance is up to twice that of
    independent rows for close pairs, and equal for distant pairs. d is padded to a
    length for which FFTs are fast.

    Time is O(n m log d), memory O(m + d). The law must have independent coordinates, or
    be a scale mixture of normals (one multiplier per row). The first m rows of a map
    with 2m rows are those of a map with m rows.

    See Also
    --------
    SORF : Less error at a similar cost, for mixtures of normals.
    bochner.methods.circulant : Random features with this projection.

    References
    ----------
    F. X. Yu et al., Compact nonlinear maps and circulant extensions, 2015.

    Examples
    --------
    >>> from bochner import RandomFeatures
    >>> X = [[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]]
    >>> RandomFeatures(8, projection="circulant", random_state=0).fit_transform(X).shape
    (2, 8)
    """

    needs: ClassVar = ("coordinates", "multipliers")

    def cost(
        self,
        n_out: int,
        n_in: int,
        law: Law | None = None,
        filled: float | None = None,
    ) -> Cost:
        d = _padded_length(n_in)
        n_rows = -(-n_out // d) * d
        return Cost(10 * n_rows * np.log2(max(2, d)), 3 * n_rows)

    def _sample(self, law: Any, n_out: int, n_in: int, rng: Stream) -> CirculantMap:
        d = _padded_length(n_in)
        r = law.coordinates((-(-n_out // d), d), rng.child("coordinates"))
        return CirculantMap(
            vectors=r,
            signs=rng.child("signs").signs(n_in),
            scale=law.multipliers(n_out, rng.child("multipliers")),
        )


def _padded_length(n_in: int) -> int:
    """The smallest length from n_in on for which FFTs are fast."""
    return fft.next_fast_len(n_in, real=True)


@dataclass(frozen=True, eq=False)
class CirculantMap(BlockMap):
    """diag(scale) · (first n_out rows of [circ(r_1); circ(r_2); …]) · D.

    Parameters
    ----------
    vectors : array of shape (blocks, d)
        r of each circulant.
    signs : array of shape (n_in,), n_in ≤ d
        The diagonal of D. Inputs are padded to length d.
    scale : array of shape (n_out,)
        Factors of the output rows.
    """

    vectors: np.ndarray
    signs: np.ndarray
    scale: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return (self.scale.size, self.signs.size)

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.vectors.dtype

    @property
    def work_columns(self) -> int:
        # Signed rows, their spectrum, its product with that of r, and the inverse FFT.
        return self.shape[0] + 5 * self.vectors.shape[1]

    @property
    def block_rows(self) -> int:  # type: ignore[override]
        return self.vectors.shape[1]

    @property
    def block_ns(self) -> float:  # type: ignore[override]
        return self.block_rows * FFT_NS

    def apply(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        n_out, d = self.scale.size, self.vectors.shape[1]
        if out is None:
            out = np.empty((X.shape[0], n_out), dtype=self.dtype)
        spectrum = fft.rfft(dense_rows(X) * self.signs, d)
        for block, start in enumerate(range(0, n_out, d)):
            stop = min(start + d, n_out)
            rows = fft.irfft(spectrum * fft.rfft(self.vectors[block]), d)
            np.multiply(
                rows[:, : stop - start], self.scale[start:stop], out=out[:, start:stop]
            )
        return out

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        n_out, d = self.scale.size, self.vectors.shape[1]
        signed = ops.multiply(X, self.signs)
        T = Pad((d, self.signs.size)).forward(ops, signed)
        rows = convolve_rows(ops, T, self.vectors)
        return ops.multiply(ops.first_columns(rows, n_out), self.scale)

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        n_out, d = self.scale.size, self.vectors.shape[1]
        scaled = Z * self.scale
        spectrum = np.zeros((Z.shape[0], d // 2 + 1), dtype=np.result_type(Z, 1j))
        for block, start in enumerate(range(0, n_out, d)):
            # The transpose of a circulant is a correlation: conjugate its spectrum.
            part = fft.rfft(scaled[:, start : start + d], d)
            spectrum += part * fft.rfft(self.vectors[block]).conj()
        return fft.irfft(spectrum, d)[:, : self.signs.size] * self.signs

    def astype(self, dtype: Any) -> Self:
        return replace(
            self,
            vectors=self.vectors.astype(dtype, copy=False),
            signs=self.signs.astype(dtype, copy=False),
            scale=self.scale.astype(dtype, copy=False),
        )

    def scale_rows(self, factors: np.ndarray) -> CirculantMap:
        return replace(self, scale=self.scale * factors.astype(self.dtype))

    def scale_columns(self, factors: np.ndarray) -> CirculantMap:
        return replace(self, signs=self.signs * factors.astype(self.dtype))

    def blocks(self, needed: np.ndarray) -> CirculantMap:
        scale = self.scale[self.rows_in(needed)]
        return replace(self, vectors=self.vectors[needed], scale=scale)


class _Complex(NamedTuple):
    """Real and imaginary part, each a tensor or an array."""

    real: Any
    imag: Any


def convolve_rows(ops: Ops, X: Tensor, vectors: np.ndarray) -> Tensor:
    """Return circular convolutions of rows X, (n, d), with all vectors, (k, d).

    The result has shape (n, k·d). With d = a·b, x_{j₁b + j₂} as an (a, b) matrix and
    w_n = exp(−2πi/n), the Fourier transform is (Cooley and Tukey, 1965)

        x̂_{k₁ + a k₂} = Σ_{j₂} w_b^{j₂k₂} · w_d^{j₂k₁} · Σ_{j₁} w_a^{j₁k₁} x_{j₁j₂}

    that is, two matrix products with an elementwise multiplication between them. A
    convolution multiplies spectra, for which the order of frequencies does not matter,
    and the inverse transform applies the same steps backwards. This takes O(√d)
    operations per number and no complex numbers. The ONNX operator DFT takes several
    times as long in onnxruntime, particularly if d is not a power of two, and is less
    exact in float32; docs/saving.md has the figures.
    """
    n_vectors, d = vectors.shape
    a, b = balanced_factors(d)
    A, B, T = _waves(a, a, a), _waves(b, b, b), _waves(a, b, d)
    # Spectra of the vectors; frequency k₁ + a k₂ is at index (k₁, k₂).
    R = np.fft.fft(vectors.astype(np.float64)).reshape(n_vectors, b, a)
    spectrum = R.transpose(0, 2, 1) / d
    x = ops.reshape(X, 0, 1, a, b)
    first = _Complex(ops.matmul(A.real, x), ops.matmul(A.imag, x))
    transformed = _combine(ops, "matmul", _combine(ops, "multiply", first, T), B)
    convolved = _combine(ops, "multiply", transformed, spectrum)
    inverse = _combine(ops, "matmul", convolved, B.conj())
    inverse = _combine(ops, "multiply", inverse, T.conj())
    # The result is real, so the imaginary part is not computed.
    real = ops.add(ops.matmul(A.real, inverse.real), ops.matmul(A.imag, inverse.imag))
    return ops.reshape(real, 0, n_vectors * d)


def _waves(rows: int, columns: int, period: int) -> np.ndarray:
    """Return w_period^{jk}, (rows, columns)."""
    phases = np.outer(np.arange(rows), np.arange(columns)) % period
    return np.exp(-2j * np.pi * phases / period)


def _combine(ops: Ops, operation: str, u: _Complex, v: np.ndarray) -> _Complex:
    """Apply a bilinear operation to complex u and a constant complex v."""
    call = getattr(ops, operation)
    real = ops.subtract(call(u.real, v.real), call(u.imag, v.imag))
    return _Complex(real, ops.add(call(u.real, v.imag), call(u.imag, v.real)))
