"""SORF and Fastfood: products of Hadamard matrices, diagonals and permutations."""

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
    Pad,
    Permute,
    Scale,
    Stack,
    Structural,
    balanced_factors,
    product,
)
from .base import BUTTERFLY_NS, Cost, LinearMap, Projection, checked_output, dense_rows
from .block_map import BlockMap

MIN_LENGTH = 16
"""Smallest length of transforms. Narrow data is padded to it, because fewer coordinates
have too few sign patterns."""


def fwht(X: np.ndarray) -> np.ndarray:
    """Fast Walsh-Hadamard transform of each row of X, in place.

    X ← X H, where H is the symmetric ±1 Hadamard matrix in natural (Sylvester) order. H
    is not normalised: applying it twice multiplies by d. The transform takes
    n d log2(d) additions on all cores, and memory for a buffer of eight rows per
    thread.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows in float32 or float64, C-contiguous and writeable; d is a power of two. X
        is overwritten.

    Returns
    -------
    array of shape (n, d)
        X itself.

    Raises
    ------
    TypeError
        If X is not a two-dimensional float32 or float64 array.
    ValueError
        If X is not C-contiguous and writeable, or d is not a power of two.

    See Also
    --------
    SORF : The projection that uses this transform.

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
            f"transformed in place; got {_describe(X)}."
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


def _describe(X: object) -> str:
    """The dimension and type of an array, or the type of another object."""
    if isinstance(X, np.ndarray):
        return f"{X.ndim} dimensions of {X.dtype}"
    return type(X).__name__


class SORF(Projection):
    """Structured orthogonal random features: W = diag(r) Hn D₁ Hn D₂ Hn D₃.

    Hn is the normalised Hadamard matrix, D₁, D₂ and D₃ are diagonal matrices of random
    signs, and r_i is a radius drawn from the law. W consists of blocks of d' rows, each
    with its own signs, where d' is the next power of two (at least 16). The rows of a
    block are orthogonal in the padded space. The kernel estimate is slightly biased for
    small d', by at most 6z/√d' with z = ‖x − y‖/σ.

    Time is O(n m log d'), memory O(m + d'). The law must be a mixture of normals, as
    all isotropic laws except the spherical law are. The first m rows of a map with 2m
    rows are those of a map with m rows.

    See Also
    --------
    Orthogonal : The exact form, with O(m d) time per row.
    bochner.methods.sorf : Random features with this projection.

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

    # The law must be isotropic in the padded dimension too: a mixture of normals.
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
        d = padded_length(n_in)
        blocks = -(-n_out // d)
        signs = rng.child("signs").signs(blocks, 3, d)
        radii = law.radii(n_out, d, rng.child("radii"))  # type: ignore[attr-defined]
        return HadamardChain(
            n_in=n_in,
            orders=np.tile(np.arange(d, dtype=np.int32), (3, 1, 1)),
            factors=np.ascontiguousarray(signs.transpose(1, 0, 2)),
            # Rows of H have length √d, so rows of the product of three have √d³.
            scale=radii * d**-1.5,
        )


class Fastfood(Projection):
    """V = S H G Π H B: an approximately Gaussian matrix from two Hadamard transforms.

    B is a diagonal matrix of random signs, Π a permutation, G a diagonal matrix of
    normal numbers, H the ±1 Hadamard matrix, and S scales the rows to lengths drawn
    from the law. V consists of blocks of d' rows, where d' is the next power of two (at
    least 16). The rows of a block are correlated, so the kernel error is larger than
    that of independent rows. SORF has less error at about the same cost.

    Time is O(n m log d'), memory O(m + d'). The law must be a mixture of normals, as
    all isotropic laws except the spherical law are. The first m rows of a map with 2m
    rows are those of a map with m rows.

    See Also
    --------
    SORF : The same cost, and less error.
    bochner.methods.fastfood : Random features with this projection.

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

    # The law must be isotropic in the padded dimension too: a mixture of normals.
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
        d = padded_length(n_in)
        blocks = -(-n_out // d)
        B = rng.child("signs").signs(blocks, d)
        G = rng.child("normal").normal(blocks, d)
        order = np.argsort(rng.child("order").words(blocks, d), axis=1, kind="stable")
        radii = law.radii(n_out, d, rng.child("radii"))  # type: ignore[attr-defined]
        identity = np.broadcast_to(np.arange(d), (blocks, d))
        # Rows of H G Π H B have the length √d ‖g‖, with g the diagonal of their G.
        length = np.sqrt(d) * np.linalg.norm(G, axis=1).repeat(d)[:n_out]
        return HadamardChain(
            n_in=n_in,
            orders=np.stack([identity, order]).astype(np.int32),
            factors=np.stack([B, G]),
            scale=radii / length,
        )


@dataclass(frozen=True, eq=False)
class HadamardChain(BlockMap):
    """Blocks of rows diag(scale) · H F_K Π_K · … · H F_1 Π_1 · Pad, in fused loops.

    The compiled loops (`_fwht.py`) transpose eight rows of data at a time, so that
    every butterfly is a vector operation. `algebra()` returns the same map as a product
    of simple maps.

    Parameters
    ----------
    n_in : int
        Number of features.
    orders : int32 array of shape (K, blocks, d), or (K, 1, d)
        Permutations Π; the second shape if all blocks have the same permutations.
    factors : array of shape (K, blocks, d)
        Diagonals F.
    scale : array of shape (n_out,)
        Factors of the output rows.
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
        if _is_permuted(self.orders[0]):
            orders = np.broadcast_to(self.orders[0], (n_blocks, d))
            T = ops.reshape(ops.take(T, orders.ravel()), 0, n_blocks, a, b)
        else:
            T = ops.reshape(T, 0, 1, a, b)
        for k in range(n_steps):
            if k > 0 and _is_permuted(self.orders[k]):
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
        padded = np.ones(self.factors.shape[2], dtype=self.dtype)
        padded[: self.n_in] = factors
        scaled = self.factors.copy()
        scaled[0] *= padded[self.orders[0]]
        return replace(self, factors=scaled)

    def blocks(self, needed: np.ndarray) -> HadamardChain:
        is_shared = self.orders.shape[1] == 1
        return replace(
            self,
            orders=self.orders if is_shared else self.orders[:, needed],
            factors=self.factors[:, needed],
            scale=self.scale[self.rows_in(needed)],
        )

    def algebra(self) -> LinearMap:
        """Return the same map as a stack of products of simple maps, one per block."""
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
    """H, the symmetric ±1 Hadamard matrix of order d = 2^p; n d log2(d) additions."""

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


def _is_permuted(orders: np.ndarray) -> bool:
    """Whether any permutation in `orders` differs from the identity."""
    return bool((orders != np.arange(orders.shape[-1])).any())


def _transform(ops: Ops, T: Tensor, a: int, b: int) -> Tensor:
    """Walsh-Hadamard transform of (…, a, b): H_{ab} = H_a ⊗ H_b."""
    T = ops.matmul(T, hadamard(b).astype(np.float64))
    return ops.matmul(hadamard(a).astype(np.float64), T)


def padded_length(d: int) -> int:
    """The power of two, at least MIN_LENGTH, that d coordinates are padded to."""
    return max(MIN_LENGTH, 1 << (d - 1).bit_length())


def _chain_cost(n_transforms: int, n_out: int, n_in: int) -> Cost:
    """Butterflies of complete blocks; factors, permutations and scales are stored."""
    d = padded_length(n_in)
    n_rows = -(-n_out // d) * d
    return Cost(n_transforms * n_rows * np.log2(d), 4 * n_rows)
