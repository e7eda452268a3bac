"""Preconditioners: what makes conjugate gradients short.

The curvature αI + FᵀAF is imitated by αI + c (n/s) F_sᵀF_s on s sampled rows, with one
number c for A: inverted where M² numbers are at hand, by a randomised Nyström sketch of
rank r beyond.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg
from scipy.linalg import get_lapack_funcs

from .._random import Stream
from .losses import Loss
from .moments import add_gram, mirrored
from .rows import Rows, mixed, multiply

Preconditioner = Callable[[np.ndarray], np.ndarray]

FACTORED_COLUMNS = 8192
"""Columns up to which the imitation is factored, in M³/3 operations."""

SAMPLE = 1
"""Rows sampled per column."""

RANK = 512
"""Rank of the sketch beyond."""


def preconditioner(
    loss: Loss, rows: Rows, alpha: float, n_coefficients: int
) -> Preconditioner:
    """R → P⁻¹R for residuals R of (n_coefficients, K)."""
    dense = n_coefficients <= FACTORED_COLUMNS
    sample = rows.sample(SAMPLE * n_coefficients if dense else SAMPLE * RANK)
    scale = loss.typical_curvature * rows.n_rows / sample.n_rows
    if dense:
        return _inverted(sample, alpha, scale, n_coefficients)
    return _sketched(sample, alpha, scale, n_coefficients)


def _inverted(
    sample: Rows, alpha: float, scale: float, n_coefficients: int
) -> Preconditioner:
    """O(s M² + M³) once, O(M² K) a time, in the rows' floating type."""
    m = sample.n_columns
    P = np.zeros((n_coefficients, n_coefficients), order="F")
    for F, _, weight in sample.chunks():
        F = mixed(F, sample.mixing)
        add_gram(P, F, weight, intercept=n_coefficients > m, dtype=sample.dtype)
    P *= scale
    P[np.arange(m), np.arange(m)] += alpha
    inverse = inverted(P.astype(sample.dtype))
    return lambda R: multiply(inverse, R)


def inverted(P: np.ndarray) -> np.ndarray:
    """P⁻¹ in P's floating type, its upper triangle given."""
    potrf, potri = get_lapack_funcs(("potrf", "potri"), (P,))
    factor, failed = potrf(P, lower=0)
    # rounding must not make it indefinite
    ridge = np.finfo(P.dtype).eps * np.trace(P)
    while failed and np.isfinite(ridge):
        P[np.diag_indices_from(P)] += ridge
        ridge *= 10
        factor, failed = potrf(P, lower=0)
    upper = potri(factor, lower=0, overwrite_c=1)[0]
    return np.ascontiguousarray(mirrored(upper))


def _sketched(
    sample: Rows, alpha: float, scale: float, n_coefficients: int
) -> Preconditioner:
    """Randomised Nyström: O(s M r) once, O(M r K) a time and O(M r) memory.

    P⁻¹ = (λ_r + α) U(Λ + α)⁻¹Uᵀ + I − UUᵀ for the sketch UΛUᵀ of the sample's Gram
    (Z. Frangella, J. Tropp and M. Udell, SIMAX 2023).
    """
    rank = min(RANK, n_coefficients)
    test = Stream(0).child("sketch").normal(n_coefficients, rank)
    test, _ = linalg.qr(test, mode="economic")
    Y = np.zeros_like(test)
    m = sample.n_columns
    for F, _, weight in sample.chunks():
        F = mixed(F, sample.mixing)
        w = np.ones(F.shape[0]) if weight is None else weight
        S = w[:, None] * (F @ test[:m] + test[m:].sum(axis=0))
        Y[:m] += F.T @ S
        Y[m:] += S.sum(axis=0)
    Y *= scale
    shift = np.finfo(np.float64).eps * np.linalg.norm(Y)
    core = linalg.cholesky(test.T @ (Y + shift * test), check_finite=False)
    half = linalg.solve_triangular(core, (Y + shift * test).T, trans=1).T
    U, singular, _ = linalg.svd(half, full_matrices=False)
    eigenvalues = np.maximum(singular**2 - shift, 0)
    shrunk = (eigenvalues[-1] + alpha) / (eigenvalues + alpha) - 1
    return lambda R: R + U @ (shrunk[:, None] * (U.T @ R))
