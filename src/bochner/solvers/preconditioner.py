"""Preconditioners: what makes conjugate gradients short.

The curvature αI + FᵀAF is imitated by αI + c (n/s) F_sᵀF_s on s sampled rows, with one
number c for A: inverted where M² numbers are at hand, by the sampled rows themselves
beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import get_lapack_funcs

from .losses import Loss
from .moments import add_gram, factored, mirrored
from .rows import Rows, mixed, multiply

Preconditioner = Callable[[np.ndarray], np.ndarray]

FACTORED_COLUMNS = 8192
"""Columns up to which the imitation is factored, in M³/3 operations."""

SAMPLE = 1
"""Rows sampled per column."""

SAMPLED_ROWS = 4096
"""Rows beyond, at most: their Gram matrix is factored."""

STRIP = 1024
"""Columns widened to float64 at a time."""


def preconditioner(
    loss: Loss, rows: Rows, alpha: float, n_coefficients: int
) -> Preconditioner:
    """R → P⁻¹R for residuals R of (n_coefficients, K)."""
    dense = n_coefficients <= FACTORED_COLUMNS
    sample = rows.sample(SAMPLE * n_coefficients if dense else SAMPLED_ROWS)
    scale = loss.typical_curvature * rows.n_rows / sample.n_rows
    if dense:
        return _inverted(sample, alpha, scale, n_coefficients)
    return _sampled(sample, alpha, scale, n_coefficients)


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
    (potri,) = get_lapack_funcs(("potri",), (P,))
    upper = potri(factored(P), lower=0, overwrite_c=1)[0]
    return np.ascontiguousarray(mirrored(upper))


def _sampled(
    sample: Rows, alpha: float, scale: float, n_coefficients: int
) -> Preconditioner:
    """The same by the s sampled rows A alone: O(s² M) once, O(s M K) a time.

    (αI + c AᵀA)⁻¹R = (R − Aᵀ(α/c I + AAᵀ)⁻¹A R)/α, Woodbury's identity, in float64, as
    the difference all but cancels where A has most of its length. The intercept is
    treated as if it were penalised.
    """
    A = _SampledRows(sample, n_coefficients > sample.n_columns)
    K = A.gram()
    # rounding must not make it indefinite
    shift = max(alpha / scale, np.finfo(np.float64).eps * np.trace(K))
    K[np.diag_indices_from(K)] += shift
    factor = linalg.cho_factor(K, overwrite_a=True, check_finite=False)

    def precondition(R: np.ndarray) -> np.ndarray:
        S = linalg.cho_solve(factor, A.times(R), check_finite=False)
        return (R - A.transposed_times(S)) / alpha

    return precondition


class _SampledRows:
    """A = √w [F, 1] of rows that stay as they are: strips of columns are widened."""

    def __init__(self, sample: Rows, intercept: bool) -> None:
        chunks = list(sample.chunks())
        parts = [mixed(chunk.F, sample.mixing) for chunk in chunks]
        parts = [F.toarray() if sparse.issparse(F) else F for F in parts]
        self._F = parts[0] if len(parts) == 1 else np.concatenate(parts)
        weights = [
            np.ones(len(F)) if chunk.weight is None else chunk.weight
            for F, chunk in zip(parts, chunks, strict=True)
        ]
        self._root = np.sqrt(np.concatenate(weights))[:, None]
        self._intercept = intercept

    def _strips(self) -> Iterator[tuple[slice, np.ndarray]]:
        for start in range(0, self._F.shape[1], STRIP):
            strip = slice(start, min(start + STRIP, self._F.shape[1]))
            yield strip, self._root * self._F[:, strip]

    def gram(self) -> np.ndarray:
        """A Aᵀ, (s, s)."""
        K = self._root @ self._root.T * self._intercept
        for _, part in self._strips():
            K += part @ part.T
        return K

    def times(self, R: np.ndarray) -> np.ndarray:
        """A R, (s, K)."""
        out = self._root * R[self._F.shape[1] :].sum(axis=0)
        for strip, part in self._strips():
            out += part @ R[strip]
        return out

    def transposed_times(self, S: np.ndarray) -> np.ndarray:
        """Aᵀ S, (M or M + 1, K)."""
        out = np.empty((self._F.shape[1] + self._intercept, S.shape[1]))
        for strip, part in self._strips():
            out[strip] = part.T @ S
        out[self._F.shape[1] :] = self._root.T @ S
        return out
