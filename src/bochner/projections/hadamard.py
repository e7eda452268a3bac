"""Products of Hadamard matrices, diagonals and permutations: SORF and Fastfood."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.linalg import hadamard

from .._core.ops import Ops, Tensor
from .._core.parallel import for_row_blocks
from .._core.random import Stream
from .._core.validation import FLOATS, read_only
from ..kernels.laws import Law
from ._fwht import chain_csr, chain_dense, fwht_rows
from ._simd import LANES
from .algebra import (
    FLOAT64,
    BlockMap,
    Pad,
    Permute,
    Scale,
    Stack,
    Structural,
    balanced_factors,
    product,
)
from .base import BUTTERFLY_NS, Cost, LinearMap, Projection, checked_output, dense_rows

SMALLEST = 16
"""Padded dimension of narrow data: fewer coordinates have too few sign patterns."""


def fwht(X: np.ndarray) -> np.ndarray:
    """Fast Walsh-Hadamard transform of each row of X, in place.

    X ← X H with H the symmetric ±1 Hadamard matrix in natural (Sylvester) order, not
    normalised: applying it twice multiplies by d. n d log2(d) additions on all cores,
    no memory beyond a buffer of eight rows per thread.

    Parameters
    ----------
    X : array of shape (n, d), d a power of two, float32 or float64, C-contiguous
        Overwritten.

    Returns
    -------
    X itself.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.projections import fwht
    >>> fwht(np.array([[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]))
    array([[1., 1., 1., 1.],
           [4., 0., 0., 0.]])
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype not in FLOATS:
        raise TypeError(
            "fwht: X must be a two-dimensional float32 or float64 array, which is "
            f"transformed in place; got {_described(X)}."
        )
    if not X.flags.c_contiguous or not X.flags.writeable:
        raise ValueError(
            "fwht: X is transformed in place and must be C-contiguous and writeable; "
            "pass np.array(X, order='C')."
        )
    if X.shape[1] == 0 or X.shape[1] & (X.shape[1] - 1):
        raise ValueError(
            f"fwht: the number of columns must be a power of two, got {X.shape[1]}; "
            "pad with zeros."
        )
    for_row_blocks(
        lambda: lambda rows: fwht_rows(X[rows]), X.shape[0], 4 * LANES, X.shape[1]
    )
    return X


def _described(X: Any) -> str:
    if isinstance(X, np.ndarray):
        return f"{X.ndim} dimensions of {X.dtype}"
    return type(X).__name__


class SORF(Projection):
    """Structured orthogonal random features: diag(r) Hn D₁ Hn D₂ Hn D₃.

    Three products of the normalised Hadamard matrix Hn with random signs D, one radius
    r_i of the law per row; blocks of d' rows, d' the next power of two (at least 16),
    each with its own signs. Rows of a block are orthogonal in the padded space.
    Slightly biased for small d' (at most 6z/√d', z = ‖x − y‖/σ).

    Time O(n m log d'), memory O(m + d'). Needs a mixture of normals, as
    all isotropic laws are but the spherical. A map of m rows is a prefix of one of 2m.

    References
    ----------
    F. X. Yu et al., Orthogonal random features, NIPS 2016.

    Examples
    --------
    >>> from bochner import RandomFeatures
    >>> X = [[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]]
    >>> RandomFeatures(8, projection="sorf", random_state=0).fit_transform(X).shape
    (2, 8)
    """

    # isotropic in the padded dimension too, that is, a mixture of normals
    needs: ClassVar = ("radii", "multipliers")

    def cost(
        self,
        n_out: int,
        n_in: int,
        law: Law | None = None,
        filled: float | None = None,
    ) -> Cost:
        return _chain_cost(3, n_out, n_in)

    def _sample(self, law: Law, n_out: int, n_in: int, rng: Stream) -> HadamardChain:
        d = padded(n_in)
        blocks = -(-n_out // d)
        signs = rng.child("signs").signs(blocks, 3, d)
        radii = law.radii(n_out, d, rng.child("radii"))  # type: ignore[attr-defined]
        return HadamardChain(
            n_in=n_in,
            orders=np.tile(np.arange(d, dtype=np.int32), (3, 1, 1)),
            factors=np.ascontiguousarray(signs.transpose(1, 0, 2)),
            # H has rows of length √d, so the product of three has √d³
            scale=radii * d**-1.5,
        )


class Fastfood(Projection):
    """V = S H G Π H B: a Gaussian-like matrix from two Hadamard transforms.

    B random signs, Π a permutation, G normal, H the ±1 Hadamard matrix, and S such that
    the rows have exactly the lengths that the law draws. Blocks of d' rows, d' the next
    power of two (at least 16). Rows of a block are correlated, so its kernel error is
    above that of independent rows; SORF is better at about the same cost.

    Time O(n m log d'), memory O(m + d'). Needs a mixture of normals, as
    all isotropic laws are but the spherical. A map of m rows is a prefix of one of 2m.

    References
    ----------
    Q. Le, T. Sarlos and A. Smola, Fastfood: approximating kernel expansions in
    loglinear time, ICML 2013.

    Examples
    --------
    >>> from bochner import RandomFeatures
    >>> X = [[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]]
    >>> RandomFeatures(8, projection="fastfood", random_state=0).fit_transform(X).shape
    (2, 8)
    """

    # isotropic in the padded dimension too, that is, a mixture of normals
    needs: ClassVar = ("radii", "multipliers")

    def cost(
        self,
        n_out: int,
        n_in: int,
        law: Law | None = None,
        filled: float | None = None,
    ) -> Cost:
        return _chain_cost(2, n_out, n_in)

    def _sample(self, law: Law, n_out: int, n_in: int, rng: Stream) -> HadamardChain:
        d = padded(n_in)
        blocks = -(-n_out // d)
        B = rng.child("signs").signs(blocks, d)
        G = rng.child("normal").normal(blocks, d)
        order = np.argsort(rng.child("order").words(blocks, d), axis=1, kind="stable")
        radii = law.radii(n_out, d, rng.child("radii"))  # type: ignore[attr-defined]
        identity = np.broadcast_to(np.arange(d), (blocks, d))
        # rows of H G Π H B have length √d ‖g‖ in their block
        length = np.sqrt(d) * np.linalg.norm(G, axis=1).repeat(d)[:n_out]
        return HadamardChain(
            n_in=n_in,
            orders=np.stack([identity, order]).astype(np.int32),
            factors=np.stack([B, G]),
            scale=radii / length,
        )


@dataclass(frozen=True, eq=False)
class HadamardChain(BlockMap):
    """Blocks of rows diag(scale) · H F_K Π_K · … · H F_1 Π_1 · Pad, fused.

    Eight rows of data at a time, transposed, so that every butterfly is a vector
    operation (`_fwht.py`). `algebra()` is the same map as a product of plain ones.

    Parameters
    ----------
    n_in : int
    orders : int32 array of shape (K, blocks, d), or (K, 1, d)
        The latter where all blocks have the same.
    factors : array of shape (K, blocks, d)
    scale : array of shape (n_out,)
    """

    n_in: int
    orders: np.ndarray
    factors: np.ndarray
    scale: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return (self.scale.size, self.n_in)

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.scale.dtype

    @property
    def block_rows(self) -> int:  # type: ignore[override]
        return self.factors.shape[2]

    @property
    def block_ns(self) -> float:  # type: ignore[override]
        stages = len(self.factors) * np.log2(self.block_rows)
        return self.block_rows * stages * BUTTERFLY_NS

    def apply(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        out = checked_output(X, self, out)
        chain = tuple(map(read_only, (self.orders, self.factors, self.scale)))
        if sparse.issparse(X):
            chain_csr(*map(read_only, (X.data, X.indices, X.indptr)), *chain, out)
        else:
            chain_dense(read_only(np.ascontiguousarray(X)), *chain, out)
        return out

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        n_steps, n_blocks, d = self.factors.shape
        a, b = balanced_factors(d)
        T = Pad((d, self.n_in)).forward(ops, X)
        if _moves(self.orders[0]):
            orders = np.broadcast_to(self.orders[0], (n_blocks, d))
            T = ops.reshape(ops.take(T, orders.ravel()), 0, n_blocks, a, b)
        else:
            T = ops.reshape(T, 0, 1, a, b)
        for k in range(n_steps):
            if k > 0 and _moves(self.orders[k]):
                order = self.orders[k] + d * np.arange(n_blocks)[:, None]
                T = ops.take(ops.reshape(T, 0, n_blocks * d), order.ravel())
                T = ops.reshape(T, 0, n_blocks, a, b)
            T = ops.multiply(T, self.factors[k].reshape(n_blocks, a, b))
            T = _transform(ops, T, a, b)
        Z = ops.first_columns(ops.reshape(T, 0, n_blocks * d), self.scale.size)
        return ops.multiply(Z, self.scale)

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        return self.algebra().apply_adjoint(Z)

    def astype(self, dtype: Any) -> Self:
        return replace(
            self,
            factors=self.factors.astype(dtype, copy=False),
            scale=self.scale.astype(dtype, copy=False),
        )

    def scale_rows(self, factors: np.ndarray) -> HadamardChain:
        return replace(self, scale=self.scale * factors.astype(self.dtype))

    def scale_columns(self, factors: np.ndarray) -> HadamardChain:
        wide = np.ones(self.factors.shape[2], dtype=self.dtype)
        wide[: self.n_in] = factors
        scaled = self.factors.copy()
        scaled[0] *= wide[self.orders[0]]
        return replace(self, factors=scaled)

    def blocks(self, needed: np.ndarray) -> HadamardChain:
        shared = self.orders.shape[1] == 1
        return replace(
            self,
            orders=self.orders if shared else self.orders[:, needed],
            factors=self.factors[:, needed],
            scale=self.scale[self.rows_in(needed)],
        )

    def algebra(self) -> LinearMap:
        """The same map as a product of plain ones, block by block."""
        d = self.factors.shape[2]
        blocks = []
        for block, start in enumerate(range(0, self.scale.size, d)):
            scale = self.scale[start : start + d]
            parts: list[LinearMap] = [Scale(scale), Pad((scale.size, d), self.dtype)]
            for k in reversed(range(len(self.factors))):
                order = self.orders[k, min(block, self.orders.shape[1] - 1)]
                parts += [
                    Hadamard(d, self.dtype),
                    Scale(self.factors[k, block]),
                    Permute(order, self.dtype),
                ]
            blocks.append(product(*parts, Pad((d, self.n_in), self.dtype)))
        return Stack(tuple(blocks))


@dataclass(frozen=True, eq=False)
class Hadamard(Structural):
    """H, the symmetric ±1 matrix of order d = 2^p: n d log2(d) additions."""

    d: int
    dtype: np.dtype = FLOAT64

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return (self.d, self.d)

    def apply(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        if out is None:
            out = np.empty(X.shape, dtype=self.dtype)
        out[:] = dense_rows(X)
        return fwht(out)

    def forward(self, ops: Ops, X: Tensor) -> Tensor:
        a, b = balanced_factors(self.d)
        T = _transform(ops, ops.reshape(X, 0, a, b), a, b)
        return ops.reshape(T, 0, self.d)

    def apply_adjoint(self, Z: np.ndarray) -> np.ndarray:
        return self.apply(Z)


def _moves(orders: np.ndarray) -> bool:
    return bool((orders != np.arange(orders.shape[-1])).any())


def _transform(ops: Ops, T: Tensor, a: int, b: int) -> Tensor:
    """Walsh-Hadamard transform of (…, a, b): H_{ab} = H_a ⊗ H_b."""
    T = ops.matmul(T, hadamard(b).astype(np.float64))
    return ops.matmul(hadamard(a).astype(np.float64), T)


def padded(d: int) -> int:
    """The power of two, at least SMALLEST, that d coordinates are padded to."""
    return max(SMALLEST, 1 << (d - 1).bit_length())


def _chain_cost(n_transforms: int, n_out: int, n_in: int) -> Cost:
    """Butterflies of whole blocks; their factors, places and scales."""
    d = padded(n_in)
    n_rows = -(-n_out // d) * d
    return Cost(n_transforms * n_rows * np.log2(d), 4 * n_rows)
