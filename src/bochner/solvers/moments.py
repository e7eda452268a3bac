"""Mergeable sums over rows: all that ridge and principal components need to know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.linalg import blas, get_lapack_funcs, lapack

GRAM_ROWS = {"float64": 2048, "float32": 8192}
"""Rows multiplied at a time: few where they are widened first."""

ORIGIN_ROWS = 256
"""Rows whose mean is the origin of sums."""


def add_gram(
    G: np.ndarray,
    F: Any,
    weight: np.ndarray | None,
    *,
    intercept: bool = False,
    beside: np.ndarray | None = None,
    origin: np.ndarray | None = None,
    dtype: Any = np.float64,
) -> np.ndarray:
    """G += FᵀWF in place, its upper triangle; G float64 in Fortran order.

    With an intercept F has a further column of ones; an origin, (M,), is subtracted
    from the rows first. Returns Fᵀ·beside for further columns `beside`, (b, K), in
    float64. In float32 products are half the work, and exact to about 1e-6 of the
    largest. O(b M²) time.
    """
    step = GRAM_ROWS[np.dtype(dtype).name]
    beside = np.empty((F.shape[0], 0)) if beside is None else beside
    products = np.zeros((len(G), beside.shape[1]))
    for start in range(0, F.shape[0], step):
        part = F[start : start + step]
        part = part.toarray() if sparse.issparse(part) else part
        if origin is not None:
            part = part - origin.astype(part.dtype)
        part = part.astype(dtype, copy=False)
        if intercept:
            part = np.column_stack([part, np.ones(len(part), dtype=dtype)])
        if beside.size:
            # by the same library as the Gram matrix: threads of NumPy's would spin on
            gemm = blas.dgemm if dtype == np.float64 else blas.sgemm
            products += gemm(1.0, part.T, beside[start : start + step].T, trans_b=1)
        if weight is not None:
            root = np.sqrt(weight[start : start + step, None])
            part = part * root.astype(dtype)
        if dtype == np.float64:
            blas.dsyrk(1.0, part.T, beta=1.0, c=G, overwrite_c=1)
        else:
            G += blas.ssyrk(1.0, part.T)
    return products


def factored(P: np.ndarray) -> np.ndarray:
    """The upper Cholesky factor of P, lifted by as little as rounding asks for.

    P's upper triangle is given, and changed where it has to be lifted.
    """
    (potrf,) = get_lapack_funcs(("potrf",), (P,))
    factor, failed = potrf(P, lower=0)
    ridge = np.finfo(P.dtype).eps * np.trace(P)
    while failed and np.isfinite(ridge):
        P[np.diag_indices_from(P)] += ridge
        ridge *= 10
        factor, failed = potrf(P, lower=0)
    return factor


def mirrored(G: np.ndarray) -> np.ndarray:
    """The whole of a symmetric matrix of which the upper triangle is given."""
    upper = np.triu(G)
    full = upper + upper.T
    full[np.diag_indices_from(full)] -= upper.diagonal()
    return full


def solve_positive(H: np.ndarray, G: np.ndarray) -> np.ndarray:
    """H⁻¹G for a positive definite H, its upper triangle given, or least squares."""
    factor, failed = lapack.dpotrf(H, lower=0)
    if failed:
        return np.linalg.lstsq(mirrored(H), G, rcond=None)[0]
    return lapack.dpotrs(factor, G, lower=0)[0]


@dataclass
class Moments:
    """Σw, Σwf, Σwff ᵀ, Σwt, Σwft ᵀ, Σwt² over rows f with targets t.

    All about an origin of features and one of targets, which the first rows set: their
    mean. Sums about zero would cancel where targets, or features, lie far from it.
    Sums of parts add up (`merge`), whatever their origins: blocks, files and workers
    give one answer. Memory O(M²).
    """

    n_rows: int
    weight: float
    f: np.ndarray  # (M,)
    ff: np.ndarray  # (M, M), upper triangle, Fortran order
    t: np.ndarray  # (K,)
    ft: np.ndarray  # (M, K)
    tt: np.ndarray  # (K,)
    origin_f: np.ndarray | None = None  # (M,), zero where None
    origin_t: np.ndarray | None = None  # (K,)

    @classmethod
    def zero(cls, n_columns: int, n_targets: int) -> Self:
        """Of no rows."""
        return cls(
            0,
            0.0,
            np.zeros(n_columns),
            np.zeros((n_columns, n_columns), order="F"),
            np.zeros(n_targets),
            np.zeros((n_columns, n_targets)),
            np.zeros(n_targets),
        )

    def add(
        self, F: Any, T: np.ndarray, weight: np.ndarray | None, dtype: Any = np.float64
    ) -> None:
        """Take in rows F (b, M) with targets T (b, K)."""
        w = np.ones(F.shape[0]) if weight is None else weight
        T = T.astype(np.float64)
        if not self.weight:
            self.origin_f, self.origin_t = _mean_of_first(F, w), _mean_of_first(T, w)
        if self.origin_t is not None:
            T = T - self.origin_t
        wT = w[:, None] * T
        self.n_rows += int((w > 0).sum())
        self.weight += float(w.sum())
        self.t += wT.sum(axis=0)
        self.tt += np.einsum("ij,ij->j", wT, T)
        beside = np.column_stack([wT, w])
        products = add_gram(
            self.ff, F, weight, beside=beside, origin=self.origin_f, dtype=dtype
        )
        self.ft += products[:, :-1]
        self.f += products[:, -1]

    def merge(self, other: Moments) -> None:
        """Take in the rows of another."""
        if not self.weight:
            self.origin_f, self.origin_t = other.origin_f, other.origin_t
        moved = other.about(self.origin_f, self.origin_t)
        for name in ("n_rows", "weight", "f", "ff", "t", "ft", "tt"):
            setattr(self, name, getattr(self, name) + getattr(moved, name))

    def about(self, origin_f: np.ndarray | None, origin_t: np.ndarray | None) -> Self:
        """The same sums about other origins; None is zero. O(M²)."""
        if origin_f is self.origin_f and origin_t is self.origin_t:
            return self
        a = _step(self.origin_f, origin_f, len(self.f))
        b = _step(self.origin_t, origin_t, len(self.t))
        across = np.outer(self.f, a)
        ff = self.ff + np.triu(across + across.T + self.weight * np.outer(a, a))
        ft = self.ft + np.outer(self.f, b) + np.outer(a, self.t + self.weight * b)
        return replace(
            self,
            f=self.f + self.weight * a,
            ff=np.asfortranarray(ff),
            t=self.t + self.weight * b,
            ft=ft,
            tt=self.tt + 2 * b * self.t + self.weight * b**2,
            origin_f=origin_f,
            origin_t=origin_t,
        )

    @property
    def size(self) -> float:
        """How many rows these are: Σw, or their number where weights are fractions."""
        return max(self.weight, float(self.n_rows))

    @property
    def mean_f(self) -> np.ndarray:
        """Mean of the features, (M,)."""
        return self.f / self.weight + (0 if self.origin_f is None else self.origin_f)

    @property
    def mean_t(self) -> np.ndarray:
        """Mean of the targets, (K,)."""
        return self.t / self.weight + (0 if self.origin_t is None else self.origin_t)

    def centred(self, intercept: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(FᵀF, FᵀT, diag TᵀT) about the means, or about zero without intercept."""
        if not intercept:
            plain = self.about(None, None)
            return mirrored(plain.ff), plain.ft.copy(), plain.tt.copy()
        ff = mirrored(self.ff)
        mean_f, mean_t = self.f / self.weight, self.t / self.weight
        ff -= self.weight * np.outer(mean_f, mean_f)
        ft = self.ft - self.weight * np.outer(mean_f, mean_t)
        return ff, ft, np.maximum(self.tt - self.weight * mean_t**2, 0)


def _mean_of_first(A: Any, w: np.ndarray) -> np.ndarray:
    """The mean of the first rows of A that count, exact in A's floating type."""
    rows = np.flatnonzero(w)[:ORIGIN_ROWS]
    part = A[rows].toarray() if sparse.issparse(A) else A[rows]
    mean = part.mean(axis=0, dtype=np.float64) if len(rows) else np.zeros(A.shape[1])
    return mean.astype(A.dtype).astype(np.float64)


def _step(old: np.ndarray | None, new: np.ndarray | None, size: int) -> np.ndarray:
    """From a new origin to the old one."""
    return (np.zeros(size) if old is None else old) - (0.0 if new is None else new)
